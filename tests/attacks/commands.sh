# The programs as people run them: `cheat` leaves runs that an independent verifier finds consistent, and `assay audit` says what
# is false about them.
. "$(dirname "$0")/../e2e/lib.sh"
cheat=$2 node=$3
verify=tests/independent/verify.mjs
job=examples/mlp.toml
key=$work/key
"$assay" keygen --out "$key" --name example.org/provider >"$work/out" || fail "keygen"
export ASSAY_KEY=$key

audit() { "$assay" audit "$@" --job "$work/job.toml" --signer "$key.pub" --json --quiet 2>"$work/err" | tail -n1; }
# refutes NAME STEP PATTERN: what the audit must say of the run that a cheat has left in $work/NAME.
refutes() {
  local json status
  json=$("$assay" audit "$work/$1" --job "$work/job.toml" --signer "$key.pub" --json --quiet 2>"$work/err")
  status=$?
  [ $status -eq 1 ] || fail "$1: audit exited with $status, expected 1; it said: $json $(cat "$work/err")"
  json=$(echo "$json" | tail -n1)
  [ "$(echo "$json" | field verdict)" = refuted ] || fail "$1: $json"
  [ "$(echo "$json" | field step)" = "$2" ] || fail "$1: expected step $2: $json"
  echo "$json" | grep -Eq "\"reason\":\"[^\"]*$3" || fail "$1: expected /$3/: $json"
  last=$json
}

sed -e 's/^steps = .*/steps = 12/' $job >"$work/job.toml"
printf '[snapshot]\nevery = 4\n' >>"$work/job.toml"
run_cheat() { "$cheat" "$1" "$work/job.toml" --out "$work/$1" --at "$2" >"$work/$1.out" || fail "cheat $1"; }

# is_consistent NAME: an independent verifier finds nothing wrong with the run that a cheat has left.
is_consistent() {
  "$node" $verify "$work/$1" "$key.pub" >"$work/out" 2>&1 || fail "the run of $1 is inconsistent: $(cat "$work/out")"
}

"$cheat" flipped-bit "$work/job.toml" --out "$work/unknown" --colour >"$work/out" 2>&1
[ $? -eq 2 ] && grep -qx 'cheat: unknown option --colour (see: cheat --help)' "$work/out" || fail "cheat with an unknown option: $(cat "$work/out")"
"$cheat" --help | grep -q -- '--worker' && "$cheat" --help | grep -q -- '--provide' || fail "cheat --help: $("$cheat" --help)"

names=$("$cheat" --list | sed -n 's/^\([a-z-]\{1,\}\) .*/\1/p')
[ "$(echo "$names" | wc -l)" -ge 20 ] || fail "cheat --list: $("$cheat" --list)"
[ "$("$cheat" --list | grep -c '^ *audit: ')" -eq "$(echo "$names" | wc -l)" ] ||
  fail "cheat --list does not say what the audit must report"

run_cheat wrong-learning-rate 8
is_consistent wrong-learning-rate
refutes wrong-learning-rate 8 'used lr 0.5, the job says 0.05'

run_cheat stolen-model 8
is_consistent stolen-model
refutes stolen-model 1 'another state'

run_cheat flipped-bit 7
is_consistent flipped-bit
refutes flipped-bit 7 'differs first'
for key_name in node leaf; do
  [ "$(echo "$last" | field $key_name)" = "$(sed -n "s/^$key_name  *//p" "$work/flipped-bit.out")" ] ||
    fail "the audit says $last, the cheat said $(cat "$work/flipped-bit.out")"
done

# Without the provider's trace nobody knows the node that went wrong: named is the first result that differs, and no node is blamed for it.
"$cheat" flipped-bit "$work/job.toml" --out "$work/untraced" --at 8 >"$work/out" || fail "cheat flipped-bit"
echo "$last" | grep -q '"first_result":false' || fail "a trace shows the node: $last"
rm -r "$work/untraced/traces"
refutes untraced 8 'gives other .*; first differing result: element '
echo "$last" | grep -q '"first_result":true' || fail "no trace shows the node: $last"
"$assay" audit "$work/untraced" --quiet >"$work/out" 2>"$work/err" && fail "audit of a flipped bit exited with 0"
grep -q '^where  *first differing result: that of node ' "$work/out" || fail "audit says: $(cat "$work/out")"

run_cheat replaced-weights 8
refutes replaced-weights 12 'model.safetensors: .* is not what the training ended with'
run_cheat forged-receipt 8
json=$("$assay" audit "$work/forged-receipt" --job "$work/job.toml" --signer "$key.pub" --json --quiet 2>"$work/err")
[ $? -eq 4 ] || fail "forged-receipt: $json $(cat "$work/err")"
echo "$json" | grep -q 'does not fit the payload: the copy is damaged or was not made by that key' || fail "forged-receipt: $json"
run_cheat impostor 8
refutes impostor null 'is signed by'
"$assay" audit "$work/impostor" --job "$work/job.toml" --quiet >"$work/out" ||
  fail "an impostor's training is right: $(cat "$work/out")"
run_cheat other-job 8
refutes other-job null 'not of the job that was asked for'

# For people: one line that says it.
"$assay" audit "$work/flipped-bit" --quiet >"$work/out" 2>"$work/err" && fail "audit of a flipped bit exited with 0"
grep -q '^REFUTED ' "$work/out" || fail "audit says: $(cat "$work/out")"

# Honest runs, in full and by sample.
train "$work/honest" "$work/job.toml" >"$work/json" || fail "$(cat "$work/stderr")"
[ "$(audit "$work/honest" | field verdict)" = verified ] || fail "an honest run: $(audit "$work/honest")"
json=$(audit "$work/honest" --sample 34% --nonce 00ff)
[ "$(echo "$json" | field verdict)" = verified ] || fail "a sample of an honest run: $json"
[ "$(echo "$json" | field segments)" = 3 ] || fail "segments: $json"

# Bad usage.
"$cheat" honesty "$work/job.toml" --out "$work/none" 2>"$work/err"
[ $? -eq 2 ] && grep -q "unknown cheat 'honesty'" "$work/err" || fail "cheat honesty: $(cat "$work/err")"
"$cheat" frozen-layer "$work/job.toml" --out "$work/honest" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'holds a run already' "$work/err" || fail "cheat over a run: $(cat "$work/err")"
"$cheat" frozen-layer "$work/job.toml" --out "$work/none" --at 13 2>"$work/err"
[ $? -eq 2 ] && grep -q 'expected 1 .. 12' "$work/err" || fail "cheat --at 13: $(cat "$work/err")"
"$cheat" frozen-layer 2>"$work/err"
[ $? -eq 2 ] && grep -q 'cheat NAME JOB' "$work/err" || fail "cheat without a job: $(cat "$work/err")"
[ ! -e "$work/none" ] || fail "a cheat that failed left $work/none"

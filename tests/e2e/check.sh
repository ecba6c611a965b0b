# assay check: telemetry of honest runs is accepted however they came about, also while they train; what was tampered with is not. Telemetry is no part of what a
# run promises.
. "$(dirname "$0")/lib.sh"
job=examples/mlp.toml

# checks STATUS PATTERN ARGS...: `assay check` ends with the status and prints a line that matches.
checks() {
  local wanted=$1 pattern=$2 status
  shift 2
  "$assay" check "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ $status -eq "$wanted" ] || fail "check $* exited with $status, expected $wanted; it said: $(cat "$work/out" "$work/err")"
  grep -Eq -- "$pattern" "$work/out" || fail "check $* said: $(cat "$work/out"); expected /$pattern/"
}
copy() { rm -rf "$work/edited" && cp -r "$1" "$work/edited"; }

train "$work/run" $job >/dev/null || fail "$(cat "$work/stderr")"
checks 0 ': accepted: 50 of 50 steps, [0-9]+ samples, finished$' "$work/run"
checks 0 '^rule +verdict +figure +limit +reason$' "$work/run"
checks 0 '^throughput +accepted +[0-9.e-]+ +≤ 4 ' "$work/run"
checks 0 '"rule":"iterations","verdict":"accepted","holds":true,"figure":50,"threshold":50,"bound":null,' "$work/run" --json
checks 0 '"rule":"throughput".*"threshold":4,"bound":"at most",' "$work/run" --json
checks 0 '"samples":[0-9]+,"reason":null,"rules"' "$work/run" --json
checks 0 '"set":"strict","verdict":"accepted","stage":"finished".*"rules":\[\{"rule":"chain","verdict":"accepted","holds":true' "$work/run" --json
checks 0 '"rule":"energy","verdict":"no_gpu","holds":null,"figure":null,"threshold":' "$work/run" --json
"$assay" check "$work/run" --rules seed --json >"$work/out"
case $? in 0 | 1 | 3) ;; *) fail "seed: $(cat "$work/out")" ;; esac
[ "$(grep -o '"rule":"[a-z]*"' "$work/out" | tr -d '\n')" = '"rule":"iterations""rule":"utilisation""rule":"memory"' ] || fail "seed rules: $(cat "$work/out")"

# Threads and kernels change what is measured, and nothing else.
for threads in 1 2; do
  train "$work/t$threads" $job --threads $threads --sample-ms 10 >/dev/null || fail "$(cat "$work/stderr")"
  checks 0 ': accepted' "$work/t$threads"
done
train "$work/without" $job --no-telemetry >/dev/null || fail "$(cat "$work/stderr")"
[ ! -e "$work/without/telemetry.bin" ] || fail "--no-telemetry kept some"
for run in t1 t2 without; do cmp "$work/run/receipt.json" "$work/$run/receipt.json" || fail "$run has another receipt"; done
checks 3 'unchecked: .*no telemetry' "$work/without"
"$assay" fsck "$work/without" | grep -q ': whole: ' || fail "a run without telemetry is whole"
refuses 'no such run directory' "$assay" check "$work/nothing"
refuses '--rules' "$assay" check "$work/run" --rules lenient

# Interrupted, killed, and taken up again.
sed '/^\[commit\]/,$d' $job >"$work/job.toml"
printf '[commit]\nevery = 5\n\n[snapshot]\nevery = 50\nkeep = 3\n' >>"$work/job.toml"
steps=20000
"$assay" train "$work/job.toml" --out "$work/killed" --steps $steps --quiet >/dev/null 2>"$work/stderr" </dev/null &
pid=$!
for _ in $(seq 200); do
  sleep 0.05
  [ -s "$work/killed/telemetry.bin" ] && ls "$work/killed/snapshots" 2>/dev/null | grep -q . && break
done
checks 0 ': accepted so far: [0-9]+ of 20000 steps, [0-9]+ samples, going on$' "$work/killed"
kill -9 $pid || fail "it was to be killed while it trained"
wait $pid 2>/dev/null
printf '\100\000\000\000\002' >>"$work/killed/telemetry.bin"
"$assay" fsck "$work/killed" >"$work/out" || fail "killed: $(cat "$work/out")"
grep -q 'telemetry.bin: .* cut off, as an interrupted write leaves it' "$work/out" || fail "killed: $(cat "$work/out")"
checks 0 'accepted so far: .*unfinished$' "$work/killed"
done_steps=$("$assay" check "$work/killed" --json | field step)
steps=$((done_steps + 200))
train "$work/killed" "$work/job.toml" --steps $steps >/dev/null || fail "$(cat "$work/stderr")"
checks 0 '^iterations +resumed' "$work/killed"
checks 0 ": accepted: $steps of $steps steps" "$work/killed"
"$assay" fsck "$work/killed" | grep -q ': whole: ' || fail "$("$assay" fsck "$work/killed")"

# --follow ends with the training.
"$assay" train "$work/job.toml" --out "$work/followed" --steps 2000 --quiet >/dev/null 2>&1 </dev/null &
pid=$!
for _ in $(seq 200); do [ -e "$work/followed/id" ] && break; sleep 0.02; done
"$assay" check "$work/followed" --follow --json >"$work/out" 2>"$work/err"
status=$?
wait $pid || fail "the training that was followed"
[ $status -eq 0 ] || [ $status -eq 3 ] || fail "--follow ended with $status: $(tail -n1 "$work/out") $(cat "$work/err")"
checks 0 ': accepted: 2000 of 2000' "$work/followed"

# A disk without room ends training; once there is some, it goes on.
limited() { (ulimit -f 64 && exec "$assay" train "$work/job.toml" --out "$work/limited" --steps 3000 --quiet); }
refuses 'cannot write: File too large; once that is fixed, continue with' limited
"$assay" fsck "$work/limited" >"$work/out" || fail "limited: $(cat "$work/out")"
train "$work/limited" "$work/job.toml" --steps 3000 >/dev/null || fail "$(cat "$work/stderr")"
checks 0 ': accepted: 3000 of 3000' "$work/limited"

# Tampered with: a byte, an end, another run's, another signer's.
copy "$work/run"
size=$(stat -c %s "$work/edited/telemetry.bin")
printf '\377' | dd of="$work/edited/telemetry.bin" bs=1 seek=$((size / 2)) conv=notrunc status=none
checks 4 '^chain +damaged' "$work/edited"
checks 4 ': damaged' "$work/edited" --rules seed
"$assay" fsck "$work/edited" >"$work/out"
[ $? -eq 4 ] || fail "fsck of a damaged telemetry: $(cat "$work/out")"
copy "$work/run"
truncate -s $((size - 60)) "$work/edited/telemetry.bin"
checks 4 '^chain +damaged' "$work/edited"
copy "$work/run"
cp "$work/killed/telemetry.bin" "$work/edited/"
checks 4 '^chain +foreign' "$work/edited"
"$assay" keygen --out "$work/other.key" --name other >/dev/null || fail "keygen"
train "$work/other" $job --key "$work/other.key" >/dev/null || fail "$(cat "$work/stderr")"
cp "$work/other/telemetry.bin" "$work/edited/"
checks 4 '^chain +foreign' "$work/edited"
# Of a run that stopped before: the same chain, which ends too early for the receipt.
copy "$work/run"
train "$work/short" $job --steps 20 >/dev/null || fail "$(cat "$work/stderr")"
cp "$work/short/telemetry.bin" "$work/edited/"
checks 1 '^chain +refused' "$work/edited"

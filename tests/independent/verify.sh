# Trains small runs, verifies them with verify.mjs, then damages or swaps one thing after the other: each time the verifier must
# notice.
. "$(dirname "$0")/../e2e/lib.sh"
node=$2
[ -x "$node" ] || fail "node is not installed; scripts/bootstrap.sh build installs it"
script=$(dirname "$0")/verify.mjs
key=$work/key
"$assay" keygen --out "$key" --name example.org/provider >"$work/out" || fail "keygen"
"$assay" keygen --out "$work/other" --name example.org/provider >"$work/out" || fail "keygen"
export ASSAY_KEY=$key

verify() { "$node" "$script" "$@" >"$work/out" 2>"$work/err"; }
passes() { verify "$@" || fail "verify.mjs $*: $(cat "$work/err")"; }
# notices WHAT PATTERN ARGUMENTS...: fails with status 1 and one line that matches.
notices() {
  local what=$1 pattern=$2 status
  shift 2
  verify "$@"
  status=$?
  [ $status -eq 1 ] || fail "$what: verify.mjs exited with $status, expected 1; it said: $(cat "$work/out" "$work/err")"
  [ "$(wc -l <"$work/err")" -eq 1 ] && grep -Eq "^verify: .*($pattern)" "$work/err" ||
    fail "$what: verify.mjs said: $(cat "$work/err"); expected /$pattern/"
}
# copy: a fresh copy of the first run in $work/copy.
copy() { rm -rf "$work/copy" && cp -r "$work/run" "$work/copy"; }
# flip FILE OFFSET: changes the lowest bit of one byte.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# More than 256 entries: two levels of tiles. A last step off the grid. A language model with several snapshots. A run that was
# continued.
train "$work/run" examples/mlp.toml --steps 300 >"$work/json" || fail "$(cat "$work/stderr")"
sed 's/^every = 1$/every = 7/' examples/mlp.toml >"$work/grid.toml"
printf '[snapshot]\nevery = 14\n' >>"$work/grid.toml"
train "$work/grid" "$work/grid.toml" --steps 40 >"$work/json" || fail "$(cat "$work/stderr")"
train "$work/gpt2" examples/gpt2-tiny.toml --steps 6 >"$work/json" || fail "$(cat "$work/stderr")"
train "$work/continued" "$work/grid.toml" --steps 10 >"$work/json" || fail "$(cat "$work/stderr")"
train "$work/continued" "$work/grid.toml" --steps 17 >"$work/json" || fail "$(cat "$work/stderr")"
between=snapshots/step-0000000010.safetensors  # the longer run's log has no entry for it
[ -f "$work/continued/$between" ] || fail "no $between in a run that was continued from there"
for run in run grid gpt2 continued; do passes "$work/$run" "$key.pub"; done

# Proofs that the program prints: the first and last entry, some between, of trees of different shapes.
for step in 0 1 128 255 256 257 300; do
  "$assay" log "$work/run" --prove $step --json >"$work/proof.json" || fail "log --prove $step"
  passes "$work/run" "$key.pub" "$work/proof.json"
done
"$assay" log "$work/grid" --prove 40 --json >"$work/grid.json" || fail "log --prove 40"
passes "$work/grid" "$key.pub" "$work/grid.json"
notices "the proof of another run" "is of another log" "$work/run" "$key.pub" "$work/grid.json"
sed 's/"index":300/"index":299/' "$work/proof.json" >"$work/bad.json"
notices "a proof for another index" "does not lead to the root" "$work/run" "$key.pub" "$work/bad.json"
sed 's/"proof":\["[0-9a-f]*",/"proof":[/' "$work/proof.json" >"$work/bad.json"
notices "a proof with a hash too few" "does not lead to the root" "$work/run" "$key.pub" "$work/bad.json"
sed 's/"proof":\["/"proof":["00/' "$work/proof.json" >"$work/bad.json"
notices "a proof with another hash" "does not lead to the root" "$work/run" "$key.pub" "$work/bad.json"
refuses 'no entry for step 41' "$assay" log "$work/grid" --prove 41

# One bit anywhere: at the beginning, in the middle and at the end of every file that the run's signer answers for.
for file in $(cd "$work/run" && find . -type f ! -path './events/*' ! -name lock); do
  size=$(stat -c %s "$work/run/$file")
  for offset in 0 $((size / 2)) $((size - 1)); do
    copy
    flip "$work/copy/$file" $offset
    notices "bit flipped in $file at $offset" . "$work/copy" "$key.pub"
  done
  # Earlier snapshots may be gone: the job says how many are kept. Telemetry may never have been there.
  case $file in */step-0000000[12]00.* | ./telemetry.bin) continue ;; esac
  copy
  rm "$work/copy/$file"
  notices "$file removed" "cannot read|has no snapshot" "$work/copy" "$key.pub"
done

# Whole things in the wrong place.
notices "another key" "names .* as its signer" "$work/run" "$work/other.pub"
copy && cp "$work/grid/receipt.json" "$work/copy"
notices "the receipt of another run" "receipt.json: subject" "$work/copy" "$key.pub"
copy && cp "$work/grid/log/checkpoint" "$work/copy/log"
notices "the checkpoint of another run" "is about" "$work/copy" "$key.pub"
train "$work/longer" examples/mlp.toml --steps 301 >"$work/json" || fail "$(cat "$work/stderr")"
copy && cp "$work/longer/model.safetensors" "$work/copy"
notices "the weights of another run" "subject: 0: digest: sha256" "$work/copy" "$key.pub"
copy && cp "$work/run/snapshots/step-0000000200.safetensors" "$work/copy/snapshots/step-0000000300.safetensors"
notices "a snapshot of another step" "assay.step is 200" "$work/copy" "$key.pub"
ASSAY_KEY=$work/other train "$work/foreign" examples/mlp.toml --steps 300 >"$work/json" || fail "$(cat "$work/stderr")"
passes "$work/foreign" "$work/other.pub"
for steps in 10 17; do
  ASSAY_KEY=$work/other train "$work/foreign-continued" "$work/grid.toml" --steps $steps >"$work/json" ||
    fail "$(cat "$work/stderr")"
done
cp "$work/foreign-continued/$between" "$work/continued/$between"
notices "a snapshot that another key signed" "bad signature" "$work/continued" "$key.pub"
copy && cp "$work/foreign/receipt.json" "$work/copy"
notices "a receipt that another key signed" "signed by .*, expected" "$work/copy" "$key.pub"
copy && cp -r "$work/foreign/log" "$work/copy"
notices "a log that another key signed" "expected one signature" "$work/copy" "$key.pub"

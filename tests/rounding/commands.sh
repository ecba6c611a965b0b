# Rounded training as people run it: train, audit, fsck, roundings, trace, and a dispute with a cheat who followed the honest trainer's rounding log.
. "$(dirname "$0")/../e2e/lib.sh"
cheat=$2
reversed=$3
job=examples/gpt2-tiny-rounded.toml
for who in honest liar; do "$assay" keygen --out "$work/$who.key" --name "$who" >"$work/out" || fail "keygen"; done
last() { tail -n1 "$work/out"; }
expect() { [ "$(last | field "$1")" = "$2" ] || fail "expected $1 $2: $(last) $(cat "$work/err")"; }
above() { [ "$(last | field "$1")" -gt "$2" ] || fail "expected $1 above $2: $(last)"; }

export ASSAY_KEY=$work/honest.key
"$assay" train "$job" --out "$work/honest" --quiet --threads 2 >"$work/out" 2>"$work/err" </dev/null || {
  grep -qi openblas "$work/err" && skip "OpenBLAS is not installed"
  fail "train: $(cat "$work/err")"
}

"$assay" audit "$work/honest" --json --quiet --threads 1 >"$work/out" 2>"$work/err" || fail "audit: $(cat "$work/out" "$work/err")"
expect verdict verified
expect steps_checked 20
above decisions 0
above log_bytes 0
above rounded_elements 1000000
[ -n "$(last | field corrections)" ] || fail "no corrections: $(last)"
"$assay" audit "$work/honest" --sample 50 --nonce 00 --json --quiet >"$work/out" 2>"$work/err" || fail "audit --sample: $(cat "$work/out" "$work/err")"
expect verdict verified
# The same machine rounds alike without the log.
"$assay" audit "$work/honest" --rule none --json --quiet --threads 2 >"$work/out" 2>"$work/err" || fail "audit --rule none: $(cat "$work/out" "$work/err")"
expect verdict verified
for what in decisions corrections log_bytes; do expect $what null; done
last | grep -q '"the rounding log: close calls were decided here' || fail "audit --rule none does not say what it leaves out: $(last)"
"$assay" audit "$work/honest" --rule none --quiet >"$work/out" 2>"$work/err" || fail "audit --rule none: $(cat "$work/out" "$work/err")"
grep -q "^roundings   .* elements rounded here; the run's rounding log was left alone" "$work/out" || fail "audit --rule none: $(cat "$work/out")"

"$assay" fsck "$work/honest" >"$work/out" 2>"$work/err" || fail "fsck: $(cat "$work/out" "$work/err")"
"$assay" roundings "$work/honest" --step 3 >"$work/out" 2>"$work/err" || fail "roundings: $(cat "$work/err")"
grep -Eq '^[0-9,]+ close calls among [0-9,]+ rounded elements' "$work/out" || fail "roundings: $(cat "$work/out")"
refuses 'has no rounding log of step 21' "$assay" roundings "$work/honest" --step 21
"$assay" trace "$work/honest" --step 3 >"$work/out" 2>"$work/err" || fail "trace: $(cat "$work/err")"

# Without a bundle of rounding logs: a bad copy, and fsck says so.
cp -r "$work/honest" "$work/without"
rm "$work/without/rounding/steps-0000000006-0000000010.bin" || fail "no such bundle: $(ls "$work/without/rounding")"
"$assay" audit "$work/without" --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 4 ] || fail "audit without a bundle: $(cat "$work/out" "$work/err")"
expect verdict damaged
expect step 6
grep -q 'rounding log' "$work/out" || fail "audit without a bundle: $(last)"
"$assay" fsck "$work/without" >"$work/out" 2>"$work/err" && fail "fsck without a bundle: $(cat "$work/out")"

# A better loss than there was is told from another state.
ASSAY_KEY=$work/liar.key "$cheat" rewritten-log "$job" --steps 6 --at 3 --out "$work/rewritten" >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
"$assay" audit "$work/rewritten" --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "audit of a rewritten log: $(cat "$work/out" "$work/err")"
expect step 3
grep -q 'gives loss' "$work/out" || fail "audit of a rewritten log: $(last)"

# On a coarse grid too, where the lowest bit of a binary32 is rounded away.
sed 's/^round_bits = .*/round_bits = 24/' "$job" >"$work/coarse.toml"
{ printf 'precision = "fp64-rounded"\nround_bits = 24\n' && cat examples/mlp.toml; } >"$work/mlp.toml"
for coarse in coarse mlp; do
  ASSAY_KEY=$work/liar.key "$cheat" flipped-bit "$work/$coarse.toml" --steps 4 --at 2 --out "$work/lie-$coarse" >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
  "$assay" audit "$work/lie-$coarse" --json --quiet >"$work/out" 2>"$work/err"
  [ $? -eq 1 ] || fail "audit of a cheat on a coarse grid: $(cat "$work/out" "$work/err")"
  expect step 2
done

# A cheat. Whoever was trained after it follows its rounding log; what then differs, the cheat has to answer for.
ASSAY_KEY=$work/liar.key "$cheat" flipped-bit "$job" --out "$work/liar" --at 7 >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
"$assay" audit "$work/liar" --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "audit of a cheat: $(cat "$work/out" "$work/err")"
expect verdict refuted
expect step 7
"$assay" train "$job" --out "$work/follower" --follow "$work/liar" --quiet >"$work/out" 2>"$work/err" </dev/null || fail "train --follow: $(cat "$work/err")"
"$assay" resume "$work/follower" --quiet >"$work/out" 2>&1 && grep -q 'the run was finished already' "$work/out" || fail "resume of a finished follower: $(cat "$work/out")"
"$assay" show "$work/follower" >"$work/out" || fail "show: $(cat "$work/out")"
grep -q '^precision    fp64-rounded, [0-9]* bits' "$work/out" && grep -q '^follows      the rounding log of liar+' "$work/out" || fail "show of a follower: $(cat "$work/out")"
"$assay" show "$work/follower" --json >"$work/out" || fail "show --json: $(cat "$work/out")"
expect precision fp64-rounded
[ "$(last | field round_bits)" = "$(sed -n 's/^round_bits = //p' "$job")" ] || fail "show --json: $(last)"
last | grep -q '"follows":{"signer":"liar+' || fail "show --json: $(last)"
for order in "follower liar a" "liar follower b"; do
  set -- $order
  first=honest second=liar
  rm -f "$work/evidence"
  [ "$1" = liar ] && first=liar second=honest
  "$assay" dispute "$work/$1" "$work/$2" --key "$work/$first.key" --key "$work/$second.key" --evidence "$work/evidence" --json --quiet >"$work/out" 2>"$work/err" ||
    fail "dispute $order: $(cat "$work/err")"
  expect verdict "$3"
  expect step 7
  "$assay" judge "$work/evidence" --json >"$work/out" 2>"$work/err" || fail "judge $order: $(cat "$work/out" "$work/err")"
  expect verdict "$3"
  expect step 7
done
# Without following anybody: each is judged by its own log.
rm "$work/evidence"
"$assay" dispute "$work/honest" "$work/liar" --key "$work/honest.key" --key "$work/liar.key" --evidence "$work/evidence" --json --quiet >"$work/out" 2>"$work/err" ||
  fail "dispute with an honest run: $(cat "$work/err")"
expect verdict a
expect step 7
# A log that is not the committed one is not followed, and nothing is left behind.
cp -r "$work/liar" "$work/forked"
printf 'x' | dd of="$work/forked/rounding/steps-0000000001-0000000005.bin" bs=1 seek=200 conv=notrunc 2>"$work/err" || fail "dd: $(cat "$work/err")"
refuses 'are not the ones that its signed log commits to' "$assay" train "$job" --out "$work/misled" --follow "$work/forked" --quiet
[ ! -e "$work/misled/receipt.json" ] || fail "a receipt for what was refused"
# Nor is it disputed: whoever changed it, the copy is damaged. That shields no lie after the next snapshot.
"$assay" dispute "$work/forked" "$work/honest" --json --quiet >"$work/out" 2>"$work/err" ||
  fail "dispute with another rounding log than the committed one: $(cat "$work/out" "$work/err")"
expect verdict b
rm "$work/forked/receipt.json"
refuses 'its training is not finished' "$assay" train "$job" --out "$work/misled-too" --follow "$work/forked" --quiet
[ ! -e "$work/misled-too" ] || fail "a directory for what was refused"

# Another honest run of the same signer, which took one close call the other way. Without its log nothing is known of where the two part; a snapshot of the one
# in the other is in the wrong place, and nobody's lie.
"$cheat" only-close-call "$job" --out "$work/twin" --at 8 >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
"$assay" audit "$work/twin" --json --quiet >"$work/out" 2>"$work/err" || fail "audit of a twin: $(cat "$work/out" "$work/err")"
"$assay" audit "$work/twin" --rule none --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 3 ] || fail "audit --rule none of a twin: $(cat "$work/out" "$work/err")"
expect verdict unchecked
above step 0
grep -q 'as two honest runs may; an audit without --rule none tells' "$work/out" || fail "audit --rule none of a twin: $(last)"
"$assay" audit "$work/twin" --rule none --quiet >"$work/out" 2>"$work/err"
grep -q '^UNCHECKED   step ' "$work/out" || fail "audit --rule none of a twin: $(cat "$work/out")"
snapshot=snapshots/$(ls "$work/honest/snapshots" | tail -n1)
cmp -s "$work/honest/$snapshot" "$work/twin/$snapshot" && fail "the twin is no other run"
cp "$work/honest/$snapshot" "$work/twin/$snapshot"
"$assay" audit "$work/twin" --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 4 ] || fail "audit of a twin with a snapshot of the other: $(cat "$work/out" "$work/err")"
expect verdict damaged
"$assay" fsck "$work/twin" >"$work/out" 2>&1
[ $? -eq 4 ] || fail "fsck of a twin with a snapshot of the other: $(cat "$work/out")"

cp -r "$work/honest" "$work/copy"
"$assay" dispute "$work/honest" "$work/copy" --json --quiet >"$work/out" 2>"$work/err" || fail "dispute with a copy: $(cat "$work/err")"
expect verdict both

# The published rule: thresholds from a run by bounds that another machine repeats, then a run by the rule that others repeat.
cp "$job" "$work/bound.toml"
sed -i 's/^round_bits = .*/round_bits = 24/' "$work/bound.toml"
"$assay" train "$work/bound.toml" --steps 5 --out "$work/bound" --quiet >"$work/out" 2>"$work/err" </dev/null || fail "train: $(cat "$work/err")"
LD_LIBRARY_PATH=$reversed "$assay" calibrate "$work/bound" >"$work/tau" 2>"$work/err" || fail "calibrate: $(cat "$work/err")"
grep -q '^\[round_tau\]$' "$work/tau" || fail "calibrate: $(cat "$work/tau")"
grep -q '^# *matmul = 0\.49999997  # differed 0 times\|^matmul = 0\.[0-9]*  # differed' "$work/tau" || fail "calibrate: $(cat "$work/tau")"
for table in quarter tau; do
  sed 's/^round_bits/round_rule = "paper"\nround_bits/' "$work/bound.toml" >"$work/$table.toml"
  [ "$table" = quarter ] || sed 's/^# \([a-z0-9_]* = \)/\1/' "$work/tau" >>"$work/$table.toml"
  OPENBLAS_CORETYPE=Haswell "$assay" train "$work/$table.toml" --steps 5 --out "$work/paper-$table" --quiet >"$work/out" 2>"$work/err" </dev/null ||
    fail "train by the published rule: $(cat "$work/err")"
  OPENBLAS_CORETYPE=Prescott "$assay" audit "$work/paper-$table" --json --quiet >"$work/out" 2>"$work/err" || fail "audit by the published rule: $(cat "$work/out" "$work/err")"
  expect verdict verified
  LD_LIBRARY_PATH=$reversed "$assay" audit "$work/paper-$table" --json --quiet >"$work/out" 2>"$work/err" || fail "audit by the published rule: $(cat "$work/out" "$work/err")"
  expect verdict verified
  last | field decisions >"$work/$table.decisions"
done
[ "$(cat "$work/quarter.decisions")" -gt $((10 * $(cat "$work/tau.decisions"))) ] || fail "thresholds have no effect: $(cat "$work/quarter.decisions" "$work/tau.decisions")"
"$assay" audit "$work/paper-tau" --quiet >"$work/out" 2>"$work/err" || fail "audit by the published rule: $(cat "$work/out" "$work/err")"
grep -Eq '^VERIFIED .* only up to its [0-9]+ symbols' "$work/out" || fail "audit by the published rule: $(cat "$work/out")"
refuses 'round_rule = "bound"' "$assay" calibrate "$work/paper-tau"

# Other kernels of OpenBLAS, where this processor has them.
python3 "$(dirname "$0")/replicate.py" "$assay" --steps 20 --job mlp --job gpt2-tiny --pairs ring --kernels Haswell,Prescott >"$work/out" 2>"$work/err" ||
  fail "replicate: $(cat "$work/out" "$work/err")"
tail -n1 "$work/out"

python3 scripts/loss_curves.py "$assay" --steps 3 --job mlp --out "$work" >"$work/out" 2>"$work/err" || fail "loss_curves: $(cat "$work/out" "$work/err")"
[ "$(grep -c '^- fp64-rounded, .* bits: within the noise' "$work/loss-curves.md")" -eq 3 ] || fail "loss_curves: $(cat "$work/loss-curves.md")"
grep -q '</svg>' "$work/loss-curves.svg" || fail "loss_curves: no plot"

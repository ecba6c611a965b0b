# Trainings that are killed with SIGKILL at random moments leave sound runs, and taken up again end in the receipt, the log and the
# weights of one that was not. ASSAY_KILLS says how many kills there are to be (25), ASSAY_SEED which moments. The promise is 200:
#   ASSAY_KILLS=200 bash tests/e2e/kill.sh build/release/assay
. "$(dirname "$0")/lib.sh"
wanted=${ASSAY_KILLS:-25}
seed=${ASSAY_SEED:-4711}
RANDOM=$seed
echo "seed $seed"
job=$work/job.toml
sed '/^\[commit\]/,$d' examples/mlp.toml >"$job"
printf '[commit]\nevery = 1\n\n[snapshot]\nevery = 2\nkeep = 3\n\n[eval]\nevery = 7\nbatches = 2\n' >>"$job"
steps=40
began=$(date +%s%N)
whole=$(train "$work/whole" "$job" --steps $steps) || fail "the uninterrupted training: $(cat "$work/stderr")"
duration_ms=$((($(date +%s%N) - began) / 1000000))
root=$(echo "$whole" | field state_root)
[ ${#root} -eq 64 ] || fail "no state root in $whole"

# killed DIR: starts the training there and kills it after up to its duration; status 0 when it was still running.
killed() {
  "$assay" train "$job" --out "$1" --steps $steps --quiet >/dev/null 2>"$work/stderr" </dev/null &
  local pid=$!
  sleep "$(awk -v d="$duration_ms" -v r=$RANDOM 'BEGIN { printf "%.4f", d * r / 32768 / 1000 }')"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ $? -eq 137 ]
}

# sound DIR: what is there is unfinished or whole, or there is no run yet.
sound() {
  "$assay" fsck "$1" >"$work/fsck" 2>&1
  case $? in
    0) ;;
    2) [ ! -e "$1/id" ] || fail "after $kills kills: $(cat "$work/fsck")" ;;
    *) fail "after $kills kills: $(cat "$work/fsck")" ;;
  esac
}

kills=0 runs=0 early=0
while [ $kills -lt "$wanted" ]; do
  run=$work/run-$runs
  runs=$((runs + 1))
  [ $runs -le $((4 * wanted + 20)) ] || fail "only $kills of $runs trainings were still running when they were to be killed"
  while killed "$run"; do
    kills=$((kills + 1))
    sound "$run"
    [ -n "$(ls "$run/snapshots" 2>/dev/null)" ] || early=$((early + 1))
    [ $((RANDOM % 2)) -eq 0 ] || break
  done
  json=$(train "$run" "$job" --steps $steps) || fail "taking up run $runs after $kills kills: $(cat "$work/stderr")"
  for file in receipt.json log/checkpoint model.safetensors id; do
    cmp "$work/whole/$file" "$run/$file" || fail "run $runs after $kills kills: $file differs"
  done
  [ "$(ls "$run/snapshots" | wc -l)" -eq 3 ] || fail "kept: $(ls "$run/snapshots"), expected 3 snapshots"
  no_leftovers "$run"
  "$assay" fsck "$run" >"$work/fsck" || fail "run $runs at its end: $(cat "$work/fsck")"
  [ "$(wc -l <"$work/fsck")" -eq 1 ] && grep -q ': whole: ' "$work/fsck" || fail "run $runs at its end: $(cat "$work/fsck")"
  [ $kills -ge "$wanted" ] || rm -rf "$run"
done

# A damaged newest snapshot is named and passed over; the bytes are still the same.
newest=$run/snapshots/step-00000000$steps.safetensors
printf 'X' | dd of="$newest" bs=1 seek=$(($(stat -c %s "$newest") - 1)) conv=notrunc status=none
"$assay" fsck "$run" >"$work/fsck" && fail "fsck of a damaged snapshot: $(cat "$work/fsck")"
grep -q "^snapshots/step-00000000$steps.safetensors: state root is" "$work/fsck" || fail "fsck of a damaged snapshot: $(cat "$work/fsck")"
json=$(train "$run" "$job" --steps $steps) || fail "resuming past a damaged snapshot: $(cat "$work/stderr")"
[ "$(echo "$json" | field state_root)" = "$root" ] || fail "after a damaged snapshot: $json"
[ "$(echo "$json" | field resumed_from)" -lt $steps ] || fail "the damaged snapshot was used: $json"
grep -q 'passing over' "$work/stderr" || fail "the damaged snapshot was not named: $(cat "$work/stderr")"
"$assay" fsck "$run" | grep -q ': whole: ' || fail "after a damaged snapshot: $("$assay" fsck "$run")"

# A longer run of the same job goes on in the same directory, and ends as if it had been longer from the start.
longer=$(train "$run" "$job" --steps $((steps + 4))) || fail "going on: $(cat "$work/stderr")"
[ "$(echo "$longer" | field resumed_from)" -eq $steps ] || fail "going on: $longer"
train "$work/longer" "$job" --steps $((steps + 4)) >/dev/null || fail "the longer training: $(cat "$work/stderr")"
cmp "$run/receipt.json" "$work/longer/receipt.json" || fail "going on gave $longer"
"$assay" fsck "$run" | grep -q ': whole: ' || fail "after going on: $("$assay" fsck "$run")"

# A shorter one would throw away what is signed for: it is refused, finished or not, and nothing is touched.
rm -rf "$work/before" && cp -a "$run" "$work/before"
refuses "has $((steps + 4)) steps and a receipt for them already, and $((steps - 5)) were asked for; .*another directory" "$assay" train "$job" --out "$run" --steps $((steps - 5))
diff -r "$run" "$work/before" || fail "a refused shorter training changed the run"
rm "$work/before/receipt.json" "$work/before/model.safetensors"
refuses "has $((steps + 4)) steps already, and $((steps - 5)) were asked for" "$assay" train "$job" --out "$work/before" --steps $((steps - 5))
# One that is asked for again is finished: it says so, and nothing is written.
rm -rf "$work/before" && cp -a "$run" "$work/before"
"$assay" train "$job" --out "$run" --steps $((steps + 4)) >"$work/out" 2>"$work/stderr" || fail "a finished run again: $(cat "$work/stderr")"
grep -q '^steps .*the run was finished already, and nothing was trained' "$work/out" || fail "a finished run again: $(cat "$work/out")"
diff -r "$run" "$work/before" || fail "training a finished run changed it"
echo "ok: $kills kills ($early before the first snapshot) in $runs trainings of $duration_ms ms, root $root"

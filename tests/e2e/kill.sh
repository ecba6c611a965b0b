# A training that is killed with SIGKILL at random moments and taken up again ends in the same bytes as one that is not, the receipt among them.
# ASSAY_KILLS says how many kills there are to be (25); ASSAY_SEED repeats their moments.
. "$(dirname "$0")/lib.sh"
RANDOM=${ASSAY_SEED:-$$}
echo "seed ${ASSAY_SEED:-$$}"
job=$work/job.toml
sed '/^\[snapshot\]/,$d' examples/gpt2-tiny.toml >"$job"
printf '\n[snapshot]\nevery = 2\nkeep = 3\n\n[eval]\nevery = 7\nbatches = 2\n' >>"$job"
steps=120
whole=$(train "$work/whole" "$job" --steps $steps) || fail "the uninterrupted training: $(cat "$work/stderr")"
root=$(echo "$whole" | field state_root)
[ ${#root} -eq 64 ] || fail "no state root in $whole"
duration_ms=$(echo "$whole" | field seconds | awk '{ printf "%d", 1000 * $1 }')

kills=0
while [ $kills -lt "${ASSAY_KILLS:-25}" ]; do
  rm -rf "$work/killed"
  before=$kills
  for attempt in $(seq 1 100); do
    "$assay" train "$job" --out "$work/killed" --steps $steps --json --quiet >"$work/json" 2>"$work/stderr" </dev/null &
    pid=$!
    sleep "$(awk -v d="$duration_ms" -v r=$RANDOM 'BEGIN { printf "%.3f", d * (0.02 + 0.6 * r / 32768) / 1000 }')"
    if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
    wait $pid 2>/dev/null && break
  done
  [ $kills -gt "$before" ] || fail "no kill; the training is too short for this test"
  [ "$(tail -n1 "$work/json" | field state_root)" = "$root" ] ||
    fail "after $kills kills: $(tail -n1 "$work/json") $(cat "$work/stderr"), expected root $root"
  for file in receipt.json log/checkpoint model.safetensors snapshots/step-0000000$steps.safetensors; do
    cmp "$work/whole/$file" "$work/killed/$file" || fail "after $kills kills: $file differs"
  done
  [ "$(ls "$work/killed/snapshots" | wc -l)" -eq 3 ] || fail "kept: $(ls "$work/killed/snapshots"), expected 3 snapshots"
  no_leftovers "$work/killed"
  "$assay" fsck "$work/killed" >"$work/fsck" || fail "fsck after $kills kills: $(cat "$work/fsck")"
done
echo "$kills kills"

# A damaged newest snapshot is named and passed over; the bytes are still the same.
newest=$work/killed/snapshots/step-0000000$steps.safetensors
printf 'X' | dd of="$newest" bs=1 seek=$(($(stat -c %s "$newest") - 1)) conv=notrunc status=none
json=$(train "$work/killed" "$job" --steps $steps) || fail "resuming past a damaged snapshot: $(cat "$work/stderr")"
[ "$(echo "$json" | field state_root)" = "$root" ] || fail "after a damaged snapshot: $json"
[ "$(echo "$json" | field resumed_from)" -lt $steps ] || fail "the damaged snapshot was used: $json"
grep -q 'passing over' "$work/stderr" || fail "the damaged snapshot was not named: $(cat "$work/stderr")"

# A longer run of the same job goes on in the same directory; a shorter one stops where it should.
longer=$(train "$work/killed" "$job" --steps $((steps + 4))) || fail "going on: $(cat "$work/stderr")"
[ "$(echo "$longer" | field resumed_from)" -eq $steps ] || fail "going on: $longer"
fresh=$(train "$work/longer" "$job" --steps $((steps + 4)))
[ "$(echo "$longer" | field state_root)" = "$(echo "$fresh" | field state_root)" ] || fail "going on gave $longer, from the start $fresh"
echo "ok: $kills kills, root $root"

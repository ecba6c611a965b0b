# Ctrl-C finishes the step, writes a snapshot, says how to continue and exits with 128 + the signal; continuing gives the same bytes.
. "$(dirname "$0")/lib.sh"
job=examples/gpt2-tiny.toml
steps=300
root=$(train "$work/whole" $job --steps $steps | field state_root)
[ ${#root} -eq 64 ] || fail "the uninterrupted training: $(cat "$work/stderr")"

for signal in INT TERM HUP; do
  out=$work/$signal
  # Job control, so that the background process does not ignore SIGINT.
  set -m
  "$assay" train $job --out "$out" --steps $steps >"$work/out" 2>"$work/stderr" </dev/null &
  pid=$!
  set +m
  for wait in $(seq 1 200); do
    [ -n "$(ls "$out/events" 2>/dev/null)" ] && break
    sleep 0.02
  done
  sleep 0.1
  kill -$signal $pid || fail "the training was over before it could be interrupted"
  wait $pid
  status=$?
  [ $status -eq $((128 + $(kill -l $signal))) ] || fail "SIG$signal: exit status $status; $(cat "$work/stderr")"
  hint=$(sed -n "s/^assay: interrupted after step [0-9]* of $steps; continue with \`assay \(.*\)\`\$/\1/p" "$work/stderr")
  [ -n "$hint" ] || fail "SIG$signal: it said: $(cat "$work/stderr")"
  [ "$(ls "$out/snapshots" | wc -l)" -ge 1 ] || fail "SIG$signal: no snapshot was written"
  [ ! -e "$out/model.safetensors" ] && [ ! -e "$out/receipt.json" ] || fail "SIG$signal: an unfinished run has final weights or a receipt"
  "$assay" fsck "$out" >"$work/fsck" && grep -q ': unfinished: ' "$work/fsck" || fail "SIG$signal: $(cat "$work/fsck")"
  json=$(eval "'$assay' $hint --json --quiet" 2>"$work/stderr") || fail "continuing by '$hint': $(cat "$work/stderr")"
  [ "$(echo "$json" | field state_root)" = "$root" ] || fail "continuing after SIG$signal: $json, expected root $root"
  [ "$(echo "$json" | field resumed_from)" -gt 0 ] || fail "continuing after SIG$signal began anew: $json"
  cmp "$work/whole/receipt.json" "$out/receipt.json" || fail "continuing after SIG$signal gave another receipt"
  "$assay" fsck "$out" >"$work/fsck" && grep -q ': whole: ' "$work/fsck" || fail "continuing after SIG$signal: $(cat "$work/fsck")"
done

# Whoever begins it under nohup means it to outlive the terminal: SIGHUP changes nothing.
nohup "$assay" train $job --out "$work/nohup" --steps $steps >"$work/out" 2>"$work/stderr" </dev/null &
pid=$!
for wait in $(seq 1 200); do
  [ -n "$(ls "$work/nohup/events" 2>/dev/null)" ] && break
  sleep 0.02
done
kill -HUP $pid || fail "the training was over before the terminal was closed"
wait $pid || fail "SIGHUP under nohup: exit status $?; $(cat "$work/stderr")"
cmp "$work/whole/receipt.json" "$work/nohup/receipt.json" || fail "a training under nohup gave another receipt"

# A finished run is recognised: same result, nothing trained.
json=$(train "$work/INT" $job --steps $steps)
[ "$(echo "$json" | field resumed_from)" -eq $steps ] || fail "a finished run was trained again: $json"
[ "$(echo "$json" | field state_root)" = "$root" ] || fail "a finished run reports $json"
cmp "$work/whole/receipt.json" "$work/INT/receipt.json" || fail "a finished run has another receipt after it was looked at"

# `assay resume` says what is no run, what is finished, and goes on to more steps.
json=$("$assay" resume "$work/TERM" --json --quiet 2>"$work/stderr") || fail "resume of a finished run: $(cat "$work/stderr")"
[ "$(echo "$json" | field resumed_from)" -eq $steps ] || fail "a finished run was trained again: $json"
# Without its data or its key, too: there is nothing to do.
cp -r "$work/TERM" "$work/alone" && mkdir "$work/nobody"
without=$(env -u ASSAY_KEY HOME="$work/nobody" XDG_CONFIG_HOME="$work/nobody" "$assay" resume "$work/alone" --data "$work/none" --json --quiet 2>"$work/stderr") ||
  fail "resume of a finished run without data: $(cat "$work/stderr")"
[ "$(echo "$without" | field state_root)" = "$(echo "$json" | field state_root)" ] || fail "a finished run without data: $without"
[ "$(echo "$without" | field loss)" = "$(echo "$json" | field loss)" ] || fail "a finished run without data: $without"
[ -z "$(ls -A "$work/nobody")" ] || fail "a key was made to say that a run is finished"
json=$("$assay" resume "$work/TERM" --steps $((steps + 5)) --json --quiet 2>"$work/stderr") || fail "resume to more steps: $(cat "$work/stderr")"
[ "$(echo "$json" | field steps)" -eq $((steps + 5)) ] || fail "resume to more steps: $json"
"$assay" resume "$work" --quiet >"$work/out" 2>"$work/stderr" && fail "resume of no run"
grep -q '^assay: .*: is not a run directory' "$work/stderr" || fail "resume of no run: $(cat "$work/stderr")"
"$assay" resume "$work/HUP" --steps 10 --quiet >"$work/out" 2>"$work/stderr" && fail "resume to fewer steps"
grep -q "has $steps steps and a receipt for them already" "$work/stderr" || fail "resume to fewer steps: $(cat "$work/stderr")"

# A second Ctrl-C does not wait for the step to end. One step of this job takes the reference kernels seconds.
set -m
"$assay" train examples/shakespeare-char.toml --out "$work/twice" --simd ref --threads 1 >"$work/out" 2>"$work/stderr" </dev/null &
pid=$!
set +m
for wait in $(seq 1 200); do
  [ -n "$(ls "$work/twice/events" 2>/dev/null)" ] && break
  sleep 0.02
done
kill -INT $pid
sleep 0.1
began=$(date +%s%N)
kill -INT $pid || fail "the first Ctrl-C ended the training within a step: $(cat "$work/stderr")"
wait $pid
status=$?
took=$((($(date +%s%N) - began) / 1000000))
[ $status -eq 130 ] || fail "two Ctrl-Cs: exit status $status"
[ $took -lt 1000 ] || fail "the second Ctrl-C took $took ms"
[ -z "$(ls "$work/twice/snapshots")" ] || fail "the second Ctrl-C did not come within the first step"

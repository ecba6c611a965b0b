# eval, sample, show and bench on a small language model: they agree with training and with each other on every set of kernels.
. "$(dirname "$0")/lib.sh"
job=examples/gpt2-tiny.toml
run=$work/run
trained=$(train "$run" $job) || fail "$(cat "$work/stderr")"
root=$(echo "$trained" | field state_root)
kernels=$("$assay" version | sed -n 's/^kernels: //p' | tr -d ,)

# The JSON line has what others rely on.
for key in steps loss val_loss state_root job_id seconds simd threads; do
  [ -n "$(echo "$trained" | field $key)" ] || fail "no $key in $trained"
done
[ "$(echo "$trained" | field steps)" = 20 ] || fail "steps in $trained"

for simd in $kernels; do
  json=$("$assay" eval "$run" --simd "$simd" --json) || fail "eval --simd $simd"
  [ "$(echo "$json" | field loss)" = "$(echo "$trained" | field val_loss)" ] || fail "eval says $json, training said $trained"
  [ "$(echo "$json" | field state_root)" = "$root" ] || fail "eval says $json, expected root $root"
  "$assay" sample "$run" --prompt "The " --tokens 50 --top-k 10 --seed 5 --simd "$simd" >"$work/text.$simd" || fail "sample --simd $simd"
  cmp "$work/text.$simd" "$work/text.${kernels%% *}" || fail "the text depends on the kernels"
done
[ "$(head -c 4 "$work/text.ref")" = "The " ] || fail "a sample does not begin with its prompt: $(cat "$work/text.ref")"
"$assay" sample "$run" --prompt "The " --tokens 50 --top-k 10 --seed 6 >"$work/text.other"
cmp -s "$work/text.other" "$work/text.ref" && fail "the seed does not change the text"
refuses '--prompt' "$assay" sample "$run" --prompt "$(printf '\001')"

# The final weights evaluate to the same loss as the snapshot they were taken from.
json=$("$assay" eval $job --weights "$run/model.safetensors" --json) || fail "eval --weights"
[ "$(echo "$json" | field loss)" = "$(echo "$trained" | field val_loss)" ] || fail "eval --weights says $json, training said $trained"

"$assay" show $job | grep -q '^parameters ' || fail "show $job"
"$assay" show "$run" | grep -q "^state root   $root\$" || fail "show $run: $("$assay" show "$run")"
"$assay" show "$run" | grep -q '20 of 20 steps, complete' || fail "show $run: $("$assay" show "$run")"
"$assay" show "$run" --json | grep -q "\"state_root\":\"$root\"" || fail "show --json"
snapshot=$run/snapshots/step-0000000020.safetensors
"$assay" show "$snapshot" | grep -q "^state root   $root (checked)\$" || fail "show $snapshot"
"$assay" show "$run/model.safetensors" | grep -q "^state root   $root (of the whole state)\$" || fail "show model.safetensors"

# fsck finds nothing, and then what is put in its way.
"$assay" fsck "$run" >"$work/out" || fail "fsck: $(cat "$work/out")"
grep -Eqx "$run: whole: [0-9]+ files, [0-9,]+ bytes" "$work/out" || fail "fsck: $(cat "$work/out")"
"$assay" fsck "$run" --json >"$work/out" || fail "fsck --json: $(cat "$work/out")"
grep -Eqx '\{"verdict":"whole","files":[0-9]+,"bytes":[0-9]+,"findings":\[\]\}' "$work/out" || fail "fsck --json: $(cat "$work/out")"
"$assay" trace "$run" --step 3 >/dev/null || fail "trace"
"$assay" fsck "$run" | grep -q ': whole: ' || fail "fsck with a trace: $("$assay" fsck "$run")"
cp -r "$run" "$work/damaged"
printf 'X' | dd of="$work/damaged/traces/step-0000000003.trace" bs=1 seek=200 conv=notrunc status=none
printf 'X' | dd of="$work/damaged/model.safetensors" bs=1 seek=9000 conv=notrunc status=none
rm "$work/damaged/job.bin"
touch "$work/damaged/notes" "$work/damaged/log/.checkpoint.1-0.assay-tmp"
"$assay" fsck "$work/damaged" >"$work/out"
[ $? -eq 4 ] || fail "fsck of a damaged run did not exit with 4: $(cat "$work/out")"
for line in 'traces/step-0000000003.trace: ' 'model.safetensors: ' 'job.bin: is missing' \
  'notes: is not a file of a run' 'log/.checkpoint.1-0.assay-tmp: left by an interrupted write' "$work/damaged: damaged: .*; 3 problems"; do
  grep -q "^$line" "$work/out" || fail "fsck of a damaged run does not say '$line': $(cat "$work/out")"
done
[ "$("$assay" fsck "$work/damaged" --json | tail -n1 | field verdict)" = damaged ] || fail "fsck --json of a damaged run"

# A snapshot that was tampered with is a damaged copy: status 4.
cp "$snapshot" "$work/tampered.safetensors"
printf 'X' | dd of="$work/tampered.safetensors" bs=1 seek=$(($(stat -c %s "$snapshot") - 1)) conv=notrunc status=none
"$assay" show "$work/tampered.safetensors" >"$work/out"
[ $? -eq 4 ] || fail "show of a tampered snapshot did not exit with 4"
grep -q WRONG "$work/out" || fail "show of a tampered snapshot: $(cat "$work/out")"

"$assay" bench $job --steps 2 | grep -q '^matmul ' || fail "bench"
"$assay" bench $job --steps 2 --json | grep -q '"step_seconds_best":' || fail "bench --json"
"$assay" --help | grep -q train || fail "--help"
for status in 0 1 2 3 4; do "$assay" --help | grep -q "^  $status  " || fail "--help does not say what exit status $status means"; done
for command in train audit dispute judge verify fsck eval sample export show bench log keygen version; do
  "$assay" $command --help >"$work/out" || fail "$command --help"
  grep -q Usage "$work/out" || fail "$command --help: $(cat "$work/out")"
done
[ "$("$assay" --version)" = "$("$assay" version | head -n1 | sed 's/ (.*//')" ] || fail "--version"

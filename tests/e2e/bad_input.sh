# What users get wrong: each is answered by one line that names the thing and what was expected, status 2, and leaves no output behind.
. "$(dirname "$0")/lib.sh"
job=examples/mlp.toml

# Usage.
refuses 'frobnicate' "$assay" frobnicate
refuses 'unknown|not expected.*--frobnicate' "$assay" train $job --out "$work/run" --frobnicate
refuses 'job is required' "$assay" train --out "$work/run"
refuses '--out is required' "$assay" train $job
refuses 'steps.*' "$assay" train $job --out "$work/run" --steps 0
refuses 'steps.*' "$assay" train $job --out "$work/run" --steps many
refuses 'threads.*' "$assay" train $job --out "$work/run" --threads -3
refuses 'simd.*' "$assay" train $job --out "$work/run" --simd sse9
for simd in avx2 avx512 neon; do
  "$assay" version | grep -q "^kernels: .*$simd" && continue
  refuses "--simd $simd: not available here; this machine and build have: .*ref" "$assay" train $job --out "$work/run" --simd $simd
done

# Job files.
bad_job() {  # PATTERN SED-EXPRESSION [JOB]
  sed "$2" "${3:-$job}" >"$work/bad.toml"
  refuses "$1" "$assay" train "$work/bad.toml" --out "$work/run"
}
refuses "$work/missing.toml: .*No such file" "$assay" train "$work/missing.toml" --out "$work/run"
refuses "$work: .*directory" "$assay" train "$work" --out "$work/run"
bad_job 'bad.toml:[0-9]+: .*learning' 's/^lr = .*/learning = 1/'
bad_job 'bad.toml.*steps.*expected' 's/^steps = .*/steps = "many"/'
bad_job 'bad.toml' 's/^\[model\]/[model/'
bad_job 'bad.toml.*model.kind.*expected' 's/^kind = "mlp"/kind = "perceptron"/'
bad_job 'heads' 's/^heads = .*/heads = 5/' examples/gpt2-tiny.toml
bad_job 'sequence|context' 's/^sequence = .*/sequence = 4000/' examples/gpt2-tiny.toml
bad_job 'snapshot.every.*multiple of commit.every' '/^every = 1$/c every = 4\n[snapshot]\nevery = 6'
head -c 300 /dev/urandom >"$work/bad.toml"
refuses 'bad.toml' "$assay" train "$work/bad.toml" --out "$work/run"
: >"$work/bad.toml"
refuses 'bad.toml' "$assay" train "$work/bad.toml" --out "$work/run"

# Data.
refuses "$work/missing.txt: .*No such file" "$assay" train examples/gpt2-tiny.toml --out "$work/run" --data "$work/missing.txt"
: >"$work/empty.txt"
refuses "$work/empty.txt" "$assay" train examples/gpt2-tiny.toml --out "$work/run" --data "$work/empty.txt"
printf 'short' >"$work/short.txt"
refuses "$work/short.txt" "$assay" train examples/gpt2-tiny.toml --out "$work/run" --data "$work/short.txt"

# Weights to start from.
weights_job() {
  printf '\n[init]\nweights = "%s"\n' "$1" | cat $job - >"$work/bad.toml"
}
weights_job "$work/missing.safetensors"
refuses 'missing.safetensors: .*No such file' "$assay" train "$work/bad.toml" --out "$work/run"
printf 'garbage' >"$work/garbage.safetensors"
weights_job "$work/garbage.safetensors"
refuses 'garbage.safetensors' "$assay" train "$work/bad.toml" --out "$work/run"
[ ! -e "$work/run" ] || fail "a refused training left $work/run"

# Run directories.
train "$work/mlp" $job --steps 5 >/dev/null || fail "$(cat "$work/stderr")"
refuses 'holds a run of another job' "$assay" train examples/gpt2-tiny.toml --out "$work/mlp"
sed 's/^seed = 1/seed = 2/' $job >"$work/other.toml"
refuses 'holds a run of another job' "$assay" train "$work/other.toml" --out "$work/mlp"
mkdir "$work/full" && touch "$work/full/precious"
refuses "holds 'precious' but no run" "$assay" train $job --out "$work/full"
[ "$(ls -A "$work/full")" = precious ] || fail "a foreign directory was touched: $(ls -A "$work/full")"
(
  exec 9>>"$work/mlp/lock"
  flock 9
  refuses 'another process is training' "$assay" train $job --out "$work/mlp" --steps 6
) || exit 1
(
  exec 9>>"$work/mlp/lock"
  flock 9
  refuses 'a process is training in this directory' "$assay" fsck "$work/mlp"
) || exit 1
"$assay" keygen --out "$work/other.key" --name other >/dev/null
refuses 'is signed by e2e\+.*, not by other\+' "$assay" train $job --out "$work/mlp" --steps 5 --key "$work/other.key"
refuses 'missing.key: .*No such file' "$assay" train $job --out "$work/run" --key "$work/missing.key"
cp "$work/mlp/id" "$work/id"
sed 's/^data ./data X/' "$work/id" >"$work/mlp/id"
"$assay" show "$work/mlp" >"$work/out" 2>&1
[ $? -eq 4 ] && grep -q '^assay: .*mlp/id: data: ' "$work/out" || fail "show of a run with a bad id: $(cat "$work/out")"
cp "$work/id" "$work/mlp/id"
# A receipt that is none, or of another run, is a damaged copy for show, too; without one the run is not finished.
cp "$work/mlp/receipt.json" "$work/receipt.json"
head -c 300 /dev/urandom >"$work/mlp/receipt.json"
for form in "" --json; do
  "$assay" show "$work/mlp" $form >"$work/out" 2>&1
  [ $? -eq 4 ] && grep -q 'DAMAGED: .*receipt.json: ' "$work/out" || fail "show of a run with a garbage receipt: $(cat "$work/out")"
done
cp "$work/receipt.json" "$work/mlp/receipt.json"
"$assay" show "$work/mlp" >"$work/out" || fail "show of a whole run: $(cat "$work/out")"
echo junk >"$work/mlp/id"
"$assay" show "$work/mlp" >"$work/out" 2>&1
[ $? -eq 4 ] && grep -q '^assay: .*mlp/id: ' "$work/out" || fail "show of a run with a garbage id: $(cat "$work/out")"
refuses 'mlp/id: ' "$assay" train $job --out "$work/mlp" --steps 5
"$assay" fsck "$work/mlp" >"$work/out"
[ $? -eq 4 ] || fail "fsck without an id: $(cat "$work/out")"
grep -q '^id: ' "$work/out" || fail "fsck without an id: $(cat "$work/out")"

# The other commands.
refuses 'no such run' "$assay" show "$work/nowhere"
refuses 'is not a run directory' "$assay" show "$work/full"
refuses 'is not a run directory' "$assay" fsck "$work/full"
refuses 'no such run directory' "$assay" fsck "$work/nowhere"
for command in fsck audit provide log; do refuses 'is a file, expected a run directory' "$assay" $command $job; done
refuses 'is a public key, expected the private one' "$assay" train $job --out "$work/none" --key "$ASSAY_KEY.pub"
refuses 'run is required' "$assay" fsck
refuses "there is no file '.*missing.pub'" "$assay" audit "$work/full" --signer "$work/missing.pub"
head -c 300 /dev/urandom >"$work/garbage"
refuses 'garbage: is not evidence, which' "$assay" judge "$work/garbage"
refuses 'receipt.json: is not evidence but a receipt; assay verify checks it' "$assay" judge "$work/receipt.json"
refuses 'model.safetensors: is not evidence but a model or snapshot' "$assay" judge "$work/mlp/model.safetensors"
refuses 'is a directory, expected a file of evidence' "$assay" judge "$work/mlp"
refuses 'garbage.safetensors' "$assay" show "$work/garbage.safetensors"
refuses 'No such file' "$assay" eval "$work/nowhere"
refuses 'name the weights to use with --weights' "$assay" eval $job
refuses 'garbage.safetensors' "$assay" eval $job --weights "$work/garbage.safetensors"
refuses "expected a language model" "$assay" sample $job --weights "$work/mlp/model.safetensors"
refuses 'No such file' "$assay" bench "$work/nowhere.toml"
# A job that no machine holds is refused before anything is taken: a kernel that runs out of memory ends processes without a word.
sed -e 's/^layers = .*/layers = 200/' -e 's/^heads = .*/heads = 64/' -e 's/^width = .*/width = 16384/' examples/gpt2-tiny.toml >"$work/huge.toml"
refuses 'memory: this job takes .* TiB, .* are free; ' "$assay" train "$work/huge.toml" --out "$work/huge"
[ ! -e "$work/huge" ] || fail "a refused training left $work/huge"
refuses 'memory: this job takes .* TiB, .* are free; ' "$assay" bench "$work/huge.toml"

# What a new user stumbles over: messages that name what is wrong and what to do, options that are not silently ignored, errors as JSON.
. "$(dirname "$0")/lib.sh"
job=examples/mlp.toml
# fails PATTERN COMMAND...: with --json, the last line of standard output is {"error": ...}, and standard error says the same; status 2.
fails() {
  local pattern=$1 status
  shift
  "$@" --json >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ $status -eq 2 ] || fail "$* --json exited with $status, expected 2: $(cat "$work/out" "$work/err")"
  tail -n1 "$work/out" | grep -Eq '^\{.*"error":"' || fail "$* --json: no error on standard output: $(cat "$work/out")"
  tail -n1 "$work/out" | grep -Eq -- "$pattern" || fail "$* --json said: $(tail -n1 "$work/out"); expected /$pattern/"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$* --json said more or less than one line: $(cat "$work/err")"
}
# refused_alike PATTERN COMMAND...: in both forms.
refused_alike() {
  refuses "$@"
  fails "$@"
}

# Numbers.
refused_alike '--steps: expected an integer, got 5\.0' "$assay" train $job --out "$work/run" --steps 5.0
refused_alike '--steps: expected 1 \.\. 4294967295, got 0' "$assay" train $job --out "$work/run" --steps 0
refused_alike '--steps: expected 1 \.\. 4294967295, got 99999999999999999999' "$assay" train $job --out "$work/run" --steps 99999999999999999999
refused_alike '--steps: expected an integer, got many' "$assay" train $job --out "$work/run" --steps many
refused_alike '--threads: expected 1 \.\. 1024, got -3' "$assay" train $job --out "$work/run" --threads -3
refuses '--temperature: expected a number, got nan' "$assay" sample "$work" --temperature nan
refuses '--temperature: expected 0 \.\. 100, got 101' "$assay" sample "$work" --temperature 101
refuses '--seed: expected an integer, got 1\.5' "$assay" sample "$work" --seed 1.5
refused_alike "--simd: expected one of auto, .*, got 'sse9'" "$assay" train $job --out "$work/run" --simd sse9
sed 's/^steps = .*/steps = 5.0/' $job >"$work/bad.toml"
refused_alike 'bad.toml:[0-9]+: steps: expected an integer, got 5\.0' "$assay" train "$work/bad.toml" --out "$work/run"

# Words.
refused_alike "unknown command 'trian'; did you mean train" "$assay" trian
refused_alike "unknown command 'adut'; did you mean audit" "$assay" adut
refused_alike "unknown command 'TRAIN'; did you mean train" "$assay" TRAIN
refused_alike '--out: expected a name, got an empty one' "$assay" train $job --out ''
refused_alike "train: unknown option --stpes; did you mean --steps" "$assay" train $job --out "$work/run" --stpes 3
refuses 'unknown option --otu; did you mean --out' "$assay" train $job --otu "$work/run"
refuses 'submit: unknown option --dry \(see' "$assay" submit $job --dry
refuses 'these arguments were not expected: one two' "$assay" train $job --out "$work/run" one two
refuses '--steps: expected a value after it' "$assay" train $job --out "$work/run" --steps
refused_alike 'train: --out: expected a value after it' "$assay" train $job --out --quiet
refuses 'keygen: --out: expected a value after it' "$assay" keygen --out --name
refuses 'dispute: --evidence: expected a value after it' "$assay" dispute "$work" "$work" --evidence --quiet
refuses '--steps: expected once' "$assay" train $job --out "$work/run" --steps 3 --steps 4
sed 's/^\[model\]/[modle]/' $job >"$work/bad.toml"
refused_alike "bad.toml:[0-9]+: 'modle': unknown table; did you mean \[model\]" "$assay" train "$work/bad.toml" --out "$work/run"

sed 's/^kind = "mlp"/kind = mlp/' $job >"$work/bad.toml"
refuses 'bad.toml:[0-9]+: not valid TOML: .*; a text needs quotes: kind = "mlp"' "$assay" show "$work/bad.toml"
sed 's/^steps = .*/steps = 99999999999999999999/' $job >"$work/bad.toml"
refuses 'bad.toml:[0-9]+: not valid TOML: .*\(steps\)' "$assay" show "$work/bad.toml"
{ cat $job; printf '\n[init]\nweights = "nope"\n'; } >"$work/bad.toml"
refuses 'bad.toml:[0-9]+: init.weights: .*nope: No such file or directory' "$assay" show "$work/bad.toml"
sed 's/^sequence = .*/sequence = 1000/' examples/llama-tiny.toml >"$work/bad.toml"
refuses 'batch.sequence: .*because model.context is' "$assay" show "$work/bad.toml"
sed 's/^kv_heads = .*/kv_heads = 3/' examples/llama-tiny.toml >"$work/bad.toml"
refuses 'model.kv_heads: expected a divisor of model.heads' "$assay" show "$work/bad.toml"
sed 's/^\[data\]/&\nvalidation = 0.99999/' examples/llama-tiny.toml | awk '!/^validation/ || !seen++' >"$work/bad.toml"
refuses 'tokens for training \(.* kept back by data.validation' "$assay" show "$work/bad.toml"

# What only the data shows has its file and line.
printf '[model]\nkind = "gpt2"\nvocab = 2\n[data]\nkind = "chars"\n' >"$work/bad.toml"
refuses 'bad.toml:3: model.vocab: ' "$assay" show "$work/bad.toml"
printf '[model]\nkind = "gpt2"\n[data]\nkind = "features"\n' >"$work/bad.toml"
refuses 'bad.toml:4: data.kind: a language model needs' "$assay" show "$work/bad.toml"
printf '[model]\nkind = "gpt2"\nheads = 5\n[data]\nkind = "arrays"\n' >"$work/bad.toml"
refuses 'bad.toml:5: data.kind: a language model needs' "$assay" show "$work/bad.toml"
printf '[model]\nkind = "mlp"\n[data]\nkind = "arrays"\npath = "junk.npz"\nlayout = "nhwc"\n' >"$work/bad.toml"
refuses 'bad.toml:6: data.layout: an mlp reads vectors, expected flat' "$assay" show "$work/bad.toml"
sed -i '/^layout/d' "$work/bad.toml"
echo "neither of the two" >"$work/junk.npz"
refuses 'junk.npz: is neither a .npz nor a safetensors file' "$assay" show "$work/bad.toml"
printf '[model]\nkind = "mlp"\n[data]\nkind = "features"\nsamples = 2\nvalidation = 0.1\n' >"$work/bad.toml"
refuses 'bad.toml:5: data.samples: ' "$assay" show "$work/bad.toml"

# Help.
"$assay" help >"$work/out" || fail "help"
"$assay" --help | cmp - "$work/out" || fail "help is not --help"
"$assay" help train >"$work/out" || fail "help train"
"$assay" train --help | cmp - "$work/out" || fail "help train is not train --help"
refuses "unknown command 'trian'; did you mean train" "$assay" help trian
"$assay" help admin token >"$work/out" && "$assay" admin --help | cmp - "$work/out" || fail "help admin token"
if [ -e /dev/full ]; then
  for words in --help 'help train' 'train --help' --version; do
    "$assay" $words >/dev/full 2>"$work/err"
    [ $? -eq 2 ] && grep -q '^assay: standard output: cannot write' "$work/err" || fail "$words on a full disk: $(cat "$work/err")"
  done
fi
"$assay" --help >"$work/out"
"$assay" help help | cmp - "$work/out" || fail "help help is not --help"
"$assay" >"$work/none" 2>"$work/err"
[ $? -eq 2 ] && [ ! -s "$work/none" ] && cmp "$work/err" "$work/out" || fail "assay alone: $(cat "$work/none" "$work/err")"
for command in '' $("$assay" --help | sed -n '/^Subcommands:/,/^[A-Z].*status/s/^  \([a-z]\{3,\}\) .*/\1/p'); do
  "$assay" $command --help | awk 'length > 125' | grep . && fail "$command --help has lines that are too long"
done

# Keys.
mkdir "$work/readonly"
chmod 500 "$work/readonly"
if ! touch "$work/readonly/x" 2>/dev/null; then
  refuses 'no signing key: .*--key FILE or \$ASSAY_KEY' env -u ASSAY_KEY HOME="$work/readonly" "$assay" train $job --out "$work/run"
fi
touch "$work/file"
refuses 'no signing key: .*--key FILE or \$ASSAY_KEY' env -u ASSAY_KEY HOME="$work/file" "$assay" train $job --out "$work/run"
chmod 644 "$work/junk.npz"
refuses 'junk.npz: is not a private key' "$assay" train $job --out "$work/run" --key "$work/junk.npz"
refuses 'is a public key, expected the private one' "$assay" train $job --out "$work/run" --key "$ASSAY_KEY.pub"
"$assay" show "$ASSAY_KEY.pub" >"$work/out" && grep -q '^kind  *public key$' "$work/out" || fail "show of a public key: $(cat "$work/out")"
"$assay" show "$ASSAY_KEY" --json >"$work/out" && grep -q '"kind":"private key"' "$work/out" || fail "show of a private key: $(cat "$work/out")"
! grep -q 'PRIVATE+KEY' "$work/out" || fail "show printed a private key"
head -c 300 /dev/urandom >"$work/garbage"
refuses 'garbage: is not a job file' "$assay" show "$work/garbage"

# A run, and what is said about its steps.
said=$(train "$work/run" $job --steps 5) || fail "$(cat "$work/stderr")"
[ "$(echo "$said" | field signer)" = "$(cat "$ASSAY_KEY.pub")" ] || fail "train --json names another signer: $said"
"$assay" train $job --out "$work/run" --steps 5 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^steps  *5; the run was finished already, and nothing was trained$' "$work/out" || fail "a finished run: $(cat "$work/out")"
cp -r "$work/run" "$work/unsigned"
rm "$work/unsigned/receipt.json"
"$assay" resume "$work/unsigned" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^steps  *5; all of them were there already, and a new receipt was written$' "$work/out" || fail "a run without a receipt: $(cat "$work/out")"
cmp "$work/run/receipt.json" "$work/unsigned/receipt.json" || fail "another receipt"
refuses 'has 5 steps and a receipt for them already, and 3 were asked for; ask for 5 or more \(--steps\)' "$assay" resume "$work/run" --steps 3
! grep -q -- '--out' "$work/err" || fail "resume speaks of --out: $(cat "$work/err")"
refused_alike "--sample: expected a share above 0% and up to 100%, got '200%'" "$assay" audit "$work/run" --sample 200%
refused_alike "--sample: '0.1' can mean two things; write 10% or 0.1%" "$assay" audit "$work/run" --sample 0.1
refused_alike '--sample: expected a name, got an empty one' "$assay" audit "$work/run" --sample ''
refused_alike "--nonce: expected an even number of hex digits, at most [0-9]+, got 'xyz'" "$assay" audit "$work/run" --sample 10% --nonce xyz
refused_alike 'README.md: is not a safetensors file' "$assay" eval "$work/run" --weights README.md
if [ -e /dev/full ]; then
  "$assay" show "$work/run" >/dev/full 2>"$work/err"
  [ $? -eq 2 ] && grep -q '^assay: standard output: cannot write: No space left on device$' "$work/err" || fail "a full disk: $(cat "$work/err")"
fi
"$assay" bench $job --steps 1 --json 2>"$work/err" | tail -n1 | grep -Eq '"committing_seconds_best":[0-9.e-]+,"committing_seconds_median":' || fail "bench: $(cat "$work/err")"
"$assay" bench $job --steps 1 2>"$work/err" | grep -Eq '^committing  [0-9.]+ ms best, [0-9.]+ ms median' || fail "bench: $(cat "$work/err")"
old=$("$assay" show "$work/run" --json | field job_id)
"$assay" resume "$work/run" --steps 8 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
new=$("$assay" show "$work/run" --json | field job_id)
grep -q "^assay: with 8 steps the run is another job: its id changes from ${old:0:16} to ${new:0:16}, and its receipt is replaced" "$work/err" ||
  fail "more steps: $(cat "$work/err")"
"$assay" train examples/gpt2-tiny.toml --out "$work/cosine" --steps 2 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q "^assay: --steps 2 does not stretch the learning rate's schedule, which ends at step 20" "$work/err" || fail "a schedule: $(cat "$work/err")"

# Data that lies elsewhere, and data that changed since.
seq 1 400 >"$work/text.txt"
sed -e '/^\[data\]/,/^$/s|^kind = .*|&\npath = "missing.txt"|' examples/gpt2-tiny.toml >"$work/elsewhere.toml"
refuses 'elsewhere.toml:[0-9]+: data.path: .*missing.txt: No such file' "$assay" show "$work/elsewhere.toml"
refused_alike "--data $work/nothing.txt: No such file or directory" "$assay" train "$work/elsewhere.toml" --data "$work/nothing.txt" --out "$work/far/run"
"$assay" train "$work/elsewhere.toml" --steps 2 --data "$work/text.txt" --out "$work/far/run" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q "^data  *pass --data $work/text.txt to audit, eval, sample and resume" "$work/out" || fail "nothing about --data: $(cat "$work/out")"
mv "$work/text.txt" "$work/moved.txt"
"$assay" show "$work/far/run" | grep -q '^note .*--data PATH names it' || fail "show of a run without its data"
"$assay" show "$work/far/run" --data "$work/moved.txt" | grep -q '^note ' && fail "show --data of a run"
"$assay" show "$work/elsewhere.toml" --data "$work/moved.txt" >"$work/out" || fail "show --data of a job"
sed -e 's/^steps = .*/steps = 2/' -e 's/^\[schedule\]/&\nlength = 20/' "$work/elsewhere.toml" >"$work/two.toml"
"$assay" diff "$work/two.toml" "$work/far/run" >"$work/out" 2>&1
[ $? -eq 3 ] || fail "diff without data: $(cat "$work/out")"
"$assay" diff "$work/two.toml" "$work/far/run" --data "$work/moved.txt" >"$work/out" 2>&1 || fail "diff --data: $(cat "$work/out")"
refused_alike '--data: belongs to a job or a run' "$assay" show "$work/run/receipt.json" --data "$work/moved.txt"
mv "$work/moved.txt" "$work/text.txt"
train "$work/text" examples/gpt2-tiny.toml --steps 2 --data "$work/text.txt" >/dev/null || fail "$(cat "$work/stderr")"
for letters in 0123456789 abcdefghijklmnopqrstuvwxyz; do
  for i in $(seq 1 100); do echo $letters; done >"$work/text.txt"
  for command in "resume $work/text --steps 3" "eval $work/text" "trace $work/text --step 1"; do
    refused_alike 'the data here is not the data that the run committed to' "$assay" $command
  done
  "$assay" audit "$work/text" >"$work/out" 2>&1
  [ $? -eq 3 ] && grep -q 'data' "$work/out" && ! grep -q 'model.vocab' "$work/out" || fail "audit with other data: $(cat "$work/out")"
done
for command in eval sample; do
  refused_alike '--data README.md: is not the data of the run .*: its root is [0-9a-f]{16}, the run.s [0-9a-f]{16}' "$assay" $command "$work/text" --data README.md
  refused_alike '--data nothing.txt: No such file or directory' "$assay" $command "$work/text" --data nothing.txt
done
"$assay" show "$work/text" --data README.md | grep -q '^note .*--data README.md has the root .* not that of the run' || fail "show with other data"
# Who promises the same agrees, whatever data there is here.
cp -r "$work/text" "$work/twin"
"$assay" dispute "$work/text" "$work/twin" --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && grep -q '"verdict":"both","reason":"all claims are the same"' "$work/out" || fail "equal promises: $(cat "$work/out" "$work/err")"
refused_alike 'holds a run of another job .*, and of other data; assay diff shows how they differ' "$assay" train examples/gpt2-tiny.toml --steps 2 --data "$work/text.txt" --out "$work/text"

refused_alike "--job: there is no file '1234', and it is not the 64 hex digits" "$assay" audit "$work/run" --job 1234
refused_alike "--job: there is no file '1234', and it is not the 64 hex digits" "$assay" judge tests/golden/dispute.evidence --job 1234

# The same thing twice.
refused_alike 'are the same run' "$assay" dispute "$work/run" "$work/../work/run"
refused_alike '--provider http://127.0.0.1:1: is named twice' "$assay" dispute --provider http://127.0.0.1:1 --provider http://127.0.0.1:1/

# Where no training began, and keys that cannot help.
mkdir "$work/begun" && touch "$work/begun/lock"
refused_alike 'no training has begun here.*repeat the same assay train command' "$assay" resume "$work/begun"
for command in "provide $work/run" "trace $work/run --step 1"; do
  refused_alike 'is signed by .*name that key with --key FILE' env -u ASSAY_KEY HOME="$work/nobody" "$assay" $command
done
[ ! -e "$work/nobody" ] || fail "a key was made that cannot help"

# What this user may not read is nobody's damage, whoever is asked.
cp -r "$work/run" "$work/closed"
chmod -R a+rX "$work/closed"
chmod a+rx "$scratch" "$work"
chmod 000 "$work/closed/receipt.json"
somebody=
[ "$(id -u)" -ne 0 ] || somebody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if $somebody "$assay" --version >/dev/null 2>&1 && ! $somebody cat "$work/closed/receipt.json" >/dev/null 2>&1; then
  for command in show audit fsck; do
    refused_alike 'receipt.json: cannot open: Permission denied' $somebody "$assay" $command "$work/closed"
  done
fi

# The platform's client.
refused_alike 'is not a directory; .*--state DIR' env HOME="$work/file" "$assay" jobs --server http://127.0.0.1:1 --token x
refused_alike '--memory: expected a whole number of bytes, or one with kB, MB' "$assay" submit $job --server http://127.0.0.1:1 --token x --memory 4gigs --patience 1
refused_alike 'no token: .*--role admin --store DIR' "$assay" admin tokens --server http://127.0.0.1:1
refused_alike "--store $work/run: is not a coordinator's folder" "$assay" admin token --role client --store "$work/run"
refused_alike "run: is not a coordinator's folder .*, and is not empty" "$assay" serve --store "$work/run"

# Options that would be ignored.
refused_alike '--rule none: is for jobs of precision fp64-rounded' "$assay" audit "$work/run" --rule none
refused_alike '--referee-key: belongs to --provider' "$assay" dispute "$work/run" "$work/run" --referee-key "$ASSAY_KEY"
refused_alike '--ca: belongs to --provider' "$assay" dispute "$work/run" "$work/run" --ca "$ASSAY_KEY"
providers="--provider http://127.0.0.1:1 --provider http://127.0.0.1:2"
refuses 'two receipts: http://127.0.0.1:1/v1/receipt: cannot connect: [^;]*; http://127.0.0.1:2/' "$assay" dispute $providers --patience 1 --quiet
refused_alike '--key: belongs to run directories' "$assay" dispute $providers --key "$ASSAY_KEY"
refused_alike '--data: belongs to' "$assay" dispute $providers --data "$work/text.txt"
refused_alike '--device, --threads and --simd: belong to run directories' "$assay" dispute $providers --threads 2
refused_alike '--data: belongs to --job FILE' "$assay" judge tests/golden/dispute.evidence --data "$work/text.txt"
refused_alike '--data: belongs to --job FILE' "$assay" judge tests/golden/dispute.evidence --job "$old" --data "$work/text.txt"
refused_alike '--patience: belongs to --follow URL' "$assay" train $job --out "$work/run" --patience 3
refused_alike '--ca: belongs to --follow URL' "$assay" train $job --out "$work/run" --follow "$work/text" --ca "$ASSAY_KEY"
refused_alike '--tensors: belongs to a job or a run' "$assay" show "$work/run/receipt.json" --tensors
refused_alike '--follow: is for jobs of precision fp64-rounded' "$assay" train $job --out "$work/run" --follow "$work/text"
refused_alike '--follow: is for jobs of precision fp64-rounded' "$assay" train $job --out "$work/run" --follow http://127.0.0.1:1
refused_alike "run: has no rounding logs: its job's precision is not fp64-rounded" "$assay" roundings "$work/run"
refused_alike '--simd: is for jobs of precision fp32' "$assay" train examples/gpt2-tiny-rounded.toml --out "$work/rounded" --simd ref

# A log with an entry for every third step and the last.
sed -e 's/^every = 1$/every = 3\n[snapshot]\nevery = 3/' $job >"$work/thirds.toml"
train "$work/thirds" "$work/thirds.toml" --steps 8 >/dev/null || fail "$(cat "$work/stderr")"
refused_alike 'the log has no entry for step 4; the nearest are for steps 3 and 6' "$assay" log "$work/thirds" --prove 4
refused_alike 'the log has no entry for step 9; the nearest is for step 8' "$assay" log "$work/thirds" --prove 9
"$assay" log "$work/thirds" --prove 6 | grep -q '^entry  *2 of 4, step 6$' || fail "log --prove 6"
"$assay" log "$work/thirds" --json | grep -Eq '"entries":\[\{"step":0,[^}]*"loss":null,.*\{"step":3,[^}]*"loss":[0-9.]+,' || fail "log --json: $("$assay" log "$work/thirds" --json)"

# A run without its receipt.
rm "$work/thirds/receipt.json"
"$assay" audit "$work/thirds" --quiet >"$work/out" 2>&1
[ $? -eq 3 ] && grep -q 'its training is not finished (assay resume continues it)' "$work/out" || fail "audit of an unfinished run: $(cat "$work/out")"

# Numbers in JSON are numbers.
"$assay" show $job --json >"$work/out" || fail "show --json"
for key in flops_per_step state_bytes working_bytes; do
  grep -Eq "\"$key\":[0-9]+[,}]" "$work/out" || fail "$key is no integer: $(cat "$work/out")"
done
grep -q '"tensors":' "$work/out" && fail "tensors without --tensors"
"$assay" show $job --json --tensors | grep -q '"tensors":\[{"name"' || fail "show --json --tensors"

# Too little memory: how much was wanted.
sed -e 's/^hidden = .*/hidden = [30000, 30000]/' $job >"$work/large.toml"
(ulimit -v 2000000 && exec "$assay" train "$work/large.toml" --out "$work/large" --threads 1) >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -Eq '^assay: out of memory.*[0-9.]+ GiB.*another job: train that into another directory' "$work/err" || fail "too little memory: $(cat "$work/out" "$work/err")"

# No colours in a pipe or a file.
"$assay" audit "$work/run" --quiet >"$work/out" 2>"$work/err" || fail "audit: $(cat "$work/out" "$work/err")"
! grep -q "$(printf '\033')" "$work/out" "$work/err" || fail "colours in a file"

# Folders in Hugging Face's layout as models to train: what is read is what they say, trainings replicate and are audited, what is exported loads again bit for
# bit, and what is not supported or not sound is refused with one line. The folders are made by hf_folder.py from the published formats.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3"
vectors=tests/vectors/tokenizer_json
tool() { python3 "$(dirname "$0")/hf_folder.py" "$@" || fail "hf_folder.py $*"; }
cat examples/*.toml README.md >"$work/text.txt"

# job FILE FOLDER [LINE...]: a job that starts from the folder, whose state is the weights alone; the lines go under [data].
job() {
  local file=$1 folder=$2
  shift 2
  cat >"$file" <<TOML
steps = 3
[model]
kind = "huggingface"
path = "$folder"
[batch]
microbatch = 2
sequence = 16
[optimizer]
kind = "sgd"
momentum = 0.0
[schedule]
lr = 0.05
[commit]
every = 1
[data]
TOML
  if [ $# -eq 0 ]; then set -- 'kind = "bpe"' 'path = "text.txt"'; fi
  printf '%s\n' "$@" >>"$file"
}
start_of() { "$assay" log "$1" --json | sed 's/.*"entries":\[{"step":0,"state_root":"\([0-9a-f]*\)".*/\1/'; }
# The tensors of a folder, without prefixes and what is stored besides.
tensors() { tool weights "$1" | sed -e 's/^transformer\.//' -e 's/^model\.//' -e '/ U8 /d' | sort; }

for pair in gpt2:gpt2 llama:llama3 qwen2:qwen2; do
  kind=${pair%:*} run=$work/run-$kind
  tool $kind "$work/$kind" --tokenizer "$vectors/${pair#*:}.json"
  job "$work/$kind.toml" $kind
  train "$run" "$work/$kind.toml" --threads 1 >"$work/json" || fail "$(cat "$work/stderr")"
  id=$(field job_id <"$work/json") root=$(field state_root <"$work/json")
  train "$work/again" "$work/$kind.toml" --threads 3 --simd ref >"$work/json" || fail "$(cat "$work/stderr")"
  [ "$(field state_root <"$work/json")" = "$root" ] || fail "$kind: another state root with other threads and kernels"
  "$assay" audit "$run" --quiet >"$work/out" 2>&1 || fail "audit: $(cat "$work/out")"
  "$assay" diff "$run" "$work/again" >"$work/out" || fail "diff: $(cat "$work/out")"
  rm -r "$work/again"
  ! grep -rlF "$scratch" "$run" || fail "a run contains the path of where it was made"
  # The run says what the model is by itself.
  [ "$("$assay" show "$run/job.toml" --json | field job_id)" = "$id" ] || fail "job.toml of the run is another job"
  ! grep -q huggingface "$run/job.toml" || fail "job.toml of a run needs config.json"
  "$assay" sample "$run" --prompt "Training " --tokens 5 >"$work/out" || fail "sample"
  grep -q '^Training ' "$work/out" || fail "sample: $(cat "$work/out")"

  # What is exported is the run's model, and starts another training where that one ended.
  out=$work/out-$kind
  "$assay" export "$run" --hf "$out" --json >"$work/json" || fail "export"
  grep -q '"files":\["config.json","model.safetensors","tokenizer.json"\]' "$work/json" || fail "export: $(cat "$work/json")"
  [ "$(field state_root <"$work/json")" = "$root" ] || fail "export: $(cat "$work/json")"
  cmp "$out/tokenizer.json" "$work/$kind/tokenizer.json" || fail "tokenizer.json is not the folder's"
  no_leftovers "$out"
  "$assay" verify "$out/model.safetensors" --receipt "$run/receipt.json" >"$work/out" || fail "verify: $(cat "$work/out")"
  job "$work/on.toml" out-$kind
  train "$work/on" "$work/on.toml" >/dev/null || fail "$(cat "$work/stderr")"
  [ "$(start_of "$work/on")" = "$root" ] || fail "$kind: what was exported is not where the training ended"
  # A training that changes nothing gives the folder's tensors back.
  sed -e 's/^lr = .*/lr = 0.0/' -e 's/^steps = .*/steps = 1/' "$work/$kind.toml" >"$work/still.toml"
  train "$work/still" "$work/still.toml" >/dev/null || fail "$(cat "$work/stderr")"
  "$assay" export "$work/still" --hf "$work/same" >/dev/null || fail "export"
  diff <(tensors "$work/$kind") <(tensors "$work/same") || fail "$kind: other tensors after a round trip"
  rm -r "$work/on" "$work/still" "$work/same"

  # In several files, and with the other names that are in use: the same training of another job. A single file is the job of init.weights.
  for other in "--shards 3" --base; do
    tool $kind "$work/other" $other --tokenizer "$vectors/${pair#*:}.json"
    job "$work/other.toml" other
    train "$work/run-other" "$work/other.toml" >"$work/json" || fail "$(cat "$work/stderr")"
    [ "$(field state_root <"$work/json")" = "$root" ] || fail "$kind $other: another state root"
    [ "$(field job_id <"$work/json")" != "$id" ] || fail "$kind $other: the same job from other files"
    "$assay" audit "$work/run-other" --quiet >"$work/out" 2>&1 || fail "audit: $(cat "$work/out")"
    rm -r "$work/other" "$work/run-other"
  done
  sed 's/^weights = .*/weights = "'$kind'\/model.safetensors"/; s/^path = .*/path = "text.txt"/; s/^vocabulary = .*/vocabulary = "'$kind'"/' "$run/job.toml" >"$work/explicit.toml"
  [ "$("$assay" show "$work/explicit.toml" --json | field job_id)" = "$id" ] || fail "$kind: another job than with init.weights"

  # The losses are those of the published architectures, also of weights in 16 bits.
  head -c 600 "$work/text.txt" | python3 -c 'import struct, sys; sys.stdout.buffer.write(b"".join(struct.pack("<H", (b * 7 + i) % 400) for i, b in enumerate(sys.stdin.buffer.read())))' >"$work/tokens.bin"
  for dtype in F32 F16 BF16; do
    tool $kind "$work/half" --dtype $dtype
    job "$work/half.toml" half 'kind = "tokens"' 'path = "tokens.bin"' 'validation = 0.5'
    sed -i 's/^microbatch = .*/microbatch = 1/' "$work/half.toml"
    mine=$("$assay" eval "$work/half.toml" --weights "$work/half" --batches 0 --json | field loss)
    theirs=$(tool loss "$work/half" --tokens "$work/tokens.bin" --sequence 16)
    awk "BEGIN { d = $mine - $theirs; exit !(d < 1e-5 && d > -1e-5) }" || fail "$kind $dtype: loss $mine, expected $theirs"
    rm -r "$work/half"
  done
done

# Runs of models that were described here are exported, too.
for kind in gpt2 llama; do
  train "$work/own-$kind" examples/$kind-tiny.toml --steps 2 >/dev/null || fail "$(cat "$work/stderr")"
  "$assay" export "$work/own-$kind" --hf "$work/own-$kind-hf" >"$work/out" || fail "export of $kind-tiny"
  grep -q '^note .*no tokenizer.json' "$work/out" || fail "export without a tokenizer does not say so: $(cat "$work/out")"
  job "$work/own.toml" own-$kind-hf 'kind = "chars"'
  train "$work/own-on" "$work/own.toml" --steps 1 >/dev/null || fail "$(cat "$work/stderr")"
  rm -r "$work/own-on"
done

# A run elsewhere: with its folder beside it as before, and without.
mkdir "$work/there"
cp -r "$work/run-qwen2" "$work/qwen2" "$work/text.txt" "$work/there"
(cd / && "$assay" audit "$work/there/run-qwen2" --quiet >"$work/out" 2>&1) || fail "audit of a copy: $(cat "$work/out")"
mv "$work/there/qwen2" "$work/there/gone"
"$assay" audit "$work/there/run-qwen2" --quiet >"$work/out" 2>&1
[ $? -eq 3 ] || fail "audit without the folder: $(cat "$work/out")"
"$assay" export "$work/there/run-qwen2" --hf "$work/there/out" --json | grep -q '"files":\["config.json","model.safetensors"\]' || fail "export without the folder"
mv "$work/there/gone" "$work/there/qwen2"
printf 'x' >>"$work/there/qwen2/model.safetensors"
"$assay" audit "$work/there/run-qwen2" --quiet >"$work/out" 2>&1
[ $? -eq 3 ] || fail "audit with damaged weights: $(cat "$work/out")"

# Added tokens are text unless they are asked for.
printf 'a<|end|>b %.0s' $(seq 100) >"$work/special.txt"
for asked in false true; do
  job "$work/special.toml" llama 'kind = "bpe"' 'path = "special.txt"' "special_tokens = $asked"
  "$assay" show "$work/special.toml" --json >"$work/$asked.json" || fail "show"
done
[ "$(field data_root <"$work/false.json")" != "$(field data_root <"$work/true.json")" ] || fail "special_tokens changes nothing"

# What is refused. bad PATTERN COMMAND [KIND]: the command is run inside a copy of the folder.
bad() {
  rm -rf "$work/bad"
  cp -r "$work/${3:-llama}" "$work/bad"
  (cd "$work/bad" && eval "$2") || fail "$2"
  job "$work/bad.toml" bad
  refuses "^assay: [^ ]*bad.toml:[0-9]+: .*$1|^assay: [^ ]*/bad[/:].*$1" "$assay" train "$work/bad.toml" --out "$work/refused"
  [ ! -e "$work/refused" ] || fail "a refused training left a run"
}
set_key() { python3 -c 'import json, sys; f, k, v = sys.argv[1:]; j = json.load(open(f)); o = j; [o := o[p] for p in k.split("/")[:-1]]; o[k.split("/")[-1]] = json.loads(v); json.dump(j, open(f, "w"))' "$@"; }
bad 'model.path: .*/bad/config.json: cannot open: No such file' 'rm config.json'
bad 'model.path: .*/bad/config.json: expected a JSON object' 'echo "{" >config.json'
bad "config.json: model_type: expected gpt2 or llama or mistral or qwen2, got 'bert'" 'set_key config.json model_type \"bert\"'
bad "config.json: rope_scaling: rope_type: expected default, got 'llama3'" "set_key config.json rope_scaling '{\"rope_type\": \"llama3\", \"factor\": 8.0}'"
bad 'config.json: attention_bias: expected false, got true' 'set_key config.json attention_bias true'
bad 'config.json: n_inner: expected null or four times n_embd, 128, got 100' 'set_key config.json n_inner 100' gpt2
bad 'config.json: hidden_size: expected an integer in 1 .. 65536, got 1000000' 'set_key config.json hidden_size 1000000'
bad 'batch.sequence: expected an integer in 1 .. 12, because model.context is 12, got 16' 'set_key config.json sliding_window 12; set_key config.json use_sliding_window true' qwen2
bad 'model.safetensors: tensor .*: expected F32.80, 32.* got F32.80, 32.|lm_head.weight.* is missing|expected F32' 'set_key config.json intermediate_size 96'
bad "is missing" 'set_key config.json num_hidden_layers 3'
bad "is not part of the model" 'set_key config.json num_hidden_layers 1'
bad 'expected model.safetensors or model.safetensors.index.json in this folder' 'rm model.safetensors'
bad 'model.safetensors: .*' 'head -c 5000 model.safetensors >cut && mv cut model.safetensors'
bad 'model.vocab: expected at least 381 for this data, got 380|tensor' 'set_key config.json vocab_size 380'
bad 'with tokenizer.json' 'rm tokenizer.json'
bad "tokenizer.json: normalizer: expected null, got 'NFC'" "set_key tokenizer.json normalizer '{\"type\": \"NFC\"}'"
bad "tokenizer.json: model.type: expected BPE, got 'Unigram'" 'set_key tokenizer.json model/type \"Unigram\"'
bad 'tokenizer.json: model.dropout: expected null, got 0.1' 'set_key tokenizer.json model/dropout 0.1'
tool llama "$work/sharded" --shards 2 --tokenizer $vectors/llama3.json
one=model-00001-of-00002.safetensors two=model-00002-of-00002.safetensors
bad "$two: cannot open: No such file" "rm $two" sharded
bad 'weight_map: .*expected the name of a .safetensors file in the same folder, got .*passwd' 'set_key model.safetensors.index.json weight_map/model.norm.weight "\"../../../etc/passwd\""' sharded
bad "index.json: tensor .*: expected $one, which has it, got $two|is missing" "set_key model.safetensors.index.json weight_map/model.embed_tokens.weight '\"$two\"'" sharded
bad 'weight_map: expected an object of tensors and their files' 'echo "{}" >model.safetensors.index.json' sharded
job "$work/bad.toml" nowhere
refuses 'model.path: .*nowhere: No such file or directory' "$assay" train "$work/bad.toml" --out "$work/refused"
job "$work/bad.toml" llama/config.json
refuses 'model.path: .*config.json: is a file, expected a folder' "$assay" train "$work/bad.toml" --out "$work/refused"
sed -e '/^path = /d' "$work/llama.toml" >"$work/bad.toml"
refuses 'model.path: expected a folder' "$assay" train "$work/bad.toml" --out "$work/refused"
sed -e 's/^path = "llama"/&\nlayers = 2/' "$work/llama.toml" >"$work/bad.toml"
refuses 'model.layers.*is for gpt2, llama, not huggingface' "$assay" train "$work/bad.toml" --out "$work/refused"
printf '[init]\nweights = "llama"\n' | cat "$work/llama.toml" - >"$work/bad.toml"
refuses 'init.weights: a huggingface model brings its weights' "$assay" train "$work/bad.toml" --out "$work/refused"
job "$work/bad.toml" llama 'kind = "features"'
refuses 'data.kind: a language model needs chars, bpe, tokens or packed' "$assay" train "$work/bad.toml" --out "$work/refused"

mkdir "$work/full" && touch "$work/full/precious"
refuses "full: holds 'precious' already; choose a new or empty folder" "$assay" export "$work/run-llama" --hf "$work/full"
[ "$(ls "$work/full")" = precious ] || fail "a refused export wrote into a folder"
refuses 'precious: is a file, expected a folder' "$assay" export "$work/run-llama" --hf "$work/full/precious"
refuses 'no such run' "$assay" export "$work/nowhere" --hf "$work/none"
refuses '--hf is required' "$assay" export "$work/run-llama"
train "$work/mlp" examples/mlp.toml --steps 1 >/dev/null || fail "$(cat "$work/stderr")"
refuses 'model.kind: expected a language model' "$assay" export "$work/mlp" --hf "$work/none"
[ ! -e "$work/none" ] || fail "a refused export left a folder"
exit 0

# Data is packed: several inputs, folders, JSON lines; the same bytes whatever the threads and however often the packer is killed; a full
# disk; damaged files; and what is trained on it is what would be trained on the text itself, with audits and disputes as ever.
. "$(dirname "$0")/lib.sh"
RANDOM=${ASSAY_SEED:-4711}
vocabulary=tests/vectors/bpe

# pack OUT ARGS...: packs quietly; prints the JSON line.
pack() {
  local out=$1
  shift
  "$assay" data pack "$@" --out "$out" --json --quiet </dev/null 2>"$work/stderr" | tail -n1
  return "${PIPESTATUS[0]}"
}
# expect KEY VALUE < JSON
expect() {
  local json got
  json=$(cat)
  got=$(echo "$json" | field "$1")
  [ "$got" = "$2" ] || fail "$1 is $got, expected $2, in $json"
}

# Inputs of every form.
mkdir -p "$work/in/sub"
cp README.md "$work/in/b.txt"
cp docs/JOBS.md "$work/in/sub/a.md"
printf 'one\n' >"$work/in/a.txt"
: >"$work/in/empty.txt"
ln -s b.txt "$work/in/link.txt"
mkfifo "$work/in/pipe"
printf '{"text":"caf\\u00e9 one"}\n\n{"id":7,"text":"two"}\n' >"$work/lines.jsonl"
json=$(pack "$work/all.pack" "$work/in" "$work/lines.jsonl" --kind text --vocabulary $vocabulary --eot 3 --threads 1) || fail "packing: $(cat "$work/stderr")"
root=$(echo "$json" | field root)
echo "$json" | expect files 5
echo "$json" | expect skipped 2
echo "$json" | expect documents 5
echo "$json" | expect empty_documents 1
echo "$json" | expect eot 3
[ ! -e "$work/all.pack.partial" ] || fail "left behind: $(ls "$work/all.pack.partial")"
for threads in 2 7; do
  json=$(pack "$work/again.pack" "$work/in" "$work/lines.jsonl" --kind text --vocabulary $vocabulary --eot 3 --threads $threads) || fail "packing again"
  echo "$json" | expect root "$root"
  cmp "$work/all.pack" "$work/again.pack" || fail "$threads threads gave other bytes"
  rm "$work/again.pack"
done
"$assay" verify "$work/all.pack" >"$work/out" || fail "verify: $(cat "$work/out")"
grep -q "VALID *packed" "$work/out" && grep -q "$root" "$work/out" || fail "verify said: $(cat "$work/out")"

"$assay" show "$work/all.pack" | cmp - "$work/out" || fail "show says something else"

# What is refused.
refuses "all.pack: exists already and is not overwritten" "$assay" data pack "$work/in" --out "$work/all.pack" --kind text
refuses "images: is not here yet" "$assay" data pack "$work/in" --out "$work/images.pack" --kind images
refuses "none: cannot open: No such file" "$assay" data pack "$work/none" --out "$work/x.pack" --kind text
refuses "lines.jsonl: the line at byte 0: has no field 'body'" "$assay" data pack "$work/lines.jsonl" --out "$work/x.pack" --kind text --field body
[ ! -e "$work/x.pack.partial" ] || fail "left behind: $(ls "$work/x.pack.partial")"
refuses "eot: expected the id of a token" "$assay" data pack "$work/in" --out "$work/x.pack" --kind text --eot last
refuses "field: is not for --kind tokens" "$assay" data pack "$work/in" --out "$work/x.pack" --kind tokens --field body
[ ! -e "$work/x.pack" ] || fail "something was packed"

# Killed at random moments, it goes on to the same bytes. The text is long enough for several checkpoints, which are half a second apart.
for i in $(seq 1 "${ASSAY_PACK_COPIES:-2500}"); do
  echo "part $i of many"
  cat docs/NUMERICS.md
done >"$work/long.txt"
options=("$work/long.txt" "$work/lines.jsonl" --kind text --vocabulary $vocabulary --threads 1)
began=$(date +%s%N)
json=$(pack "$work/whole.pack" "${options[@]}") || fail "packing a long text: $(cat "$work/stderr")"
duration_ms=$((($(date +%s%N) - began) / 1000000))
long_root=$(echo "$json" | field root)
wanted=${ASSAY_KILLS:-5}
kills=0 resumed=0 rounds=0
[ "$duration_ms" -ge 1500 ] && resumes=1 || resumes=0  # a faster machine may be done before its first checkpoint
while [ $kills -lt "$wanted" ] || [ $resumed -lt $resumes ]; do
  rounds=$((rounds + 1))
  [ $rounds -le $((4 * wanted + 10)) ] || fail "only $kills kills, and gone on $resumed times, in $((rounds - 1)) rounds of $duration_ms ms"
  rm -f "$work/killed.pack"
  status=137
  while [ $status -ne 0 ]; do
    "$assay" data pack "${options[@]}" --out "$work/killed.pack" --json >"$work/out" 2>"$work/stderr" </dev/null &
    pid=$!
    sleep "$(awk -v d="$duration_ms" -v r=$RANDOM 'BEGIN { printf "%.3f", d * (0.1 + 0.9 * r / 32768) / 1000 }')"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    status=$?
    grep -q 'going on after' "$work/stderr" && resumed=$((resumed + 1))
    [ $status -eq 0 ] || [ $status -eq 137 ] || fail "packing after $kills kills: $(cat "$work/stderr")"
    [ $status -ne 137 ] || kills=$((kills + 1))
    [ $status -eq 0 ] || [ ! -e "$work/killed.pack" ] || "$assay" verify "$work/killed.pack" >/dev/null || fail "a killed packer left half a file"
  done
  expect root "$long_root" <"$work/out"
  cmp "$work/whole.pack" "$work/killed.pack" || fail "after $kills kills the bytes are others"
  [ ! -e "$work/killed.pack.partial" ] || fail "left behind: $(ls "$work/killed.pack.partial")"
done

# A limit on file sizes, and a disk without room: one line, and it goes on once there is room.
limited() { (ulimit -f 1000 && exec "$assay" data pack "${options[@]}" --out "$work/limited.pack" --quiet); }
refuses 'limited.pack.partial/data: cannot write: File too large' limited
[ ! -e "$work/limited.pack" ] || fail "there is a file that is not whole"
pack "$work/limited.pack" "${options[@]}" >/dev/null || fail "going on: $(cat "$work/stderr")"
cmp "$work/whole.pack" "$work/limited.pack" || fail "after a limit the bytes are others"
mkdir "$work/disk"
if mount -t tmpfs -o size=2m assay-e2e "$work/disk" 2>/dev/null; then
  trap 'umount "$work/disk" 2>/dev/null; rm -rf "$scratch"' EXIT
  refuses 'cannot write: No space left on device' "$assay" data pack "${options[@]}" --out "$work/disk/full.pack" --quiet
  mount -o remount,size=400m "$work/disk"
  pack "$work/disk/full.pack" "${options[@]}" >/dev/null || fail "going on: $(cat "$work/stderr")"
  cmp "$work/whole.pack" "$work/disk/full.pack" || fail "after a full disk the bytes are others"
fi
rm -f "$work/limited.pack" "$work/killed.pack" "$work/disk/full.pack" "$work/long.txt" "$work/whole.pack"

# Training on it: the job of the text itself, and its bytes.
pack "$work/text.pack" README.md --kind text --vocabulary $vocabulary --eot none >/dev/null || fail "packing one text: $(cat "$work/stderr")"
cp README.md "$work/text.txt"
job() { # KIND PATH MORE
  printf 'steps = 6\n[model]\nkind = "gpt2"\ncontext = 16\nlayers = 1\nheads = 2\nwidth = 16\n[data]\nkind = "%s"\npath = "%s"\n%s\n[batch]\nmicrobatch = 2\nsequence = 16\n[commit]\nevery = 1\n[snapshot]\nevery = 3\n' "$1" "$2" "$3"
}
job bpe text.txt "vocabulary = \"$PWD/$vocabulary\"" >"$work/text.toml"
job packed text.pack "" >"$work/packed.toml"
plain=$(train "$work/plain" "$work/text.toml") || fail "training on the text: $(cat "$work/stderr")"
state=$(echo "$plain" | field state_root)
for threads in 1 3; do
  train "$work/run$threads" "$work/packed.toml" --threads $threads >"$work/json" || fail "training: $(cat "$work/stderr")"
  expect state_root "$state" <"$work/json"
  cmp "$work/plain/receipt.json" "$work/run$threads/receipt.json" || fail "the packed text is another job"
done
"$assay" audit "$work/run1" --json | tail -n1 | expect verdict verified
"$assay" eval "$work/run1" --json >/dev/null || fail "eval"
"$assay" sample "$work/run1" --prompt "The" --tokens 5 --json | tail -n1 >"$work/json" || fail "sample"
"$assay" sample "$work/plain" --prompt "The" --tokens 5 --json | tail -n1 | cmp - "$work/json" || fail "sample says something else"
"$assay" show "$work/run1" | grep -q 'packed, 1 documents, vocabulary 556' || fail "show: $("$assay" show "$work/run1")"
"$assay" diff "$work/run1" "$work/plain" >/dev/null || fail "diff: $("$assay" diff "$work/run1" "$work/plain")"
cp -a "$work/run1" "$work/longer"
train "$work/longer" "$work/packed.toml" --steps 8 | expect resumed_from 6

# Somebody else's run of the same job, with another learning rate in it, loses a dispute.
cheat=${2:-}
if [ -n "$cheat" ]; then
  "$assay" keygen --out "$work/other" --name e2e-other >/dev/null || fail "keygen"
  "$cheat" flipped-bit "$work/packed.toml" --out "$work/theirs" --at 4 --key "$work/other" >/dev/null 2>&1 || fail "cheat"
  "$assay" audit "$work/theirs" --json | tail -n1 | expect verdict refuted
  "$assay" dispute "$work/run1" "$work/theirs" --json 2>"$work/stderr" | tail -n1 | expect verdict a
fi

# A damaged copy is named, by whoever reads it.
cp "$work/text.pack" "$work/good.pack"
printf 'X' | dd of="$work/text.pack" bs=1 seek=5000 conv=notrunc status=none
refuses "text.pack: bytes 4096 .. 8191, in its 'tokens', are not what was packed" "$assay" train "$work/packed.toml" --out "$work/x" --quiet
"$assay" audit "$work/run1" --json 2>/dev/null | tail -n1 | expect verdict unchecked
"$assay" verify "$work/text.pack" >"$work/out"
[ $? -eq 4 ] || fail "verify of a damaged file: $(cat "$work/out")"
head -c 9000 "$work/good.pack" >"$work/text.pack"
refuses "text.pack: has 9000 bytes, its header says [0-9]+; the file is cut off" "$assay" train "$work/packed.toml" --out "$work/x" --quiet
# Other data is told from the run's.
cp "$work/all.pack" "$work/text.pack"
"$assay" audit "$work/run1" --json 2>/dev/null | tail -n1 >"$work/json"
expect verdict unchecked <"$work/json"
grep -q 'was trained on another data set than the one here' "$work/json" || fail "other data: $(cat "$work/json")"

# Token files and arrays.
printf '\1\0\2\0\3\0' >"$work/1.bin"
for i in $(seq 1 200); do printf '\4\0\5\0'; done >"$work/2.bin"
pack "$work/tokens.pack" "$work/1.bin" "$work/2.bin" --kind tokens >"$work/json" || fail "packing tokens: $(cat "$work/stderr")"
expect tokens 403 <"$work/json"
job packed tokens.pack 'validation = 0.2' | sed 's/^context/vocab = 6\ncontext/' >"$work/tokens.toml"
cat "$work/1.bin" "$work/2.bin" >"$work/both.bin"
job tokens both.bin 'validation = 0.2' | sed 's/^context/vocab = 6\ncontext/' >"$work/bin.toml"
state=$(train "$work/bin" "$work/bin.toml" | field state_root)
train "$work/tokens" "$work/tokens.toml" >"$work/json" || fail "training on tokens: $(cat "$work/stderr")"
expect state_root "$state" <"$work/json"
"$assay" audit "$work/tokens" --json | tail -n1 | expect verdict verified

pack "$work/arrays.pack" examples/arrays --kind arrays >"$work/json" || fail "packing arrays: $(cat "$work/stderr")"
expect tokens null <"$work/json"
sed -e "s|^path = .*|path = \"$work/arrays.pack\"|" -e 's/^kind = "arrays"/kind = "packed"/' -e '/^inputs/d' -e '/^labels/d' examples/arrays.toml >"$work/arrays.toml"
state=$(train "$work/plain_arrays" examples/arrays.toml --steps 20 | field state_root)
train "$work/arrays" "$work/arrays.toml" --steps 20 >"$work/json" || fail "training on arrays: $(cat "$work/stderr")"
expect state_root "$state" <"$work/json"
cmp "$work/plain_arrays/receipt.json" "$work/arrays/receipt.json" || fail "packed arrays are another job"
"$assay" audit "$work/arrays" --json | tail -n1 | expect verdict verified
echo "ok: $kills kills in $rounds rounds of $duration_ms ms, gone on $resumed times"

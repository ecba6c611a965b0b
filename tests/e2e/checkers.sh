# What a whole run is: audit, fsck, dispute, show and provide have one opinion (docs/formats/run.md, "What belongs to a run"). An honest run and a lying one of the
# same signer are damaged and added to in every way; each line below says how every checker must end.
. "$(dirname "$0")/lib.sh"
cheat=$2
sed 's/^steps = .*/steps = 12/' examples/mlp.toml >"$work/job.toml"
printf '[snapshot]\nevery = 4\nkeep = 0\n' >>"$work/job.toml"
train "$work/honest" "$work/job.toml" >/dev/null || fail "$(cat "$work/stderr")"
"$cheat" wrong-learning-rate "$work/job.toml" --out "$work/lying" --at 6 --key "$ASSAY_KEY" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
"$cheat" truncated-log "$work/job.toml" --out "$work/short" --at 6 --key "$ASSAY_KEY" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
sed 's/^seed = .*/seed = 77/' "$work/job.toml" >"$work/other.toml"
train "$work/other" "$work/other.toml" >/dev/null || fail "$(cat "$work/stderr")"

first=snapshots/step-0000000004.safetensors middle=snapshots/step-0000000008.safetensors last=snapshots/step-0000000012.safetensors
[ -e "$work/honest/$first" ] && [ -e "$work/lying/$middle" ] || fail "the runs have no snapshots: $(ls "$work"/*/snapshots)"

# flip FILE: alters a byte in its middle.
flip() {
  local at=$(($(stat -c %s "$1") / 2)) byte
  byte=$(od -An -tu1 -j $at -N1 "$1")
  printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}
cut() { truncate -s $(($(stat -c %s "$1") / 2)) "$1"; }
directory() { rm "$1" && mkdir "$1"; }
pipe() { rm "$1" && mkfifo "$1"; }
dangling() { rm "$1" && ln -s nowhere "$1"; }

# ends COMMAND...: its exit status, and of a dispute who stands.
ends() {
  local status
  "$assay" "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ "$1" = dispute ] && status=$status$(tail -n1 "$work/out" | field verdict)
  echo "$status"
}

# provides RUN: the exit status of a provider, 0 where it goes on until it is told to end.
provides() {
  local pid status
  : >"$work/provider"
  "$assay" provide "$1" --threads 1 >"$work/provider" 2>"$work/err" </dev/null &
  pid=$!
  while kill -0 $pid 2>/dev/null && ! grep -q '^listening' "$work/provider"; do sleep 0.02; done
  kill $pid 2>/dev/null
  wait $pid
  status=$?
  grep -q '^listening' "$work/provider" && status=0
  echo $status
}

# checked RUN AGAINST: what audit, fsck, dispute, show and provide say.
checked() {
  echo "$(ends audit "$1" --quiet --json --threads 1) $(ends fsck "$1") $(ends dispute "$1" "$2" --quiet --json --threads 1)" \
    "$(ends show "$1") $(provides "$1")"
}

rows=0 wrong=0
# row HONEST | LYING | COMMAND...: what must be said of each run after the command was run in a copy of it.
row() {
  local expected said run against
  for run in honest lying; do
    [ $run = honest ] && against=lying expected=$1 || { against=honest expected=$2; }
    rm -rf "$work/copy"
    cp -r "$work/$run" "$work/copy"
    (cd "$work/copy" && eval "$3") || fail "$3"
    said=$(checked "$work/copy" "$work/$against")
    rows=$((rows + 1))
    [ "$said" = "$expected" ] && continue
    wrong=$((wrong + 1))
    echo "$run, $3: $said, expected $expected" >&2
  done
}

# Of each: audit, fsck, dispute with whom stands, show, provide. The first column is of the honest run, which is a; the second of the lying one.
whole='0 0 0a 0 0'
lie='1 0 0b 0 0'
row "$whole" "$lie" 'true'
# What may be there or not, and what is none of the run's.
for more in 'rm lock' 'rm -r events' "rm $first" 'echo junk >notes.txt' 'mkdir empty' 'ln -s nowhere link' 'mkfifo pipe' \
  'echo junk >snapshots/notes' "cp $first snapshots/step-4.safetensors" 'mkdir snapshots/step-0000000003.safetensors' \
  'echo junk >id.next' 'mkdir id.next' 'echo junk >log/tile/0/junk' 'mkdir lock.d' 'mkdir -p traces/step-0000000003.trace'; do
  row "$whole" "$lie" "$more"
done
# Damage: the copy's, which nobody is to blame for and no liar can hide behind.
damaged='4 4 4damaged 0 4' refuted='1 4 0b 0 4'
for file in model.safetensors $last $first; do
  for how in flip cut; do
    case $how$file in cutsnapshots/*) shows=4 ;; *) shows=0 ;; esac
    [ $file = $first ] && shows=0
    row "4 4 4damaged $shows 4" "1 4 0b $shows 4" "$how $file"
  done
done
for how in "rm $last" "rm model.safetensors" 'directory model.safetensors' "directory $last" \
  "cp \$work/other/$first $first" "cp \$work/honest/$first snapshots/step-0000000003.safetensors" 'echo junk >snapshots/step-0000000003.safetensors' \
  'flip log/checkpoint' 'rm log/checkpoint' 'flip log/tile/0/000.p/*' 'rm log/tile/0/000.p/*' 'flip events/*' 'echo x >lock'; do
  row "$damaged" "$refuted" "$how"
done
# Damage to what every verdict rests on: receipt, entries, and what says which job it is.
for file in receipt.json 'log/tile/entries/000.p/*' id job.bin program.bin job.toml; do
  case $file in receipt.json | id | job.bin | program.bin) shows=4 ;; *) shows=0 ;; esac
  lies="4 4 4damaged $shows 4"
  # The job can be had from the other run.
  [ $file = job.toml ] && lies="4 4 0b 0 4"
  for how in flip cut; do row "4 4 4damaged $shows 4" "$lies" "$how $file"; done
done
for file in id receipt.json job.bin program.bin; do
  for how in directory pipe dangling; do row '4 4 4damaged 4 4' '4 4 4damaged 4 4' "$how $file"; done
done
for file in id job.bin program.bin; do row '4 4 4damaged 4 4' '4 4 4damaged 4 4' "rm $file"; done
# Unfinished: nothing has been promised yet.
row '3 0 2 0 2' '3 0 2 0 2' 'rm receipt.json'
# Well signed parts that do not belong together are damage; those that contradict each other refute, whatever else is damaged.
row '4 4 4damaged 4 4' '4 4 4damaged 4 4' 'cp $work/other/receipt.json .'
row '4 4 4damaged 0 4' '4 4 4damaged 0 4' 'rm -r log && cp -r $work/other/log .'
row '1 1 1none 0 0' "$lie" "cp \$work/lying/$middle $middle"
row '1 1 1none 0 4' "$refuted" "cp \$work/lying/$middle $middle; rm model.safetensors"
row '1 1 1none 0 4' '1 1 0b 0 4' 'rm -r * && cp -r $work/short/* .'

# What is left of a run that has no id is a run, and without the job's files too.
row '4 4 4damaged 4 4' '4 4 4damaged 4 4' 'rm -r id receipt.json log events'
row '2 0 2 2 2' '2 0 2 2 2' 'rm -rf id receipt.json log events snapshots model.safetensors telemetry.bin'
row '2 2 2 2 2' '2 2 2 2 2' 'rm -r *'
# Weights that the training did not end with are a lie about the log, which leads elsewhere, whatever has become of the file.
"$cheat" replaced-weights "$work/job.toml" --out "$work/replaced" --key "$ASSAY_KEY" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
row "$whole" '1 4 0b 0 4' "[ \$run = honest ] || { rm -r * && cp -r \$work/replaced/* . && rm model.safetensors $last; }"

[ $wrong -eq 0 ] || fail "$wrong of $rows runs are judged otherwise"
echo "$rows runs"

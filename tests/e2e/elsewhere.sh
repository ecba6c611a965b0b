# A run in other hands: no absolute paths in it, its data found where it lies beside it, and `assay show` of a run whose data is gone or whose job.toml was edited.
. "$(dirname "$0")/lib.sh"
mkdir "$work/here" "$work/here/data"
cat examples/*.toml >"$work/here/data/text.txt"
sed -e 's/^steps = .*/steps = 8/' examples/gpt2-tiny.toml >"$work/here/job.toml"
assay=$(realpath "$assay")
cd "$work/here" || fail "cd"

# However the data was named, and wherever the run lies.
far=$(mktemp -d /var/tmp/assay-e2e.XXXXXX) || skip "/var/tmp"
trap 'rm -rf "$scratch" "$far"' EXIT
for data in data/text.txt "$PWD/data/text.txt" ../here/data/text.txt; do
  for out in runs/one "$PWD/runs/two" "$far/three"; do
    rm -rf "$out"
    train "$out" job.toml --data "$data" >"$work/json" || fail "$(cat "$work/stderr")"
    "$assay" trace "$out" --step 2 >/dev/null || fail "trace"
    ! grep -rlF -e "$PWD" -e "$scratch" "$out" || fail "a run at $out with data $data contains the path of where it was made"
    "$assay" audit "$out" --quiet >"$work/out" 2>&1 || fail "audit of $out with data $data: $(cat "$work/out")"
  done
done
id=$(field job_id <"$work/json")

# Taken elsewhere together, or with the data in the working directory.
mkdir "$work/there"
cp -r data runs "$work/there"
mv data elsewhere
(cd / && "$assay" audit "$work/there/runs/one" --quiet >"$work/out" 2>&1) || fail "audit of a copy with its data: $(cat "$work/out")"
(cd "$work/there" && "$assay" audit "$far/three" --quiet >"$work/out" 2>&1) || fail "audit with the data in the working directory: $(cat "$work/out")"

# Without its data.
"$assay" audit runs/one --quiet >"$work/out" 2>&1
[ $? -eq 3 ] || fail "audit without the data: $(cat "$work/out")"
"$assay" audit runs/one --data elsewhere/text.txt --quiet >"$work/out" 2>&1 || fail "audit --data: $(cat "$work/out")"
"$assay" show runs/one >"$work/out" || fail "show of a run without its data: $(cat "$work/out")"
grep -q "^job id       $id\$" "$work/out" || fail "show does not say job $id: $(cat "$work/out")"
grep -q '^run          8 of 8 steps, complete' "$work/out" || fail "show: $(cat "$work/out")"
grep -q '^note         the data is not here' "$work/out" || fail "show does not say that the data is not here: $(cat "$work/out")"
[ "$("$assay" show runs/one --json | field job_id)" = "$id" ] || fail "show --json: $("$assay" show runs/one --json)"
"$assay" show runs/one --json | grep -q '"data":null' || fail "show --json speaks of data that is not here"
mkdir data && cat job.toml >data/text.txt
"$assay" show runs/one >"$work/out" || fail "show of a run with other data: $(cat "$work/out")"
grep -q '^note         the data here has the root .* not that of the run' "$work/out" || fail "show with other data: $(cat "$work/out")"
grep -q "^job id       $id\$" "$work/out" || fail "show with other data does not say job $id: $(cat "$work/out")"
rm -r data && mv elsewhere data

# With an edited job.toml: what was committed to counts.
sed -i -e 's/^steps = .*/steps = 400/' -e 's/^lr = .*/lr = 0.5/' runs/one/job.toml
"$assay" show runs/one >"$work/out" || fail "show of a run with an edited job.toml: $(cat "$work/out")"
grep -q "^job id       $id\$" "$work/out" || fail "show of an edited job.toml says another job: $(cat "$work/out")"
grep -q '^note         job.toml is not the one that this run was made from' "$work/out" || fail "show does not say that job.toml was edited: $(cat "$work/out")"
grep -q '8 of 8 steps' "$work/out" || fail "show goes by an edited job.toml: $(cat "$work/out")"
grep -q 'learning rate 0.5' "$work/out" && fail "show goes by an edited job.toml: $(cat "$work/out")"

# What is signed is shown by kind.
"$assay" show runs/two/receipt.json >"$work/out" || fail "show of a receipt: $(cat "$work/out")"
grep -q '^VALID       receipt' "$work/out" && grep -q "$id" "$work/out" || fail "show of a receipt: $(cat "$work/out")"
[ "$("$assay" show runs/two/log/checkpoint --json | field kind)" = checkpoint ] || fail "show of a checkpoint"
exit 0

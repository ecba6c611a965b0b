# One table of exit statuses for all commands (docs/EXIT_STATUS.md): audits and fsck of runs that are right, false, unfinished and damaged.
. "$(dirname "$0")/lib.sh"
job=$work/job.toml
sed 's/^steps = .*/steps = 6/' examples/mlp.toml >"$job"
run=$work/run
train "$run" "$job" >/dev/null || fail "$(cat "$work/stderr")"

# audits STATUS VERDICT REASON ARGS...: exit status and verdict of an audit, the same as text and as JSON.
audits() {
  local status=$1 verdict=$2 reason=$3
  shift 3
  json=$("$assay" audit "$@" --json --quiet 2>"$work/err")
  [ $? -eq "$status" ] || fail "audit $* did not exit with $status: $json $(cat "$work/err")"
  json=$(echo "$json" | tail -n1)
  [ "$(echo "$json" | field verdict)" = "$verdict" ] || fail "audit $*: expected $verdict: $json"
  echo "$json" | grep -Eq "\"reason\":[^]]*$reason" || fail "audit $*: expected /$reason/: $json"
  echo "$json" | grep -q '"assumed":\[' || fail "audit $*: does not say what it assumes: $json"
  "$assay" audit "$@" --quiet >"$work/out" 2>&1
  [ $? -eq "$status" ] || fail "audit $* exits otherwise as text: $(cat "$work/out")"
  grep -qi "^$verdict " "$work/out" || fail "audit $* as text: $(cat "$work/out")"
}

audits 0 verified null "$run"
grep -q '^assumed     the job is the run' "$work/out" && grep -q '^assumed     the signer is whoever' "$work/out" || fail "audit does not say what it assumes: $(cat "$work/out")"
audits 0 verified null "$run" --job "$job" --signer "$ASSAY_KEY.pub"
grep -q "the run's own\|whoever" "$work/out" && fail "audit assumes what it was told: $(cat "$work/out")"
grep -q "^job         $(echo "$json" | field job_id)\$" "$work/out" || fail "audit does not name the job: $(cat "$work/out")"

# A name is not the key.
audits 0 verified null "$run" --job "$job" --signer "$(renamed "$ASSAY_KEY.pub" some/other.name)"

# Refuted: not what was asked for.
sed 's/^seed = .*/seed = 77/' "$job" >"$work/other.toml"
audits 1 refuted 'not of the job that was asked for' "$run" --job "$work/other.toml"
"$assay" keygen --out "$work/other.key" --name other >/dev/null || fail keygen
audits 1 refuted 'is signed by' "$run" --signer "$work/other.key.pub"

# A file that somebody puts into it makes a run no delivery, which nobody could audit.
cp -r "$run" "$work/stray"
touch "$work/stray/life.jsonl"
audits 0 verified null "$work/stray" --job "$job"
audits 1 refuted 'not of the job that was asked for' "$work/stray" --job "$work/other.toml"
for command in fsck show eval; do
  "$assay" $command "$work/stray" >"$work/out" 2>&1 || fail "$command of a run with another file in it: $(cat "$work/out")"
done
refuses 'is a directory and no delivery .it is a run.' "$assay" verify "$work/stray"

# Damaged: the copy, not the signer.
cp -r "$run" "$work/copy"
size=$(stat -c %s "$run/model.safetensors")
printf 'X' | dd of="$work/copy/model.safetensors" bs=1 seek=$((size - 2)) conv=notrunc status=none
audits 4 damaged 'model.safetensors' "$work/copy"
"$assay" fsck "$work/copy" >/dev/null
[ $? -eq 4 ] || fail "fsck of a damaged copy did not exit with 4"
cp "$run/model.safetensors" "$work/copy"
echo '# other words' >>"$work/copy/job.toml"
audits 4 damaged 'job.toml: is not the file' "$work/copy"
cp "$run/job.toml" "$work/copy"
# A signature that does not fit proves nothing about the signer: audit, verify and fsck say the same.
sed 's/"sig":"./"sig":"A/;t' "$run/receipt.json" >"$work/copy/receipt.json"
cmp -s "$run/receipt.json" "$work/copy/receipt.json" && sed 's/"sig":"./"sig":"B/' "$run/receipt.json" >"$work/copy/receipt.json"
audits 4 damaged 'the copy is damaged or was not made by that key' "$work/copy" --signer "$ASSAY_KEY.pub"
for command in fsck verify; do
  target=$work/copy
  [ $command = fsck ] || target=$work/copy/receipt.json
  "$assay" $command "$target" >"$work/out" 2>&1
  [ $? -eq 4 ] && grep -q 'the copy is damaged or was not made by that key' "$work/out" || fail "$command of a receipt with a bad signature: $(cat "$work/out")"
done
cp "$run/receipt.json" "$work/copy"
# Well signed parts that do not belong together prove nothing about the signer, either: audit, fsck, show and dispute say the same.
mixed() {  # REASON
  audits 4 damaged "$1" "$work/copy"
  "$assay" fsck "$work/copy" >"$work/out" 2>&1
  [ $? -eq 4 ] || fail "fsck of mixed parts: $(cat "$work/out")"
  "$assay" dispute "$run" "$work/copy" --quiet >"$work/out" 2>&1
  [ $? -eq 4 ] && grep -q "$work/copy is damaged: " "$work/out" || fail "dispute of mixed parts: $(cat "$work/out")"
}
train "$work/other" "$work/other.toml" >/dev/null || fail "$(cat "$work/stderr")"
cp "$work/other/receipt.json" "$work/copy"
mixed 'the receipt is for another job'
"$assay" show "$work/copy" >"$work/out" 2>&1
[ $? -eq 4 ] && grep -q 'DAMAGED: .* is for another job' "$work/out" || fail "show of a run with another job's receipt: $(cat "$work/out")"
cp "$run/receipt.json" "$work/copy"
rm -r "$work/copy/log" && cp -r "$work/other/log" "$work/copy"
audits 4 damaged 'the receipt signs another log than the one here' "$work/copy"
"$assay" dispute "$run" "$work/copy" --quiet >"$work/out" 2>&1
[ $? -eq 4 ] && grep -q "$work/copy is damaged: .*: the receipt signs another log" "$work/out" || fail "dispute of mixed parts: $(cat "$work/out")"
rm -r "$work/copy/log" && cp -r "$run/log" "$work/copy"
audits 0 verified null "$work/copy"
echo junk >"$work/copy/id"
audits 4 damaged '/id: ' "$work/copy"

# Unchecked: what this machine cannot tell.
cp -r "$run" "$work/open"
rm "$work/open/receipt.json"
audits 3 unchecked 'has no receipt' "$work/open"
sed -e 's/^steps = .*/steps = 8/' examples/gpt2-tiny.toml >"$work/text.toml"
cat examples/*.toml >"$work/text.txt"
train "$work/text" "$work/text.toml" --data "$work/text.txt" >/dev/null || fail "$(cat "$work/stderr")"
audits 0 verified null "$work/text"
mv "$work/text.txt" "$work/elsewhere.txt"
audits 3 unchecked 'its data is neither at [^ ]*text.txt nor at [^ ]*text.txt; say where it is with --data PATH' "$work/text"
refuses 'its data is .*--data PATH' "$assay" eval "$work/text"
audits 0 verified null "$work/text" --data "$work/elsewhere.txt"
audits 3 unchecked 'another data set than the one here' "$work/text" --data "$job"

# A vendor's plain FP32 cannot be repeated elsewhere, so that nothing here speaks against it.
{ echo 'precision = "fp32-vendor"'; cat "$job"; } >"$work/vendor.toml"
if train "$work/vendor" "$work/vendor.toml" >/dev/null; then
  audits 3 unchecked 'fp32-vendor' "$work/vendor" --job "$work/vendor.toml" --signer "$ASSAY_KEY.pub"
fi

# Bad input.
refuses 'no such run directory' "$assay" audit "$work/nowhere"
refuses 'expected a public key' "$assay" audit "$run" --signer nobody
refuses 'nowhere.toml' "$assay" audit "$run" --job "$work/nowhere.toml"
exit 0

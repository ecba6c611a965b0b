# `assay provide`, `dispute` and `judge` as people run them: an honest provider and cheats, over HTTP, on different kernels.
. "$(dirname "$0")/lib.sh"
keys honest liar

ASSAY_KEY=$work/honest.key "$assay" train "$work/job.toml" --out "$work/honest" --quiet --simd ref >"$work/out" || fail "train"
ASSAY_KEY=$work/honest.key serve honest "$assay" provide "$work/honest" --open-to-all 1000 --listen 127.0.0.1:0 --simd ref
honest=$url

for name in wrong-learning-rate flipped-bit flipped-labels; do
  export ASSAY_KEY=$work/liar.key
  "$cheat" "$name" "$work/job.toml" --out "$work/$name" --at 7 >"$work/out" || fail "cheat $name"
  serve "$name" "$cheat" "$name" "$work/job.toml" --out "$work/$name" --at 7 --provide 127.0.0.1:0
  liar=$url
  unset ASSAY_KEY
  "$assay" dispute --job "$work/job.toml" --provider "$liar" --provider "$honest" --evidence "$work/$name.evidence" --json --quiet >"$work/out" 2>"$work/err" ||
    fail "dispute with $name: $(cat "$work/err")"
  expect verdict 1
  expect step 7
  [ "$(last | field node)" != null ] || fail "$name: no node: $(last)"
  node=$(last | field node)
  "$assay" judge "$work/$name.evidence" --json >"$work/out" 2>"$work/err" || fail "judge $name: $(cat "$work/out" "$work/err")"
  expect verdict 1
  expect step 7
  expect node "$node"
  "$assay" judge "$work/$name.evidence" --explain >"$work/out" || fail "judge --explain"
  grep -q 'convicts whom it names' "$work/out" || fail "judge $name: $(cat "$work/out")"
done

# Evidence that was tampered with is refused or convicts nobody.
size=$(stat -c %s "$work/flipped-bit.evidence")
for at in 40 $((size / 3)) $((size / 2)) $((size - 70)); do
  cp "$work/flipped-bit.evidence" "$work/bad"
  printf '\377' | dd of="$work/bad" bs=1 seek="$at" conv=notrunc 2>/dev/null
  cmp -s "$work/bad" "$work/flipped-bit.evidence" && continue
  "$assay" judge "$work/bad" >"$work/out" 2>"$work/err" && fail "altered at $at, it still convicts: $(cat "$work/out")"
done
head -c $((size / 2)) "$work/flipped-bit.evidence" >"$work/bad"
refuses 'bad: not valid evidence: ' "$assay" judge "$work/bad"
refuses 'missing' "$assay" judge "$work/missing"

# Evidence of one party alone: whoever contradicts itself is convicted, and nothing is undecided.
"$assay" judge tests/golden/two_answers.evidence --json >"$work/out" && tail -n1 "$work/out" | grep -q '"verdict":"none","reason":"0: ' ||
  fail "one party that contradicts itself: $(cat "$work/out")"
# Evidence of old is judged as it was (tests/dispute/make_evidence.sh).
"$assay" judge tests/golden/dispute.evidence --json >"$work/out" || fail "golden evidence: $(cat "$work/out")"
expect verdict 0
expect node 31
expect leaf 1

# The same runs as directories, by their own keys and without; they agree with themselves.
"$assay" dispute "$work/honest" "$work/flipped-bit" --key "$work/honest.key" --key "$work/liar.key" --evidence "$work/e" --json --quiet >"$work/out" 2>"$work/err" || fail "dispute of runs: $(cat "$work/err")"
expect verdict a
"$assay" judge "$work/e" >"$work/out" || fail "judge: $(cat "$work/out")"
rm "$work/e"
"$assay" dispute "$work/flipped-bit" "$work/honest" --evidence "$work/e" --json --quiet >"$work/out" 2>"$work/err" || fail "dispute of runs: $(cat "$work/err")"
expect verdict b
"$assay" judge "$work/e" >"$work/out"
[ $? -eq 1 ] || fail "unsigned answers convict: $(cat "$work/out")"
cp -r "$work/honest" "$work/copy"
"$assay" dispute "$work/honest" "$work/copy" --json --quiet >"$work/out" 2>"$work/err" || fail "dispute with a copy: $(cat "$work/err")"
expect verdict both

# A provider that is not there takes no part; alone, nobody disputes.
"$assay" dispute --provider "$liar" --provider "$honest" --provider http://127.0.0.1:9 --patience 3 --json --quiet >"$work/out" 2>"$work/err" || fail "dispute with an absent one"
expect verdict 1
refuses 'two receipts' "$assay" dispute --provider "$honest" --provider http://127.0.0.1:9 --patience 1 --quiet
refuses 'two run directories' "$assay" dispute "$work/honest"
stop
echo "dispute: a liar is convicted over HTTP and from its run; the judge agrees"

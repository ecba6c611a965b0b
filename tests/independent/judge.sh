# Evidence judged by a program in another language that was written from docs/ alone (tests/independent/judge): verdict, place and exit status are those of
# `assay judge`, and what one refuses the other does not believe.
. "$(dirname "$0")/../e2e/lib.sh"
cheat=$2 node=$3
judge() { "$node" tests/independent/judge.mjs "$1" >"$work/theirs" 2>"$work/err"; }
# agrees WHAT FILE: both come to the same.
agrees() {
  local mine theirs
  "$assay" judge "$2" --json >"$work/mine" 2>"$work/err"
  mine=$?
  judge "$2"
  theirs=$?
  [ $mine -eq $theirs ] || fail "$1: assay judge exits with $mine, the other with $theirs: $(cat "$work/mine" "$work/theirs" "$work/err")"
  [ $mine -eq 2 ] && return
  [ "$(field verdict <"$work/mine")" = "$(field verdict <"$work/theirs")" ] || fail "$1: $(cat "$work/mine" "$work/theirs")"
  [ "$(field job_id <"$work/mine")" = "$(field job_id <"$work/theirs")" ] || fail "$1: $(cat "$work/mine" "$work/theirs")"
  grep -q '"unchecked":\[\]' "$work/theirs" || fail "$1: the other judge leaves something unchecked: $(cat "$work/theirs")"
}
agrees "kept evidence" tests/golden/dispute.evidence
agrees "one party that contradicts itself" tests/golden/two_answers.evidence

sed -e 's/^steps = .*/steps = 6/' -e 's/^every = .*/every = 2/' examples/mlp.toml >"$work/job.toml"
for who in honest liar; do "$assay" keygen --out "$work/$who.key" --name "$who" >"$work/out" || fail "keygen"; done
"$assay" train "$work/job.toml" --out "$work/honest" --key "$work/honest.key" --quiet >"$work/out" || fail "train"
for name in flipped-bit wrong-learning-rate flipped-labels rewritten-log replaced-weights skipped-step; do
  "$cheat" "$name" "$work/job.toml" --out "$work/$name" --at 4 --key "$work/liar.key" >"$work/out" || fail "cheat $name"
  rm -f "$work/evidence"
  "$assay" dispute "$work/$name" "$work/honest" --key "$work/liar.key" --key "$work/honest.key" --evidence "$work/evidence" --quiet >"$work/out" 2>"$work/err" ||
    fail "dispute $name: $(cat "$work/out" "$work/err")"
  agrees "$name" "$work/evidence"
  grep -q '"convicted":\[{"label":"a"' "$work/theirs" || fail "$name: the other judge does not convict the liar: $(cat "$work/theirs")"
done
# What a liar makes up about itself: receipts and signatures that two readers could read differently.
mkdir "$work/forged"
"$assay" dispute "$work/honest" "$work/flipped-bit" --key "$work/liar.key" --key "$work/honest.key" --evidence "$work/forged.evidence" --quiet >"$work/out" 2>"$work/err" ||
  fail "dispute: $(cat "$work/out" "$work/err")"
"$node" tests/independent/forged.mjs "$work/forged.evidence" "$work/liar.key" "$work/forged" 2>"$work/err" || fail "forged: $(cat "$work/err")"
for file in "$work"/forged/*.evidence; do agrees "$(basename "$file")" "$file"; done
for good in as-it-is origin-longest snapshots-4294967295 follows-somebody; do
  "$assay" judge "$work/forged/$good.evidence" >"$work/out" 2>"$work/err" || fail "$good: $(cat "$work/out" "$work/err")"
done

# altered WHAT: the last evidence with one byte of it changed, in several places.
altered() {
  local size part
  size=$(stat -c %s "$work/evidence")
  for part in 1 3 5 7 9 11 13 15; do
    cp "$work/evidence" "$work/altered"
    printf '\377' | dd of="$work/altered" bs=1 seek=$((size * part / 16)) conv=notrunc status=none
    agrees "$1 altered at $part/16" "$work/altered"
  done
}
altered "evidence"
"$node" tests/independent/edited.mjs tests/golden/dispute.evidence "$work/evidence" >"$work/out" 2>"$work/err" || fail "edited programs: $(cat "$work/out" "$work/err")"

# A rounded job: values that no correct evaluation has, and what only the rounding logs tell.
{ printf 'precision = "fp64-rounded"\n' && cat "$work/job.toml"; } >"$work/rounded.toml"
if "$assay" train "$work/rounded.toml" --out "$work/rounded" --key "$work/honest.key" --quiet >"$work/out" 2>"$work/err"; then
  for name in flipped-bit wrong-learning-rate replaced-weights skipped-step; do
    "$cheat" "$name" "$work/rounded.toml" --out "$work/rounded-$name" --at 4 --key "$work/liar.key" >"$work/out" 2>"$work/err" || fail "cheat $name, rounded: $(cat "$work/err")"
    rm -f "$work/evidence"
    "$assay" dispute "$work/rounded-$name" "$work/rounded" --key "$work/liar.key" --key "$work/honest.key" --evidence "$work/evidence" --quiet >"$work/out" 2>"$work/err" ||
      fail "dispute $name, rounded: $(cat "$work/out" "$work/err")"
    agrees "$name, rounded" "$work/evidence"
    grep -q '"convicted":\[{"label":"a"' "$work/theirs" || fail "$name, rounded: the other judge does not convict the liar: $(cat "$work/theirs")"
  done
  altered "rounded evidence"
else
  grep -qi openblas "$work/err" || fail "train, rounded: $(cat "$work/err")"
fi
echo "independent: two judges that share no code agree"

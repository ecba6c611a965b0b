# One key with two claims about a rounded job, of which one takes part: a liar that hides its false claim behind a true one wins nothing by it. As long as the false one
# waits the dispute is undecided, and the dispute that is advised convicts it.
. "$(dirname "$0")/../dispute/lib.sh"
job=$work/rounded.toml
{ echo 'precision = "fp64-rounded"'; cat "$work/job.toml"; } >"$job"
keys honest second
unset ASSAY_KEY
"$assay" train "$job" --out "$work/honest" --key "$work/honest.key" --quiet >"$work/out" 2>"$work/err" || {
  grep -qi openblas "$work/err" && { echo "waiting: no OpenBLAS here"; exit 77; }
  fail "train: $(cat "$work/err")"
}
"$cheat" wrong-learning-rate "$job" --out "$work/second" --at 5 --key "$work/second.key" >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
# The claim whose receipt has the least hash takes part. A liar makes keys until that is the one that it wants in front.
hash_of() { sha256sum "$work/$1/receipt.json" | cut -c1-64; }
# liar WHO FIRST SECOND: a key WHO with a true run and a false one, of which the receipt of FIRST (true or false) has the lesser hash.
liar() {
  local who=$1 first=$2 second=$3 try
  for try in $(seq 40); do
    rm -rf "$work/$who.key" "$work/$who.key.pub" "$work/$who-true" "$work/$who-false"
    keys "$who"
    trained "$job" "$work/$who-true" "$work/$who.key"
    "$cheat" flipped-bit "$job" --out "$work/$who-false" --at 7 --key "$work/$who.key" >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
    [ "$(hash_of "$who-$first")" \< "$(hash_of "$who-$second")" ] && return
  done
  fail "$who: no key of 40 puts its $first claim in front"
}
# serve_all WHO: its two claims, at $copy and $false.
serve_all() {
  serve "$1-true" "$assay" provide "$work/$1-true" --key "$work/$1.key" --open-to-all 1000
  copy=$url
  serve "$1-false" "$cheat" flipped-bit "$job" --out "$work/$1-false" --at 7 --key "$work/$1.key" --provide 127.0.0.1:0
  false=$url
}
serve honest "$assay" provide "$work/honest" --key "$work/honest.key" --open-to-all 1000
honest=$url
serve second "$cheat" wrong-learning-rate "$job" --out "$work/second" --at 5 --key "$work/second.key" --provide 127.0.0.1:0
second=$url

# advised: holds the dispute that the last one advises, in which the liar is convicted and an honest one stands.
advised() {
  local command status
  command=$(last | grep -o '"assay dispute [^"]*waiting-[^"]*"' | tr -d '"')
  [ -n "$command" ] || fail "$what: no dispute is advised: $(last)"
  echo "$command" | grep -qF "$honest" || fail "$what: an honest provider is left out: $command"
  echo "$command" | grep -qF "$copy" && fail "$what: the other claim of the key is in the way: $command"
  rm -f "$work"/waiting-*
  (cd "$work" && eval "\"$assay\" ${command#assay } --json --quiet" >"$work/out" 2>"$work/err")
  status=$?
  [ $status -eq 0 ] || fail "$command: exit status $status: $(cat "$work/out" "$work/err")"
  has '"convicted":\[\{"label":"0","name":"[^"]*","key":"liar\+'
  has '"standing":\[\{"label":"1","name":"[^"]*","key":"honest\+'
}

liar liar true false
serve_all liar
disputes "all who take part agree" 3 undecided --job "$job" --provider "$honest" --provider "$copy" --provider "$false"
has '"reason":"2 was not heard: another claim of its key took its place'
has '"convicted":\[\],"accused":\[\]'
has '"refused":\[\{"label":"2"'
advised
# Nor does it help to let a key of no worth be convicted.
disputes "somebody else is convicted" 3 undecided --job "$job" --provider "$copy" --provider "$false" --provider "$second" --provider "$honest"
has '"reason":"1 was not heard: another claim of its key took its place'
has '"convicted":\[\{"label":"2","name":"[^"]*","key":"second\+'
advised
"$assay" dispute --job "$job" --provider "$honest" --provider "$copy" --provider "$false" --quiet >"$work/out" 2>"$work/err"
grep -q "^next        2 ($false) is disputed without the other claims of its key:$" "$work/out" || fail "as text: $(cat "$work/out")"
# With the false claim in front it is convicted at once; what waits behind it leaves nothing open.
liar rash false true
serve_all rash
disputes "the false claim in front" 0 0 --job "$job" --provider "$honest" --provider "$copy" --provider "$false"
has '"convicted":\[\{"label":"2","name":"[^"]*","key":"rash\+'
stop
echo "waiting: a false claim does not hide behind a true one of its key"

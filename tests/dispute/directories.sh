# Disputes of two run directories on one machine: the words of the law, which a judge says too, and after them those of an audit. Answers that nobody signed accuse and do not
# convict; a damaged copy is no party.
. "$(dirname "$0")/lib.sh"
keys honest liar
unset ASSAY_KEY

trained "$work/job.toml" "$work/honest" "$work/honest.key"
sed 's/^seed = .*/seed = 9/' "$work/job.toml" >"$work/other.toml"
trained "$work/other.toml" "$work/other" "$work/honest.key"
"$cheat" replaced-weights "$work/job.toml" --out "$work/file" --key "$work/liar.key" >"$work/out" || fail "cheat"

# Runs whose data is not here: what they promise is compared, and nothing more.
seq 1 400 >"$work/text.txt"
{ echo 'steps = 8' && sed -e '/^steps/d' -e '/^\[data\]/,/^$/s|^kind = .*|&\npath = "text.txt"|' examples/gpt2-tiny.toml; } >"$work/text.toml"
trained "$work/text.toml" "$work/far/one" "$work/honest.key"
trained "$work/text.toml" "$work/far/two" "$work/liar.key"
"$cheat" flipped-bit "$work/text.toml" --out "$work/far/false" --at 2 --key "$work/liar.key" >"$work/out" || fail "cheat"
rm "$work/text.txt"
disputes "the same promise without data" 0 both "$work/far/one" "$work/far/two"
disputes "another promise without data" 3 undecided "$work/far/one" "$work/far/false"
has '"reason":"[^"]*its data is neither at '

# The judge's words, then those of the audit.
sed 's/^every = 2/every = 1/' "$work/job.toml" >"$work/fine.toml"
trained "$work/fine.toml" "$work/true" "$work/honest.key"
"$cheat" wrong-learning-rate "$work/fine.toml" --out "$work/rate" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
"$assay" audit "$work/rate" --json --quiet >"$work/out" 2>"$work/err"
reason=$(last | sed -n 's/.*"reason":"\([^"]*\)",.*/\1/p')
disputes "directories" 0 b "$work/rate" "$work/true" --evidence "$work/e5"
has 'used lr'
said=$(reason_of)
[ "${said%"; an audit of a says: $reason"}" != "$said" ] || fail "the audit says $reason: $(last)"
base=${said%"; an audit of a says: $reason"}
echo "$base" | grep -q '^step 7: liar.s own steps, run again, do not lead to the state that liar signed for after step 7$' || fail "expected words for what cannot be shown: $base"
# Who is accused by answers that nobody signed is called so by both, and both say what such evidence is worth, and how to get other.
has '"convicted":\[\],"accused":\[\{"label":"a"'
has '"proven":false'
worth=$(last | sed -n 's/.*"worth":"\([^"]*\)",.*/\1/p')
echo "$worth" | grep -q 'guilt it does not show.*assay provide.*--key' || fail "nothing is said about the evidence: $(last)"
judges "unsigned answers" 1 "$work/e5"
has '"convicted":\[\],"accused":\[\{"label":"a"'
[ "$(reason_of)" = "$base" ] || fail "the judge says $(reason_of), the dispute $base"
[ "$(last | sed -n 's/.*"worth":"\([^"]*\)",.*/\1/p')" = "$worth" ] || fail "the judge values the evidence otherwise: $(last)"
"$assay" dispute "$work/rate" "$work/true" --evidence "$work/e5-text" --quiet >"$work/out" 2>"$work/err" || fail "directories as text"
grep -qF "$worth" "$work/out" || fail "nothing is said about the evidence: $(cat "$work/out")"
grep -q "^accused     a ($work/rate, key liar+" "$work/out" && ! grep -q '^convicted' "$work/out" || fail "who is accused is not said: $(cat "$work/out")"
grep -q "^verdict     b ($work/true stands)" "$work/out" || fail "who stands is not said by name: $(cat "$work/out")"
"$assay" judge "$work/e5" >"$work/out" 2>"$work/err"
grep -qF "$worth" "$work/out" || fail "what the evidence is worth is not said: $(cat "$work/out")"
refuses 'a run of job' "$assay" dispute "$work/rate" "$work/other"
refuses 'evidence' "$assay" dispute "$work/rate" "$work/true" --evidence "$work/missing/e"
disputes "with keys" 0 b "$work/rate" "$work/true" --key "$work/liar.key" --key "$work/honest.key" --evidence "$work/e6"
has '"convicted":\[\{"label":"a"'
judges "signed answers" 0 "$work/e6"
has '"convicted":\[\{"label":"a"'
[ "$(reason_of)" = "$base" ] || fail "the judge says $(reason_of), the dispute $base"
# A verdict that nobody can read was not given.
if [ -c /dev/full ]; then
  for form in "" --json; do
    "$assay" dispute "$work/rate" "$work/true" --quiet $form >/dev/full 2>"$work/err"
    [ $? -eq 2 ] && grep -q '^assay: standard output: cannot write' "$work/err" || fail "a verdict to a full disk: $(cat "$work/err")"
  done
fi
# How long this machine takes to run steps again is nobody's loss: directories have no clock. Here it takes longer than a provider would have.
sed -e 's/^steps = .*/steps = 3000/' -e 's/^every = 2/every = 1500/' -e 's/^every = 4/every = 0/' "$work/job.toml" >"$work/slow.toml"
trained "$work/slow.toml" "$work/slow" "$work/honest.key"
"$cheat" wrong-learning-rate "$work/slow.toml" --out "$work/slow-rate" --at 2500 --key "$work/liar.key" >"$work/out" || fail "cheat"
for liar in "b $work/slow-rate $work/slow" "a $work/slow $work/slow-rate"; do
  set -- $liar
  patience=0.1 disputes "a slow machine" 0 "$@" --rerun 0
  has '"absent":\[\]'
  has '"accused":\[\{"label":"[ab]"'
done
# Both under one key: what it signs does not tell which run it is about, so it is accused and not convicted, whatever keys are at hand.
"$cheat" wrong-learning-rate "$work/fine.toml" --out "$work/own" --at 7 --key "$work/honest.key" >"$work/out" || fail "cheat"
disputes "one signer" 0 b "$work/own" "$work/true" --key "$work/honest.key" --evidence "$work/e11"
has '"worth":"[^"]*both runs are of one key[^"]*--provider'
has '"assumed":\[[^]]*convict the key in a dispute of providers, and not here'
has '"convicted":\[\],"accused":\[\{"label":"a"'
judges "one signer" 1 "$work/e11"
has '"convicted":\[\],"accused":\[\{"label":"a"'
# Entries further apart than a step: the node, and the rate that the job gives it.
"$cheat" wrong-learning-rate "$work/job.toml" --out "$work/coarse" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
disputes "coarse entries" 0 b "$work/coarse" "$work/honest" --evidence "$work/e7"
said=$(reason_of)
node=$(last | field node)
judges "coarse entries" 1 "$work/e7"
expect node "$node"
has '"reason":"step 8: layers.0.bias is not output 0 of node 39 \(update: sgd of layers.0.bias\); the job gives it lr 0.05"'
[ "${said#"$(reason_of); an audit of a says: "}" != "$said" ] || fail "the judge says $(reason_of), the dispute $said"

# Samples that it admits to, and cannot show.
"$cheat" admitted-order "$work/job.toml" --out "$work/order" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
disputes "other samples" 0 b "$work/order" "$work/honest" --evidence "$work/e10"
has '"reason":"cannot show the batches that it committed to in entry 4 of its log; an audit of a says: [^"]*was run on other samples'
judges "other samples" 1 "$work/e10"
has '"reason":"cannot show the batches that it committed to in entry 4 of its log"'

# A copy that is damaged is no party, whatever keys are at hand: nothing is said against its signer, and nothing for the other.
spoil() {
  local at=$(($(stat -c %s "$1") / 2))
  printf '\377' | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}
for file in id job.bin log/checkpoint log/tile/entries/000.p/7 receipt.json model.safetensors snapshots/step-0000000008.safetensors snapshots/step-0000000012.safetensors; do
  rm -rf "$work/rotten" && cp -r "$work/honest" "$work/rotten"
  spoil "$work/rotten/$file"
  cmp -s "$work/rotten/$file" "$work/honest/$file" && fail "nothing was spoilt: $file"
  for order in "rotten coarse a" "coarse rotten b"; do
    set -- $order
    rm -f "$work/e8"
    disputes "damaged $file" 4 damaged "$work/$1" "$work/$2" --key "$work/honest.key" --key "$work/liar.key" --evidence "$work/e8"
    has "\"reason\":\"$work/rotten is damaged: "
    has '"convicted":\[\],"accused":\[\],"standing":\[\]'
    has "\"damaged\":\[\{\"label\":\"$3\",\"name\":\"$work/rotten\""
    [ ! -e "$work/e8" ] || fail "$what: evidence of no dispute"
  done
done
"$assay" dispute "$work/coarse" "$work/rotten" --quiet >"$work/out" 2>"$work/err"
[ $? -eq 4 ] && grep -q "^reason      $work/rotten is damaged: " "$work/out" || fail "damaged as text: $(cat "$work/out" "$work/err")"
# Parts of two honest runs in one directory, each signed for what it is.
cp -r "$work/honest" "$work/mixed" && cp "$work/other/receipt.json" "$work/mixed/receipt.json"
disputes "the receipt of another job" 4 damaged "$work/mixed" "$work/coarse"
sed 's/^steps = 12/steps = 10/' "$work/job.toml" >"$work/shorter.toml"
trained "$work/shorter.toml" "$work/grown" "$work/honest.key"
cp -r "$work/grown/log" "$work/log"
trained "$work/job.toml" "$work/grown" "$work/honest.key"
rm -rf "$work/grown/log" && cp -r "$work/log" "$work/grown/log"
disputes "an earlier log" 4 damaged "$work/grown" "$work/coarse"
# What was signed and is false is no damage.
disputes "a false file" 0 b "$work/file" "$work/honest"
has '"cause":"weights"'
has '"accused":\[\{"label":"a"'
"$cheat" rewritten-log "$work/job.toml" --out "$work/loss" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
disputes "a false loss" 0 b "$work/loss" "$work/honest" --key "$work/liar.key" --evidence "$work/e9"
has '"convicted":\[\{"label":"a"'
judges "a false loss" 0 "$work/e9"
echo "directories: dispute and judge say the same, and a damaged copy speaks against nobody"

# What verdicts say and whom they name, with real processes: nobody honest is convicted, no liar stands, a draw is no win.
. "$(dirname "$0")/lib.sh"
hostile=$3
keys honest liar second referee stranger
unset ASSAY_KEY

trained "$work/job.toml" "$work/honest" "$work/honest.key"
id=$("$assay" show "$work/honest" --json | field job_id)
"$cheat" flipped-bit "$work/job.toml" --out "$work/liar" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
"$cheat" flipped-labels "$work/job.toml" --out "$work/second" --at 5 --key "$work/second.key" >"$work/out" || fail "cheat"
serve honest "$assay" provide "$work/honest" --key "$work/honest.key" --referee "$work/referee.key.pub"
honest=$url
serve liar "$cheat" flipped-bit "$work/job.toml" --out "$work/liar" --at 7 --key "$work/liar.key" --provide 0
liar=$url

# A referee that the provider names; everybody is named, in the dispute and by the judge.
disputes "a pinned referee" 0 1 --provider "$liar" --provider "$honest" --referee-key "$work/referee.key" --job "$work/job.toml" --evidence "$work/e"
has "\"job_id\":\"$id\""
has '"convicted":\[\{"label":"0","name":"http[^"]*","key":"liar\+[^"]*","why":"[^"]+"'
has '"standing":\[\{"label":"1","name":"http[^"]*","key":"honest\+'
has '"proven":true'
disputes "the order of the list" 0 0 --provider "$honest" --provider "$liar" --referee-key "$work/referee.key" --job "$id"
has '"standing":\[\{"label":"0","name":"http[^"]*","key":"honest\+'
judges "the evidence" 0 "$work/e" --job "$work/job.toml" --signer "$work/liar.key.pub"
has "\"job_id\":\"$id\""
has '"convicted":\[\{"label":"0","name":"liar","key":"liar\+'
has '"assumed":\["that what nobody disputed is true[^]]*"\]'
judges "no job and no signer" 0 "$work/e"
has '"that the job is the one'
has '"that the keys belong'
judges "another signer" 1 "$work/e" --signer "$work/stranger.key.pub"
judges "who stands is not convicted" 1 "$work/e" --signer "$work/honest.key.pub"
judges "another job" 1 "$work/e" --job "$(echo "$id" | tr 0-9a-f 1-9a-f0)"
"$assay" judge "$work/e" --explain >"$work/out" || fail "judge --explain"
grep -q '^convicted   0 (liar, key liar+' "$work/out" && grep -q 'So 0 (liar, key liar+' "$work/out" || fail "nobody is named: $(cat "$work/out")"

refuses "none of them has a run of the job that was asked for, [0-9a-f]{64}: they are runs of job $id" "$assay" dispute --quiet \
  --job "$(echo "$id" | tr 0-9a-f 1-9a-f0)" --provider "$liar" --provider "$honest" --referee-key "$work/referee.key"
head -c 2000 "$work/e" >"$work/cut"
refuses 'cut: not valid evidence: ' "$assay" judge "$work/cut"
refuses 'cut: not valid evidence: ' "$assay" verify "$work/cut"

# Nobody else is answered, whatever it shows; what it was asked and answered says nothing against it.
disputes "a stranger" 3 undecided --provider "$liar" --provider "$honest" --referee-key "$work/stranger.key" --evidence "$work/e0"
has '"reason":"1 was not heard \(.*only referees that are named here'
has '"decided_by":"the provider of 1 [^"]*\(stranger\+[^ )]*\), or names nobody and leaves 3 bouts for strangers'
has '"hear":"1".*"assay provide RUN --key KEY --listen HOST:PORT --referee [^" ]*stranger\+[^" ]*"'
has "\"assay dispute --job $id --provider $liar --provider $honest --referee-key "
has '"absent":\[\{"label":"1".*only referees that are named here'
has_not '"convicted":\[\{'
has_not 'in time'
judges "a stranger" 3 "$work/e0"
grep -Eq '^refused a dispute by referee [A-Za-z0-9+/]{12}: only referees that are named here' "$work/honest.err" || fail "the provider says nothing: $(cat "$work/honest.err")"
# Several who refuse are all named.
serve shut "$assay" provide "$work/second" --key "$work/second.key" --referee "$work/referee.key.pub"
disputes "two who refuse" 3 undecided --provider "$liar" --provider "$honest" --provider "$url" --referee-key "$work/stranger.key"
has '"reason":"1 was not heard \([^"]*; 2 was not heard \('
has '"decided_by":"the provider of 1 [^"]*; and the provider of 2 '
# Two keys of one name are told apart.
"$assay" keygen --out "$work/namesake.key" --name honest >"$work/out" || fail "keygen"
"$cheat" flipped-bit "$work/job.toml" --out "$work/namesake" --at 7 --key "$work/namesake.key" >"$work/out" || fail "cheat"
serve namesake "$cheat" flipped-bit "$work/job.toml" --out "$work/namesake" --at 7 --key "$work/namesake.key" --provide 127.0.0.1:0
disputes "two of one name" 0 1 --provider "$url" --provider "$honest" --referee-key "$work/referee.key" --evidence "$work/names"
judges "two of one name" 0 "$work/names"
has "\"convicted\":\[\{\"label\":\"0\",\"name\":\"$(cut -d+ -f1,2 "$work/namesake.key.pub" | sed 's/+/\\+/')\""
# Convictions among the others stand, and so does what they show.
serve second "$cheat" flipped-labels "$work/job.toml" --out "$work/second" --at 5 --key "$work/second.key" --provide 127.0.0.1:0
disputes "two liars and one who was not heard" 3 undecided --provider "$liar" --provider "$url" --provider "$honest" --referee-key "$work/stranger.key" --evidence "$work/e0b"
has '"convicted":\[\{"label"'
judges "two liars and one who was not heard" 0 "$work/e0b"
[ "$("$hostile" post "$honest" /v1/answer "$work/e")" = 400 ] || fail "evidence is taken for a question"

# Questions that a liar reads are worth nothing to it.
mkdir "$work/record"
serve recorder "$hostile" proxy "$liar" --record "$work/record"
recorder=$url
disputes "a liar listens" 0 1 --provider "$recorder" --provider "$honest" --referee-key "$work/referee.key"
asked=$(ls "$work/record"/*.question | tail -n1)
[ -s "$asked" ] || fail "nothing was recorded"
for at in 20 40 60; do
  cp "$asked" "$work/question"
  printf 'X' | dd of="$work/question" bs=1 seek=$at conv=notrunc status=none
  status=$("$hostile" post "$honest" /v1/answer "$work/question")
  case $status in 400 | 403 | 409) ;; *) fail "a question that the referee did not sign was answered with $status" ;; esac
done

# Receipts of one key that differ in what they do not promise say the same.
sed -e 's/^every = 4/every = 6/' "$work/job.toml" >"$work/snapshots.toml"
printf '[eval]\nevery = 6\nbatches = 1\n' >>"$work/snapshots.toml"
trained "$work/snapshots.toml" "$work/again" "$work/honest.key"
serve again "$assay" provide "$work/again" --key "$work/honest.key"
again=$url
disputes "one key, two snapshot intervals" 0 both --provider "$honest" --provider "$again" --referee-key "$work/referee.key"
has '"convicted":\[\]'
disputes "the same and a liar" 0 0 --provider "$again" --provider "$honest" --provider "$liar" --referee-key "$work/referee.key"

# A claim for another job is refused, and guilty of nothing; the first in the list does not choose the job.
sed 's/^seed = .*/seed = 9/' "$work/job.toml" >"$work/other.toml"
trained "$work/other.toml" "$work/other" "$work/stranger.key"
serve other "$assay" provide "$work/other" --key "$work/stranger.key"
other=$url
disputes "another job" 0 2 --provider "$other" --provider "$liar" --provider "$honest" --referee-key "$work/referee.key" --job "$id" --evidence "$work/e2"
has '"refused":\[\{"label":"0","name":"http[^"]*","key":"stranger\+[^"]*","why":"[^"]*job'
last | sed 's/.*"convicted":\[\([^]]*\)\].*/\1/' | grep -q stranger && fail "a claim for another job is convicted: $(last)"
grep -q stranger "$work/e2" && fail "a claim for another job is in the evidence"
disputes "only one claim about the job" 3 undecided --provider "$other" --provider "$honest" --referee-key "$work/referee.key" --job "$id" --evidence "$work/e2b"
has '"reason":"there is only one claim about this job, and nobody contradicts it"'
last | grep -q 'agree on' && fail "one claim agrees with itself: $(last)"
judges "evidence of one claim" 3 "$work/e2b" --explain
has '"verdict":"undecided","reason":"there is only one claim about this job, and nobody contradicts it"'
has '"retelling":\{"job":"[0-9a-f]*","verdict":"undecided"'
last | grep -q '"assumed":\[.*agree on' && fail "a judge has one claim agree with itself: $(last)"
"$assay" verify "$work/e2b" --json >"$work/out"
[ $? -eq 3 ] && grep -q '"assumed":\[\]' "$work/out" || fail "verify of evidence of one claim: $(cat "$work/out")"
refuses 'different jobs.*--job' "$assay" dispute --provider "$other" --provider "$honest" --referee-key "$work/referee.key" --patience 5

# The delivered file: one state, two files.
"$cheat" replaced-weights "$work/job.toml" --out "$work/file" --key "$work/liar.key" >"$work/out" || fail "cheat"
serve file "$assay" provide "$work/file" --key "$work/liar.key"
disputes "a false file" 0 1 --provider "$url" --provider "$honest" --referee-key "$work/referee.key" --evidence "$work/e3"
has '"cause":"weights"'
judges "a false file" 0 "$work/e3"
# A copy that goes bad while it is provided is answered for as it was; one that has gone bad is not provided.
cp -r "$work/honest" "$work/rotten"
serve file "$assay" provide "$work/file" --key "$work/liar.key"
file=$url
serve rotten "$assay" provide "$work/rotten" --key "$work/honest.key"
at=$(($(stat -c %s "$work/rotten/model.safetensors") - 2))
printf '\377' | dd of="$work/rotten/model.safetensors" bs=1 seek=$at conv=notrunc status=none
cmp -s "$work/rotten/model.safetensors" "$work/honest/model.safetensors" && fail "nothing was spoilt"
disputes "a copy that goes bad" 0 1 --provider "$file" --provider "$url" --referee-key "$work/referee.key"
has '"convicted":\[\{"label":"0"'
"$assay" provide "$work/rotten" --key "$work/honest.key" >"$work/out" 2>"$work/err" </dev/null
[ $? -eq 4 ] && grep -q 'is damaged, and cannot be answered for' "$work/err" || fail "a rotten copy is provided: $(cat "$work/out" "$work/err")"
"$assay" verify "$work/honest/model.safetensors" --receipt "$work/honest/receipt.json" >"$work/out" || fail "verify: $(cat "$work/out")"
"$assay" verify "$work/file/model.safetensors" --receipt "$work/honest/receipt.json" >"$work/out"
[ $? -eq 1 ] || fail "verify: a false file passes: $(cat "$work/out")"

# Starting weights from a file: decided by who has the job and the file, undecided by who has not.
cp "$work/honest/model.safetensors" "$work/start.safetensors"
printf '[init]\nweights = "%s"\n' "$work/start.safetensors" >"$work/init"
{ cat "$work/job.toml" "$work/init"; } >"$work/from.toml"
trained "$work/from.toml" "$work/from" "$work/honest.key"
"$cheat" forged-start "$work/from.toml" --out "$work/forged" --key "$work/liar.key" >"$work/out" || fail "cheat: $(cat "$work/out")"
serve from "$assay" provide "$work/from" --key "$work/honest.key"
from=$url
serve forged "$cheat" forged-start "$work/from.toml" --out "$work/forged" --key "$work/liar.key" --provide 127.0.0.1:0
disputes "starting weights, no file" 3 undecided --provider "$url" --provider "$from" --evidence "$work/open"
said=$(reason_of)
has '"reason":"[^"]*file of weights'
has '"decided_by":"[^"]*--job'
has '"convicted":\[\]'
judges "why it was left open" 3 "$work/open"
[ "$(reason_of)" = "$said" ] || fail "the judge says $(reason_of), the dispute $said"
has '"decided_by":"[^"]*--job'
judges "why it was left open, by who has the file" 3 "$work/open" --job "$work/from.toml"
[ "$(reason_of)" = "$said" ] || fail "the judge says $(reason_of), the dispute $said"
has '"convicted":\[\]'
disputes "starting weights, the file" 0 1 --provider "$url" --provider "$from" --job "$work/from.toml" --evidence "$work/e4"
judges "starting weights, no file" 3 "$work/e4"
judges "starting weights, the file" 0 "$work/e4" --job "$work/from.toml"
stop

# Evidence is not overwritten, and that is said before anybody is asked.
sed 's/^every = 2/every = 1/' "$work/job.toml" >"$work/fine.toml"
trained "$work/fine.toml" "$work/true" "$work/honest.key"
"$cheat" wrong-learning-rate "$work/fine.toml" --out "$work/rate" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
disputes "directories" 0 b "$work/rate" "$work/true" --evidence "$work/e5"
cp "$work/e5" "$work/kept"
refuses 'e5: exists already and is not overwritten; choose another name' "$assay" dispute "$work/rate" "$work/true" --evidence "$work/e5"
: >"$work/e6.2"
refuses 'e6.2: exists already and is not overwritten; choose another name' "$assay" dispute "$work/rate" "$work/true" --evidence "$work/e6"
refuses 'e5: exists already' "$assay" dispute --provider http://127.0.0.1:1 --provider http://127.0.0.1:2 --evidence "$work/e5"
cmp "$work/e5" "$work/kept" || fail "evidence was overwritten"
refuses 'expected a file in a folder that exists' "$assay" dispute "$work/rate" "$work/true" --evidence "$work/missing/e"
refuses '^assay: --evidence /proc/self/fdinfo/e: cannot create' "$assay" dispute "$work/rate" "$work/true" --evidence /proc/self/fdinfo/e
# Should the place go away meanwhile, that does not cost the verdict.
serve true "$assay" provide "$work/true" --key "$work/honest.key"
serve slow "$hostile" proxy "$url" --delay 100
honest=$url
serve rate "$cheat" wrong-learning-rate "$work/fine.toml" --out "$work/rate" --at 7 --key "$work/liar.key" --provide 127.0.0.1:0
mkdir "$work/gone"
"$assay" dispute --provider "$url" --provider "$honest" --evidence "$work/gone/e" --json >"$work/out" 2>"$work/err" </dev/null &
dispute=$!
for ((i = 0; i < 200; ++i)); do grep -q '^steps ' "$work/err" && break; sleep 0.05; done
rm -r "$work/gone"
wait $dispute
[ $? -eq 2 ] && [ "$(last | field verdict)" = 1 ] || fail "evidence that cannot be written: $(cat "$work/out" "$work/err")"
has '"evidence":null'
grep -q '^assay: .*gone/e: .*; the verdict stands, and there is no evidence of it$' "$work/err" || fail "evidence that cannot be written: $(cat "$work/err")"
stop

# Nobody can repeat a vendor's plain FP32: it is not disputed.
{ echo 'precision = "fp32-vendor"'; cat "$work/job.toml"; } >"$work/vendor.toml"
if "$assay" train "$work/vendor.toml" --out "$work/vendor" --key "$work/honest.key" --quiet >"$work/out" 2>&1; then
  cp -r "$work/vendor" "$work/vendor-too"
  refuses 'fp32-vendor' "$assay" dispute "$work/vendor" "$work/vendor-too"
  refuses 'fp32-vendor' "$assay" provide "$work/vendor" --key "$work/honest.key"
fi
echo "verdicts: everybody is named, a draw is undecided, and only contradictions convict"

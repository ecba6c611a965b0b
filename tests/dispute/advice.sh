# What a dispute advises where somebody was not heard: it names whoever the question is open about, at the address that refused, and following it never drops an honest
# provider. And many receipts of one key with one promise count once.
. "$(dirname "$0")/lib.sh"
hostile=$3
keys honest twin liar second referee
snapshots() { sed "/^\[snapshot\]/,\$s/^every = .*/every = $1/" "$work/job.toml" >"$work/job$1.toml"; }
undecided() { what=$1; shift; disputes "$what" 3 undecided --job "$work/job.toml" --referee-key "$work/referee.key" "$@"; }
# The URL that an advice is about.
name_of() { last | sed -n 's/.*"next":\[{[^}]*"name":"\([^"]*\)".*/\1/p'; }

for who in honest twin; do trained "$work/job.toml" "$work/$who" "$work/$who.key"; done
serve honest "$assay" provide "$work/honest" --key "$work/honest.key"
honest=$said

# One key, one promise, eight receipts that differ in how often snapshots were kept: two parties, for which the honest one has enough.
liars=
for every in 2 4 6 8 10 12 14 16; do
  snapshots $every
  "$cheat" wrong-learning-rate "$work/job$every.toml" --out "$work/liar$every" --at 7 --key "$work/liar.key" >"$work/out" || fail "cheat"
  serve liar$every "$assay" provide "$work/liar$every" --key "$work/liar.key" --open-to-all 100
  liars="$liars --provider $said"
done
liar=$said
[ "$(sha256sum "$work"/liar*/receipt.json | cut -c1-64 | sort -u | wc -l)" -eq 8 ] || fail "the receipts are the same"
disputes "one key at eight addresses" 0 0 --job "$work/job.toml" --provider "$honest" $liars
grep -q 'not named here: 3 bouts set aside, 13 left' "$work/honest.err" || fail "$(cat "$work/honest.err")"

# Three parties, and too little left for them: the honest one is to be asked alone, by the command that is advised.
"$cheat" wrong-learning-rate "$work/job.toml" --out "$work/second" --at 7 --key "$work/second.key" >"$work/out" || fail "cheat"
serve second "$assay" provide "$work/second" --key "$work/second.key" --open-to-all 100
second=$said
serve closed "$assay" provide "$work/honest" --key "$work/honest.key" --open-to-all 4
closed=$said
undecided "too little is left" --provider "$liar" --provider "$second" --provider "$closed"
has '"reason":"2 was not heard'
has_not 'list without'
has "\"decided_by\":\"the provider of 2 \($closed\), if it names this referee's public key \(referee\+[^ ]*\), or names nobody and leaves 5 bouts for strangers \(--open-to-all\); or a dispute of 2 with one other alone"
has '"referee":"referee\+'
[ "$(name_of)" = "$closed" ] || fail "$what: the advice is about $(name_of): $(last)"
command=$(last | grep -o '"assay dispute [^"]*heard-2-0[^"]*"' | tr -d '"')
[ -n "$command" ] || fail "$what: no dispute of two is advised: $(last)"
(cd "$work" && eval "\"$assay\" ${command#assay } --json --quiet" >"$work/out" 2>"$work/err") || fail "$command: $(cat "$work/out" "$work/err")"
expect verdict 0
# And by naming the referee, which is the other thing that is advised.
serve named "$assay" provide "$work/honest" --key "$work/honest.key" --referee "$work/referee.key.pub"
disputes "who names the referee" 0 2 --job "$work/job.toml" --referee-key "$work/referee.key" --provider "$liar" --provider "$second" --provider "$said"

# Of two there is nobody to leave out, and no smaller dispute.
undecided "one of two refuses" --provider "$liar" --provider "$closed"
has_not 'list without|one other alone|"by":"'
[ "$(name_of)" = "$closed" ] || fail "$what: the advice is about $(name_of): $(last)"

# Who was not heard and claims the same as one who stands leaves nothing open.
serve twin "$assay" provide "$work/twin" --key "$work/twin.key" --open-to-all 0
twin=$said
grep -q '^refuses every dispute: the smallest takes 3 bouts, 0 are left' "$work/twin.err" || fail "$(cat "$work/twin.err")"
serve shut "$assay" provide "$work/liar8" --key "$work/liar.key" --referee "$work/twin.key.pub"
shut=$said
serve free "$assay" provide "$work/honest" --key "$work/honest.key" --open-to-all 100
free=$said
undecided "two refuse, one of whom matters" --provider "$twin" --provider "$free" --provider "$shut"
has '"reason":"2 was not heard .*only referees that are named here'
[ "$(name_of)" = "$shut" ] || fail "$what: the advice is about $(name_of): $(last)"

# The address that refused for want of budget, not another of the same claim.
serve poser "$hostile" proxy "$free" --withhold /v1/answer
poser=$said
patience=3 undecided "a poser comes first" --provider "$liar" --provider "$second" --provider "$poser" --provider "$closed"
has '"reason":"3 was not heard'
[ "$(name_of)" = "$closed" ] || fail "$what: the advice is about $(name_of): $(last)"
# Where the poser alone refuses, and the provider itself is busy, it is the poser that can be left out.
serve poser "$hostile" proxy "$free" --withhold /v1/dispute
poser=$said
serve mute "$hostile" proxy "$free" --only /v1/answer --busy-seconds 1000
patience=3 undecided "a poser refuses for one who is busy" --provider "$liar" --provider "$said" --provider "$poser"
has "\"decided_by\":\"a list without $poser, which refuses"

# A file that appears while the dispute is held is not overwritten, and the verdict is told all the same.
what="evidence in the way"
serve slow "$hostile" proxy "$free" --delay 300
"$assay" dispute --job "$work/job.toml" --provider "$liar" --provider "$said" --evidence "$work/late" --json >"$work/out" 2>"$work/err" </dev/null &
held=$!
for try in $(seq 400); do [ -s "$work/err" ] && break; sleep 0.05; done
echo mine >"$work/late"
wait $held
status=$?
[ $status -eq 2 ] || fail "$what: exit status $status: $(cat "$work/out" "$work/err")"
expect verdict 1
has '"evidence":null'
[ "$(cat "$work/late")" = mine ] || fail "$what: it was overwritten"
grep -q "late: exists already and is not overwritten; the verdict stands" "$work/err" || fail "$what: $(cat "$work/err")"
refuses 'evidence: expected a name' "$assay" dispute --provider "$liar" --provider "$free" --evidence ""
stop
echo "advice: who was not heard is named, and nobody honest is left out"

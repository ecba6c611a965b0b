# Cross-examination between processes: a liar that first takes a close call otherwise is undecided against an honest run, and loses to a run that follows it over
# HTTP, by the commands that the dispute names. Who withholds its log, or hands out another than it signed for, is not followed, and told so.
. "$(dirname "$0")/../dispute/lib.sh"
hostile=$3
job=$work/job.toml
sed -e 's/^steps = .*/steps = 12/' examples/gpt2-tiny-rounded.toml >"$job"
sed -i -e '/^\[commit\]/,/^every/s/^every = .*/every = 2/' -e '/^\[snapshot\]/,/^every/s/^every = .*/every = 4/' "$job"
keys honest liar third fourth other

last() { tail -n1 "$work/out"; }
expect() { [ "$(last | field "$1")" = "$2" ] || fail "$what: expected $1 $2: $(last) $(cat "$work/err")"; }
has() { last | grep -qF -- "$1" || fail "$what: expected $1: $(last) $(cat "$work/err")"; }
# dispute STATUS URL...: between these providers.
dispute() {
  local status=$1 url
  shift
  set -- $(for url in "$@"; do echo --provider "$url"; done)
  rm -f "$work/evidence"
  "$assay" dispute --job "$job" "$@" --evidence "$work/evidence" --json --quiet >"$work/out" 2>"$work/err"
  [ $? -eq "$status" ] || fail "$what: expected status $status: $(cat "$work/out" "$work/err")"
}
# convicted NAME: it alone is.
convicted() { [ "$(last | grep -o '"convicted":\[[^]]*\]' | grep -o '"label"' | wc -l)" -eq 1 ] && last | grep -q "\"convicted\":\[{[^]]*\"key\":\"$1+" || fail "$what: expected $1 convicted: $(last)"; }
nobody() { has '"convicted":[],"accused":[]'; }
# judged STATUS: the judge of the evidence gives the last dispute's reason, and says what would decide it.
judged() {
  local reason decided
  reason=$(last | sed -n 's/.*"reason":"\([^"]*\)",.*/\1/p') decided=$(last | sed -n 's/.*"decided_by":"\([^"]*\)",.*/\1/p')
  [ -n "$reason" ] && [ -n "$decided" ] || fail "$what: no reason: $(last)"
  "$assay" judge "$work/evidence" --json >"$work/out" 2>"$work/err"
  [ $? -eq "$1" ] || fail "$what: judge: expected status $1: $(cat "$work/out" "$work/err")"
  expect verdict undecided
  has "\"reason\":\"$reason\",\"decided_by\":\"$decided\""
}
# cannot WHY URL: following it ends with these words.
cannot() {
  "$assay" train "$job" --out "$work/refused" --follow "$2" --patience 2 --quiet >"$work/out" 2>"$work/err" </dev/null
  [ $? -eq 2 ] || fail "expected that $2 cannot be followed: $(cat "$work/out" "$work/err")"
  tail -n1 "$work/err" | grep -Eq "^assay: $2: .*($1)" || fail "expected /$1/: $(cat "$work/err")"
  [ ! -e "$work/refused/receipt.json" ] || fail "a receipt for what was refused"
}

export ASSAY_KEY=$work/honest.key
"$assay" train "$job" --out "$work/honest" --quiet --threads 1 >"$work/out" 2>"$work/err" </dev/null || {
  grep -qi openblas "$work/err" && skip "OpenBLAS is not installed"
  fail "train: $(cat "$work/err")"
}
ASSAY_KEY=$work/liar.key "$cheat" close-call "$job" --out "$work/liar" --at 8 >"$work/out" 2>"$work/err" || fail "cheat: $(cat "$work/err")"
serve honest "$assay" provide "$work/honest" --open-to-all 1000
honest=$url
ASSAY_KEY=$work/liar.key serve liar "$cheat" close-call "$job" --out "$work/liar" --at 8 --provide 127.0.0.1:0
liar=$url

what="an honest run and a liar"
dispute 3 "$honest" "$liar"
expect verdict undecided
nobody
has '"next":[{"follow":"0"'
has "\"commands\":[\"assay train $job --follow $liar --out followed-1\""
has "\"assay dispute --job $job --provider $liar --provider http://HOST:PORT"
judged 3
has 'can be rounded either way'
"$assay" dispute --job "$job" --provider "$honest" --provider "$liar" --quiet >"$work/out" 2>"$work/err"
grep -q '^next        0, or whoever doubts 1, follows 1 and disputes it again:$' "$work/out" || fail "$what: $(cat "$work/out")"
train=$(sed -n "s/^ *assay \(train .* --follow .* --out followed-1\)$/\1/p" "$work/out")
[ -n "$train" ] || fail "$what: no command to follow 1: $(cat "$work/out")"

# Interrupted on the way, from a liar that is slow, busy, and not always there, and taken up again by the command that was named.
what="following the liar"
serve slow "$hostile" proxy "$liar" --delay 40 --busy 3
slow=$url
ASSAY_KEY=$work/third.key "$assay" train "$job" --out "$work/third" --follow "$slow" --quiet >"$work/out" 2>"$work/err" </dev/null &
follower=$!
for try in $(seq 400); do
  [ -e "$work/third/snapshots/step-0000000004.safetensors" ] && break
  sleep 0.02
done
kill -INT $follower
wait $follower
[ $? -eq 130 ] || fail "$what: not interrupted: $(cat "$work/out" "$work/err")"
[ ! -e "$work/third/receipt.json" ] || fail "$what: finished before it was interrupted"
(
  cd "$work" && ln -s third followed-1 &&
    ASSAY_KEY=$work/third.key "$assay" $train --json 2>"$work/err" </dev/null >"$work/out"
) || fail "$what: $(cat "$work/out" "$work/err")"
[ "$(last | field resumed_from)" -ge 4 ] || fail "$what: $(last)"
has "\"follows\":{\"run\":\"$liar\",\"signer\":\"liar+"
expect agrees false
expect differs_from 7
expect differs_to 8
grep -q 'one of the steps 7 to 8: .* says otherwise' "$work/err" || fail "$what: $(cat "$work/err")"
"$assay" audit "$work/third" --json --quiet >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/out" "$work/err")"
"$assay" fsck "$work/third" >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/out" "$work/err")"
ASSAY_KEY=$work/third.key serve third "$assay" provide "$work/third" --open-to-all 1000
third=$url

what="a follower and the liar"
for order in "$third $liar" "$liar $third"; do
  dispute 0 $order
  convicted liar
  expect step 8
  expect cause input
  "$assay" judge "$work/evidence" --signer "$work/liar.key.pub" --job "$job" --json >"$work/out" 2>"$work/err" || fail "$what: judge: $(cat "$work/out" "$work/err")"
  expect convicts true
done
what="all three"
dispute 3 "$honest" "$third" "$liar"
convicted liar
expect verdict undecided
# Asked about guilt, the judge has an answer (0); asked who is right, the dispute has none (3). Both say both.
judged 0
convicted liar
"$assay" judge "$work/evidence" --signer "$work/liar.key.pub" --json >"$work/out" 2>"$work/err" || fail "$what: judge: $(cat "$work/out" "$work/err")"
what="an honest run and the follower of a liar"
dispute 3 "$honest" "$third"
nobody

# Two honest runs, as of machines that differ. Each is followed and agrees with who followed it to the end; nobody is guilty of what they decided otherwise.
what="honest runs that follow each other"
ASSAY_KEY=$work/other.key "$cheat" only-close-call "$job" --out "$work/other" --at 8 >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/err")"
"$assay" audit "$work/other" --json --quiet >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/out" "$work/err")"
ASSAY_KEY=$work/other.key serve other "$assay" provide "$work/other" --open-to-all 1000
other=$url

# The same runs as directories. A lie that comes after a close call is found by an audit on the spot, which is no evidence.
what="a liar's directory behind a close call"
"$assay" dispute "$work/liar" "$work/honest" --evidence "$work/of-directories" --json --quiet >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/out" "$work/err")"
expect verdict b
expect proven false
has '"convicted":[],"accused":[{"label":"a"'
has 'can be rounded either way, and each rounding log says how its run did; an audit of a refutes it: step 8: '
has '"why":"an audit refutes it, which is no evidence for a judge: step 8: '
has '; the difference arose in one of the steps 7 to 8"'
has '"found":"verified"'
"$assay" judge "$work/of-directories" --json >"$work/out" 2>"$work/err"
[ $? -eq 3 ] || fail "$what: judge: $(cat "$work/out" "$work/err")"
nobody
what="directories of honest runs"
"$assay" dispute "$work/other" "$work/honest" --json --quiet >"$work/out" 2>"$work/err"
[ $? -eq 3 ] || fail "$what: $(cat "$work/out" "$work/err")"
expect verdict undecided
nobody
has 'audits of both from step 1 on hold: both can be right'

what="honest runs that follow each other"
for pair in "third other $other" "fourth honest $honest"; do
  set -- $pair
  ASSAY_KEY=$work/$1.key "$assay" train "$job" --out "$work/follows-$2" --follow "$3" --json --quiet >"$work/out" 2>"$work/err" </dev/null || fail "$what: $(cat "$work/err")"
  expect agrees true
  ASSAY_KEY=$work/$1.key serve "follows-$2" "$assay" provide "$work/follows-$2"
  dispute 0 "$3" "$url"
  expect verdict both
  eval "follows_$2=\$url"
done
dispute 3 "$honest" "$other" "$follows_other" "$follows_honest"
expect verdict undecided
nobody
has '"follow":"0"'
has '"followed_by":"2"'
has '"followed_by":"3"'

# Two runs of one key: one of them takes part. Where that one cannot be reached the other was not heard, and nobody wins by it.
what="one key, two runs"
ASSAY_KEY=$work/honest.key "$cheat" only-close-call "$job" --out "$work/again" --at 8 >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/err")"
ASSAY_KEY=$work/honest.key serve again "$assay" provide "$work/again"
again=$url
"$assay" dispute --job "$job" --provider "$honest" --provider "$again" --provider "$liar" --json --quiet >"$work/out" 2>"$work/err"
has '"refused":[{"label":'
if last | grep -qF '"refused":[{"label":"0"'; then set -- "$honest" "$again"; else set -- "$again" "$honest"; fi
serve mute "$hostile" proxy "$2" --withhold /v1/dispute
dispute 3 "$1" "$url" "$liar"
expect verdict undecided
has 'was not heard: another claim of its key took its place, and gave no answer'
nobody

# A liar that does not show what it signed for.
serve withholding "$hostile" proxy "$liar" --withhold /v1/rounding-log/5/
cannot 'does not show the rounding log of step 5 \(status 404: nothing here\): it cannot be followed' "$url"
[ -e "$work/refused/snapshots/step-0000000004.safetensors" ] || fail "what was trained before a log was withheld is lost"
serve altering "$hostile" proxy "$liar" --alter /v1/rounding-log/5/
cannot 'what it hands out as the rounding log of step 5 is not the one that its signed log commits to: it cannot be followed, and does not show what its receipt commits to' "$url"
serve leaves "$hostile" proxy "$liar" --alter /v1/roundings/4/
cannot 'the rounding logs of steps 7 to 8 are not the ones that its signed log commits to' "$url"
serve log "$hostile" proxy "$liar" --alter /v1/log/
cannot 'log' "$url"
serve none "$hostile" proxy "$liar" --withhold /v1/log/
cannot 'does not show its log' "$url"
serve receipt "$hostile" proxy "$liar" --alter /v1/receipt
cannot 'receipt' "$url"
serve gone "$hostile" proxy "$liar" --busy-seconds 60
cannot 'does not show its receipt \(status 503: busy\)' "$url"
cannot 'cannot connect' http://127.0.0.1:1
# The run that was refused so often ends well once its liar shows its log, since nothing that was refused was used.
"$assay" train "$job" --out "$work/refused" --follow "$liar" --json --quiet >"$work/out" 2>"$work/err" </dev/null || fail "after refusals: $(cat "$work/err")"
what="after refusals"
expect differs_to 8

stop
echo "follow: a liar that hides behind a close call loses to whoever follows it"

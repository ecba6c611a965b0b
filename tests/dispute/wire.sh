# Disputes between real processes while somebody means them no good: an honest provider that is held up, cut off or told to be busy still takes part, and two
# liars with one claim do not win for lack of it.
. "$(dirname "$0")/lib.sh"
hostile=$3
keys honest liar second early

# try WHAT URL [OPTION...]: two liars and the honest provider at that address; it must be the one that stands.
try() {
  what=$1
  shift
  "$assay" dispute --job "$work/job.toml" --provider "$liar" --provider "$second" --provider "$@" --patience 20 --json --quiet >"$work/out" 2>"$work/err" ||
    fail "$what: exit status $?: $(cat "$work/out" "$work/err")"
  expect verdict 2
  ! grep -q 'takes no part' "$work/err" || fail "$what: $(cat "$work/err")"
}

# ends WHAT STATUS VERDICT ARGS...: within ten seconds, whatever time is given for answers.
ends() {
  what=$1
  local status=$2 verdict=$3 got
  shift 3
  timeout 10 "$assay" dispute --job "$work/job.toml" "$@" --patience 60 --json --quiet >"$work/out" 2>"$work/err"
  got=$?
  [ $got -eq "$status" ] || fail "$what: exit status $got, expected $status: $(cat "$work/out" "$work/err")"
  [ -z "$verdict" ] || expect verdict "$verdict"
}

ASSAY_KEY=$work/honest.key "$assay" train "$work/job.toml" --out "$work/honest" --quiet >"$work/out" || fail "train"
ASSAY_KEY=$work/honest.key serve honest "$assay" provide "$work/honest" --open-to-all 1000
honest=$said
for who in liar second; do
  export ASSAY_KEY=$work/$who.key
  serve "$who" "$cheat" wrong-learning-rate "$work/job.toml" --out "$work/$who" --at 7 --provide 127.0.0.1:0
  unset ASSAY_KEY
  eval "$who=\$said"
done
try "nobody interferes" "$honest"

# Connections that are held and do nothing useful, from one address, from the referee's own, and from many.
for hold in "silent 1" "silent 0" "silent 200" "header 100" "body 100" "asked 100" "unread 100"; do
  set -- $hold
  start hold 'holding ' "$hostile" hold "$honest" --words "$1" --hosts "$2" --count 300 --seconds 60
  try "300 connections held, $1, from $2 addresses" "$honest"
  kill $pid && wait $pid 2>/dev/null
  servers=${servers% "$pid"}
done

# Not there at first, or only now and then.
serve busy "$hostile" proxy "$honest" --busy-seconds 5
try "busy for five seconds" "$said"
serve often "$hostile" proxy "$honest" --busy 7
try "busy for seven requests" "$said"
serve later "$hostile" proxy "$honest" --busy 1 --retry-after 999999
SECONDS=0
try "busy, and to be left alone for days" "$said"
[ $SECONDS -ge 4 ] || fail "who asks to be left alone is asked again after $SECONDS s"
serve dropping "$hostile" relay "$honest" --drop 5
try "five connections cut" "$said"
serve silent "$hostile" relay "$honest" --drop 0 --drop-seconds 4
try "every connection cut for four seconds" "$said"
serve slow "$hostile" proxy "$honest" --delay 100
try "slow" "$said"

# A referee that is stopped (Ctrl-Z) for longer than anybody has time, while it waits for the honest provider alone: that time is charged to nobody.
stopped() {  # SECONDS before it is stopped
  "$assay" dispute --job "$work/job.toml" --provider "$liar" --provider "$second" --provider "$said" --patience 6 --rerun 0 --json --quiet >"$work/out" 2>"$work/err" </dev/null &
  local referee=$!
  sleep "$1"
  kill -STOP $referee && sleep 8 && kill -CONT $referee
  wait $referee || fail "a referee that was stopped after $1 s: exit status $?: $(cat "$work/out" "$work/err")"
  what="a referee that was stopped after $1 s"
  expect verdict 2
  has '"absent":\[\]'
}
serve slow "$hostile" proxy "$honest" --delay 300
stopped 0.15
stopped 1

# Somebody hands out the honest receipt and refuses every dispute: that says nothing about the provider's own address.
serve poser "$hostile" proxy "$honest" --withhold /v1/dispute
try "a poser refuses, named after the honest provider" "$honest" --provider "$said"
try "a poser refuses, named before the honest provider" "$said" --provider "$honest"

# A provider that would have to refuse the dispute, and a poser that opens it in its place and answers nothing: nobody wins by that.
ASSAY_KEY=$work/honest.key serve closed "$assay" provide "$work/honest" --open-to-all 4
closed=$said
serve poser "$hostile" proxy "$honest" --withhold /v1/answer
ends "a poser opens what the provider refuses" 3 undecided --provider "$liar" --provider "$second" --provider "$closed" --provider "$said"
has '"reason":"2 was not heard'

# Promptly: what is refused for good, answered under another key, or spoken in another protocol is not waited for.
ends "too little is left for three receipts" 3 undecided --provider "$liar" --provider "$second" --provider "$closed"
has 'a dispute of 3 parties may take 5 bouts; left for referees that are not named here: 4'
ends "enough is left for two" 0 1 --provider "$liar" --provider "$closed"
grep -q '^opened a dispute by referee .*, who is not named here: 3 bouts set aside, 1 left$' "$work/closed.err" || fail "$(cat "$work/closed.err")"
ends "nothing is left" 3 undecided --provider "$liar" --provider "$closed"
ASSAY_KEY=$work/early.key "$cheat" stopped-early "$work/job.toml" --out "$work/early" --at 7 >"$work/out" || fail "cheat"
ASSAY_KEY=$work/early.key serve early "$cheat" stopped-early "$work/job.toml" --out "$work/early" --at 7 --provide 127.0.0.1:0
ends "who cannot answer" 0 0 --provider "$honest" --provider "$said"
has '"absent":\[\{"label":"1".*"why":"refused to answer about'
has_not 'in time'
ends "who cannot answer, at two addresses" 0 0 --provider "$honest" --provider "$said" --provider "${said/127.0.0.1/localhost}"
serve borrowed "$hostile" proxy "$liar" --instead "/v1/receipt=$work/honest/receipt.json"
ends "the receipt of another" 3 undecided --provider "$second" --provider "$said"
has '"reason":"1 was not heard .*our receipt takes no part'
serve spoilt "$hostile" proxy "$honest" --alter /v1/answer
ends "answers that its key has not signed" 3 undecided --provider "$liar" --provider "$said"
has '"reason":"1 was not heard .*not signed by the key of the receipt'
ends "https where http is spoken" 2 "" --provider "$liar" --provider "https${honest#http}"
grep -q 'does the server speak https' "$work/err" || fail "$(cat "$work/err")"
"$assay" dispute --provider "$liar" --provider http://127.0.0.1:9 --patience 2 >"$work/out" 2>"$work/err"
grep -q '^waiting for http://127.0.0.1:9' "$work/err" || fail "it is not said who is waited for: $(cat "$work/err")"
cp -r "$work/honest" "$work/mixed" && cp "$work/liar/receipt.json" "$work/mixed/receipt.json"
damaged() {  # DIRECTORY: nobody answers for it.
  "$assay" provide "$1" --key "$work/honest.key" >"$work/out" 2>"$work/err" </dev/null
  [ $? -eq 4 ] && grep -q "^assay: $1: is damaged, and cannot be answered for: " "$work/err" || fail "provide of a damaged copy: $(cat "$work/out" "$work/err")"
}
damaged "$work/mixed"
cp -r "$work/honest" "$work/rotten" && cp "$work/liar/model.safetensors" "$work/rotten/model.safetensors"
damaged "$work/rotten"
# A run that is trained further while it is provided is answered for as it was.
cp -r "$work/honest" "$work/longer"
ASSAY_KEY=$work/honest.key serve longer "$assay" provide "$work/longer"
sed 's/^steps = 12/steps = 14/' "$work/job.toml" >"$work/longer.toml"
"$assay" train "$work/longer.toml" --out "$work/longer" --key "$work/honest.key" --quiet >"$work/out" 2>&1 || fail "train: $(cat "$work/out")"
"$cheat" replaced-weights "$work/job.toml" --out "$work/weights" --key "$work/liar.key" >"$work/out" || fail "cheat"
longer=$said
ASSAY_KEY=$work/liar.key serve weights "$cheat" replaced-weights "$work/job.toml" --out "$work/weights" --provide 127.0.0.1:0
ends "a run that was trained further" 0 0 --provider "$longer" --provider "$said"
"$assay" dispute "$work/mixed" "$work/liar" --job "$work/job.toml" >"$work/out" 2>&1
[ $? -eq 4 ] && grep -q "$work/mixed is damaged: " "$work/out" || fail "the receipt of another run: $(cat "$work/out")"

# What a referee asks can be recorded and asked again; bytes that are no question get an answer that is none.
mkdir "$work/record"
serve recording "$hostile" proxy "$honest" --record "$work/record"
try "a proxy listens" "$said"
[ -s "$work/record/0003.question" ] && [ -s "$work/record/0003.answer" ] || fail "nothing was recorded: $(ls "$work/record")"
[ "$("$hostile" post "$honest" /v1/answer "$work/job.toml")" = 400 ] || fail "a job is taken for a question"
stop
echo "wire: an honest provider takes part under idle, slow and broken connections"

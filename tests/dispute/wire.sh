# Disputes between real processes while somebody means them no good: an honest provider that is held up, cut off or told to be busy still takes part, and two
# liars with one claim do not win for lack of it.
. "$(dirname "$0")/lib.sh"
hostile=$3
keys honest liar second

# try WHAT URL [OPTION...]: two liars and the honest provider at that address; it must be the one that stands.
try() {
  what=$1
  shift
  "$assay" dispute --job "$work/job.toml" --provider "$liar" --provider "$second" --provider "$@" --patience 20 --json --quiet >"$work/out" 2>"$work/err" ||
    fail "$what: exit status $?: $(cat "$work/out" "$work/err")"
  expect verdict 2
  ! grep -q 'takes no part' "$work/err" || fail "$what: $(cat "$work/err")"
}

ASSAY_KEY=$work/honest.key "$assay" train "$work/job.toml" --out "$work/honest" --quiet >"$work/out" || fail "train"
ASSAY_KEY=$work/honest.key serve honest "$assay" provide "$work/honest"
honest=$said
for who in liar second; do
  export ASSAY_KEY=$work/$who.key
  "$cheat" wrong-learning-rate "$work/job.toml" --out "$work/$who" --at 7 >"$work/out" || fail "cheat"
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
serve dropping "$hostile" relay "$honest" --drop 5
try "five connections cut" "$said"
serve silent "$hostile" relay "$honest" --drop 0 --drop-seconds 4
try "every connection cut for four seconds" "$said"
serve slow "$hostile" proxy "$honest" --delay 100
try "slow" "$said"

# Somebody hands out the honest receipt and refuses every dispute: that says nothing about the provider's own address.
serve poser "$hostile" proxy "$honest" --withhold /v1/dispute
try "a poser refuses, named after the honest provider" "$honest" --provider "$said"
try "a poser refuses, named before the honest provider" "$said" --provider "$honest"

# What a referee asks can be recorded and asked again; bytes that are no question get an answer that is none.
mkdir "$work/record"
serve recording "$hostile" proxy "$honest" --record "$work/record"
try "a proxy listens" "$said"
[ -s "$work/record/0003.question" ] && [ -s "$work/record/0003.answer" ] || fail "nothing was recorded: $(ls "$work/record")"
[ "$("$hostile" post "$honest" /v1/answer "$work/job.toml")" = 400 ] || fail "a job is taken for a question"
stop
echo "wire: an honest provider takes part under idle, slow and broken connections"

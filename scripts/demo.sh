#!/bin/bash
# What `make demo` shows once the programs are built: a coordinator and two workers, one of which cheats; a client orders a small character GPT from them, the
# cheat is convicted, and the client has a model and evidence that it checks itself. DEMO_KEEP=1 leaves everything running until Ctrl-C, for the page.
set -eu
cd "$(dirname "$0")/.."
folder=build/demo
rm -rf $folder
mkdir -p $folder
assay=build/release/assay

say() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
fail() {
  echo "demo: $*; its files are in $folder" >&2
  exit 1
}

processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; wait' EXIT
trap 'exit 130' INT TERM

# until_true SECONDS COMMAND...: waits for it.
until_true() {
  local tries=$(($1 * 10))
  shift
  until "$@"; do
    [ $((tries -= 1)) -gt 0 ] || return 1
    sleep 0.1
  done
}

say "A coordinator, and two workers that nobody needs to trust"
$assay serve --store $folder/platform --listen 127.0.0.1:0 --log $folder/coordinator.log --json >$folder/coordinator.json &
processes+=($!)
until_true 30 grep -q listening $folder/coordinator.json || fail "the coordinator does not listen"
ASSAY_SERVER=$(sed 's/.*"listening":"\([^"]*\)".*/\1/' $folder/coordinator.json)
export ASSAY_SERVER
token() { $assay admin token --store $folder/platform --role "$1" --name "$2"; }

$assay keygen --out $folder/honest.key --name honest >/dev/null
ASSAY_TOKEN=$(token provider honest) $assay worker --work $folder/honest --key $folder/honest.key --threads 1 >$folder/honest.log 2>&1 &
processes+=($!)
# From step 250 on it trains with ten times the learning rate, and signs for the job all the same.
$assay keygen --out $folder/cheat.key --name cheat >/dev/null
ASSAY_TOKEN=$(token provider cheat) build/release/cheat wrong-learning-rate --worker --at 250 --work $folder/cheat --key $folder/cheat.key --threads 1 \
  >$folder/cheat.log 2>&1 &
processes+=($!)
echo "listening at $ASSAY_SERVER; the second worker will use ten times the learning rate from step 250 on"

say "A client orders the training of a job from both"
ASSAY_TOKEN=$(token client client)
export ASSAY_TOKEN ASSAY_KEY=$folder/client.key XDG_STATE_HOME=$PWD/$folder/state
$assay keygen --out $ASSAY_KEY --name client >/dev/null
order=$(show $assay submit examples/demo.toml --replicas 2 | tee /dev/stderr | tail -n1)

say "While it trains: is it running, and does it add up?"
run=
recorded() {
  run=$(echo $folder/honest/orders/"$order"/lease-*/run)
  [ -f "$run/telemetry.bin" ] && [ "$($assay check "$run" --json 2>/dev/null | sed -n 's/.*"step":\([0-9]*\),.*/\1/p')" -ge 100 ] 2>/dev/null
}
until_true 300 recorded || fail "the honest worker does not train"
status=0
show $assay check "$run" || status=$?
[ $status -eq 0 ] || [ $status -eq 3 ] || fail "the honest worker's telemetry is refused"

say "The two results differ, and the coordinator referees"
status=0
show $assay watch "$order" || status=$?
[ $status -eq 0 ] || fail "the order ended with status $status"

say "The client fetches the model; commands believe nobody, and check receipt, log and evidence on this machine"
show $assay fetch "$order" --out $folder/model --quiet
show $assay verify $folder/model
for evidence in $folder/model/evidence/*; do break; done
show $assay judge "$evidence" --explain
[ "$($assay judge "$evidence" --json | sed -n 's/.*"convicted":\[{[^]]*"key":"\([a-z]*\).*/\1/p')" = cheat ] || fail "the cheat was not convicted"

say "A sample of what the model learnt"
show $assay sample examples/demo.toml --weights $folder/model/model.safetensors --prompt "The " --tokens 160

printf '\nThe cheat is convicted, and the model is the one that the job gives.\n'
if [ -n "${DEMO_KEEP:-}" ]; then
  printf 'The page: %s (token: %s). Ctrl-C ends it.\n' "$ASSAY_SERVER" "$ASSAY_TOKEN"
  wait
else
  printf 'DEMO_KEEP=1 make demo leaves the coordinator running, with its page. The files are in %s.\n' $folder
fi

#!/bin/sh
# What `make demo` shows once the programs are built: a small character GPT learns this project's text and is audited; then a cheat trains the same job,
# the audit names what it did, and a dispute between the two convicts it.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/demo
mkdir -p build/demo
assay=build/release/assay
export ASSAY_KEY=build/demo/provider.key

say() { printf '\n== %s\n' "$*"; }

say "A provider makes a key and trains the job"
$assay keygen --out "$ASSAY_KEY" --name provider
$assay train examples/demo.toml --out build/demo/honest

say "A sample of what the model learnt"
$assay sample build/demo/honest --prompt "The " --tokens 240

say "An auditor runs the job again and compares every step"
$assay audit build/demo/honest --job examples/demo.toml --signer "$ASSAY_KEY.pub"

say "Another provider trains with ten times the learning rate from step 250 on, and signs for the job"
ASSAY_KEY=build/demo/cheat.key
$assay keygen --out "$ASSAY_KEY" --name cheat
build/release/cheat wrong-learning-rate examples/demo.toml --out build/demo/cheat --at 250

say "The auditor again"
status=0
$assay audit build/demo/cheat --job examples/demo.toml --signer "$ASSAY_KEY.pub" || status=$?
if [ "$status" -ne 1 ]; then
  echo "demo: the cheat was not refuted (exit status $status)" >&2
  exit 1
fi

$assay keygen --out build/demo/referee.key --name referee
say "Now as a dispute: both providers answer a referee who has neither the data nor the runs"
build/release/cheat wrong-learning-rate examples/demo.toml --out build/demo/cheat --at 250 --provide 127.0.0.1:0 >build/demo/cheat.address &
cheat=$!
ASSAY_KEY=build/demo/provider.key $assay provide build/demo/honest --listen 127.0.0.1:0 --referee build/demo/referee.key.pub >build/demo/honest.address &
honest=$!
trap 'kill $cheat $honest 2>/dev/null' EXIT
address() {
  for _ in $(seq 200); do
    sed -n 's/^listening on //p' "$1" | grep . && return
    sleep 0.05
  done
  echo "demo: a provider does not listen" >&2
  exit 1
}
$assay dispute --job examples/demo.toml --provider "$(address build/demo/cheat.address)" --provider "$(address build/demo/honest.address)" \
  --referee-key build/demo/referee.key --evidence build/demo/dispute.evidence

say "Anyone can check the verdict from the evidence alone"
$assay judge build/demo/dispute.evidence --explain

printf '\nBoth runs are in build/demo; look at one with: %s show build/demo/honest\n' "$assay"

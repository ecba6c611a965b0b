#!/bin/sh
# What `make demo` shows once the programs are built: a small character GPT learns this project's text and is audited; then a cheat trains the same job,
# and the audit names what it did.
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
build/release/cheat wrong-learning-rate examples/demo.toml --out build/demo/cheat --at 250

say "The auditor again"
status=0
$assay audit build/demo/cheat --job examples/demo.toml --signer "$ASSAY_KEY.pub" || status=$?
if [ "$status" -ne 1 ]; then
  echo "demo: the cheat was not refuted (exit status $status)" >&2
  exit 1
fi
printf '\nBoth runs are in build/demo; look at one with: %s show build/demo/honest\n' "$assay"

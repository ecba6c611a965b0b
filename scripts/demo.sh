#!/bin/sh
# What `make demo` shows once the program is built: a small character GPT learns this project's text, then writes some.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/demo
build/release/assay train examples/demo.toml --out build/demo
echo
echo "A sample of what it learnt:"
build/release/assay sample build/demo --prompt "The " --tokens 240
echo
build/release/assay show build/demo

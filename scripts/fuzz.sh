#!/bin/sh
# scripts/fuzz.sh [SECONDS] [TARGET...]: runs the libFuzzer targets (all of them by default), each for so many seconds (60).
# What it finds lands in build/fuzz/found; keep a fixed one in tests/fuzz/corpus/TARGET, where `make test` runs it.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
command -v clang++-19 >/dev/null || { echo "fuzz.sh: clang++-19 is needed" >&2; exit 2; }
cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target write_seeds
rm -rf build/fuzz/seeds
build/fuzz/tests/fuzz/write_seeds build/fuzz/seeds
targets=${*:-$(ls build/fuzz/seeds)}
for target in $targets; do binaries="${binaries:-} fuzz_$target"; done
# shellcheck disable=SC2086
cmake --build build/fuzz --target $binaries
mkdir -p build/fuzz/found
for target in $targets; do
  mkdir -p "build/fuzz/corpus/$target"
  kept=tests/fuzz/corpus/$target
  [ -d "$kept" ] || kept=
  echo "== $target"
  "build/fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$target-" "build/fuzz/corpus/$target" "build/fuzz/seeds/$target" ${kept:+"$kept"}
done

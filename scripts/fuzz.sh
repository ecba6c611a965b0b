#!/bin/sh
# scripts/fuzz.sh [SECONDS] [TARGET...]: runs the libFuzzer targets (all of them by default), each for so many seconds of CPU time (60), however busy
# the machine is.
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

# stop_after SECONDS PID: ends a fuzzer when it has used so much CPU time.
ticks=$(getconf CLK_TCK)
stop_after() {
  while used=$(awk '{ print $14 + $15 }' "/proc/$2/stat" 2>/dev/null); do
    if [ "${used:-0}" -ge $(($1 * ticks)) ]; then kill -USR1 "$2" 2>/dev/null || :; fi
    sleep 1
  done
}

failed=0
for target in $targets; do
  mkdir -p "build/fuzz/corpus/$target"
  kept=tests/fuzz/corpus/$target
  [ -d "$kept" ] || kept=
  echo "== $target"
  # The limit on one input is of wall time, so it is wide.
  "build/fuzz/tests/fuzz/fuzz_$target" -timeout=60 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$target-" "build/fuzz/corpus/$target" "build/fuzz/seeds/$target" ${kept:+"$kept"} &
  fuzzer=$!
  stop_after "$seconds" "$fuzzer"
  if wait "$fuzzer"; then echo "== $target: $seconds s of CPU time, nothing found"; else failed=1; echo "== $target: FOUND SOMETHING"; fi
done
exit $failed

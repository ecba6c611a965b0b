#!/bin/bash
# Builds for aarch64 (NEON kernels) and riscv64 (reference kernels), runs conformance and short trainings under qemu-user, and compares
# with the digests and state roots that are checked in. --quick is the part that `make test` runs. Exit status 1 if any byte differs.
# Usage: cross-check.sh [--quick] [aarch64] [riscv64]
set -u
cd "$(dirname "$0")/.."
JOBS=${JOBS:-$(nproc)}
quick=
if [ "${1:-}" = --quick ]; then
  quick=--quick
  shift
fi
processors=("$@")
[ $# -gt 0 ] || processors=(aarch64 riscv64)
[ -n "$quick" ] || scripts/bootstrap.sh build cross || exit

check() {
  local processor=$1 preset=cross-$1 filter='*'
  cmake --preset "$preset" --log-level=WARNING >/dev/null &&
    cmake --build --preset "$preset" --parallel "$JOBS" --target assay conformance_test || return
  # The golden digests show that this processor's bits are everybody's; one thread count suffices to compare its SIMD kernels.
  [ -z "$quick" ] || filter='*/golden:*/neon_t2'
  "qemu-$processor" "build/$preset/tests/conformance/conformance_test" --gtest_brief=1 --gtest_filter="$filter" &&
    scripts/check-roots.sh $quick --emulator "qemu-$processor" "build/$preset/assay" && judge "qemu-$processor" "build/$preset/assay"
}

# A judge on this processor reaches the verdict that the evidence was made with.
judge() {
  "$1" "$2" judge tests/golden/dispute.evidence --json >build/judge.out && grep -q '"verdict":"0".*"step":7,"node":31.*"leaf":1,"element":1490' build/judge.out && return
  echo "cross-check: the judge says $(cat build/judge.out)"
  return 1
}

failed=0
for processor in "${processors[@]}"; do
  echo "-- $processor"
  if check "$processor"; then
    echo "cross-check: $processor agrees"
  else
    echo "cross-check: $processor FAILED"
    failed=1
  fi
done
exit $failed

#!/bin/bash
# Everything `make test` promises, part by part. A part that fails does not stop the others; the last line sums them up and the
# exit status is 1 if any failed. Each part's full output is in build/test-logs/. Usage: test.sh [PART...]
set -u
cd "$(dirname "$0")/.."
JOBS=${JOBS:-$(nproc)}
logs=build/test-logs
mkdir -p "$logs"

build() {  # PRESET [CMAKE-OPTION... --] [TARGET...]
  local preset=$1 options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  cmake --preset "$preset" --log-level=WARNING "${options[@]}" >/dev/null &&
    cmake --build --preset "$preset" --parallel "$JOBS" ${1:+--target "$@"}
}

# The main build runs every label. Its CUDA kernels are compiled for the oldest architecture alone, and where there is no GPU only to see that they compile;
# scripts/gpu-check.sh compiles and runs them for the GPU at hand.
part_release() {
  local cuda=(-DASSAY_CUDA_BUILD=AUTO -DCMAKE_CUDA_ARCHITECTURES=80)
  nvidia-smi >/dev/null 2>&1 || cuda+=("-DCMAKE_CUDA_FLAGS=-Xcicc -O1 -Xptxas -O0")
  build release "${cuda[@]}" -- && ctest --test-dir build/release --parallel "$JOBS" --output-on-failure --no-tests=error -LE exhaustive
}

# Another compiler, with the address and undefined-behaviour sanitizers: the layers that read bytes from outside, and the trainings whose state roots are
# checked in.
part_clang() {
  local layers=(base tensor merkle sign seal net monitor graph data job run rounding dispute service) tests=
  tests=$(IFS='|'; echo "^unit\.(${layers[*]})$|^fuzz")
  build asan -- assay fuzz_test "${layers[@]/%/_test}" &&
    ctest --test-dir build/asan --parallel "$JOBS" --output-on-failure --no-tests=error -R "$tests" &&
    scripts/check-roots.sh build/asan/assay
}

# The full `scripts/cross-check.sh` adds riscv64.
part_cross() { scripts/cross-check.sh --quick aarch64; }

parts=("$@")
[ $# -gt 0 ] || parts=(release clang cross)
summary=()
failed=0
start=$SECONDS
for part in "${parts[@]}"; do
  began=$SECONDS
  echo "== $part"
  "part_$part" 2>&1 | tee "$logs/$part.log" | scripts/progress.sh
  if [ "${PIPESTATUS[0]}" -eq 0 ]; then
    summary+=("$part ok ($((SECONDS - began)) s)")
  else
    summary+=("$part FAILED (see $logs/$part.log)")
    failed=1
  fi
done
printf 'make test: %s' "${summary[0]}"
printf ', %s' "${summary[@]:1}"
printf '; %d min %02d s\n' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60))
exit $failed

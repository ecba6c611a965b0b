#!/bin/bash
# Everything that is promised about the CUDA backend, on a machine with a GPU: conformance, equal trainings, speed. Writes docs/results/GPU-DATE.json
# and .md (scripts/gpu_report.py).
#
# Usage: gpu-check.sh [--binaries FOLDER] [--out FOLDER] [--records FOLDER] [--sanitize SHARE] [--quick]
# --binaries takes assay, conformance_test, exec_conformance_test and gpu_bench from there instead of building them; --out is where the report goes
# (two files), --records where the records that it is made of are kept (one file, and the sanitizers' logs in another); --sanitize 10 runs every tenth
# case under compute-sanitizer (default: all);
# --quick leaves out the audits on the CPU of the large models, the sanitizers (unless --sanitize asks for them) and the
# compiled peers.
# Exit status 1 if anything is unequal or fails; speeds are only reported.
set -u
cd "$(dirname "$0")/.."
binaries= out=docs/results kept= share= quick=
while [ $# -gt 0 ]; do
  case $1 in
    --binaries) binaries=$(realpath "$2"); shift 2 ;;
    --out) out=$2; shift 2 ;;
    --records) kept=$2; shift 2 ;;
    --sanitize) share=$2; shift 2 ;;
    --quick) quick=1; shift ;;
    *) echo "gpu-check: unknown option $1" >&2; exit 2 ;;
  esac
done
if [ -z "$binaries" ]; then
  cmake --preset release -B build/gpu -DASSAY_CUDA_BUILD=ON -DASSAY_GPU_BENCH=ON >/dev/null &&
    cmake --build build/gpu --target assay conformance_test exec_conformance_test gpu_bench || exit 2
  binaries=$PWD/build/gpu-binaries
  mkdir -p "$binaries"
  cp build/gpu/assay build/gpu/tests/conformance/{conformance_test,exec_conformance_test} build/gpu/bench/gpu/gpu_bench "$binaries"
fi
assay=$binaries/assay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
records=$work/records
mkdir -p "$records" "$out"
export ASSAY_KEY=$work/key
"$assay" keygen --out "$ASSAY_KEY" >/dev/null || exit 2
failed=0

# note SECTION NAME KEY VALUE...: one record; values that are no numbers are quoted.
note() {
  python3 - "$@" >>"$records/notes.txt" <<'PYTHON'
import json, sys
words = sys.argv[1:]
record = {"section": words[0], "name": words[1]}
for key, value in zip(words[2::2], words[3::2]):
    try:
        record[key] = json.loads(value)
    except ValueError:
        record[key] = value
print(json.dumps(record))
PYTHON
}
step() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n1)
note machine "${gpu%%,*}" driver "${gpu##*, }" commit "${ASSAY_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}" date "$(date +%F)"

step "conformance: every op and case, five shapes of launches"
export ASSAY_TEST_BACKENDS=cuda
"$binaries/conformance_test" --gtest_brief=1 --gtest_filter='-*/dependencies:*/golden:*/rules:golden_file.*' >"$work/conformance" 2>&1 || failed=1
tail -n2 "$work/conformance"
comparisons=$(sed -n 's/^conformance: .* cases, \([0-9]*\) comparisons.*/\1/p' "$work/conformance")
note conformance "ops" cases "${comparisons:-0}" failed "$(grep -c '^\[  FAILED  \].*(' "$work/conformance")" against reference
note conformance "ops in hostile uses" cases "$(sed -n 's/.* ops, \([0-9]*\) of them accepted.*/\1/p' "$work/conformance")" failed "$(grep -c 'FAILED.*hostile' "$work/conformance")"
"$binaries/exec_conformance_test" --gtest_brief=1 >"$work/exec" 2>&1 || failed=1
note conformance "random graphs and steps, fused, unfused, traced, recorded" cases "$(sed -n 's/^\[==========\] \([0-9]*\) tests.*/\1/p' "$work/exec" | head -n1)" failed "$(grep -c '^\[  FAILED  \]' "$work/exec")"
if { [ -z "$quick" ] || [ -n "$share" ]; } && command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    step "compute-sanitizer $tool on the small cases"
    options="--tool $tool --error-exitcode 9"
    [ $tool = memcheck ] || options="$options --racecheck-detect-level info --print-level info"
    # The launchers' own choices for every op, all shapes of launches for matmul; then the hashing.
    GTEST_TOTAL_SHARDS=${share:-1} GTEST_SHARD_INDEX=0 compute-sanitizer $options "$binaries/conformance_test" \
      --gtest_brief=1 --gtest_filter='*.*/cuda:matmul.*/cuda_*' >"$work/$tool.log" 2>&1 || failed=1
    compute-sanitizer $options "$binaries/exec_conformance_test" --gtest_brief=1 --gtest_filter='Hashes.RootsOfTensors:Hashes.QueuedLeaves' \
      >>"$work/$tool.log" 2>&1 || failed=1
    scripts/sanitizer_records.py $tool <"$work/$tool.log" >"$records/$tool.txt"
    python3 -c 'import json, sys
for line in list(sys.stdin)[:12]: record = json.loads(line); print("      ", record["count"], record["name"])' <"$records/$tool.txt"
    findings=$(sed -n 's/.*SUMMARY: \([0-9]*\) .*/\1/p' "$work/$tool.log" | awk '{ sum += $1 } END { print NR == 2 ? sum : -1 }')
    cases=$(sed -n 's/^conformance: .* cases, \([0-9]*\) comparisons.*/\1/p' "$work/$tool.log")
    [ "$findings" = 0 ] || failed=1
    echo "       ${cases:-0} comparisons and the hashing: $findings findings"
    note conformance "compute-sanitizer $tool" cases "${cases:-0}" failed "$findings" against "$tool"
  done
fi
unset ASSAY_TEST_BACKENDS

# job_file JOB: the file, or of FILE@PRECISION a copy in that precision.
job_file() {
  case $1 in
    *@*) mkdir -p "$work/jobs" && { echo "precision = \"${1#*@}\"" && cat "${1%@*}"; } >"$work/jobs/$(basename "${1%@*}" .toml)-${1#*@}.toml" &&
           echo "$work/jobs/$(basename "${1%@*}" .toml)-${1#*@}.toml" ;;
    *) echo "$1" ;;
  esac
}
step "trainings: state roots at every committed step, against the CPU's"
while read -r job steps root log; do
  case $job in '' | '#'*) continue ;; esac
  job=$(job_file "$job")
  name=$(basename "$job" .toml)
  "$assay" train "$job" --steps "$steps" --device cuda --out "$work/$name" --quiet --json >"$work/train" 2>"$work/error" </dev/null || failed=1
  got=$("$assay" log "$work/$name" --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["root"], d["entries"][-1]["state_root"])')
  echo "       $name: $steps steps, log ${got%% *}"
  [ "$got" = "$log $root" ] || failed=1
  note equality "$name" steps "$steps" root "${got%% *}" expected "$log" against "the log of the CPU backend"
done <tests/golden/device_trainings.txt

# audit NAME DEVICE WORDS: the run is verified there.
audit() {
  local verdict
  verdict=$("$assay" audit "$work/$1" --device "$2" --quiet --json </dev/null 2>/dev/null | tail -n1 | sed -n 's/.*"verdict": *"\([a-z]*\)".*/\1/p')
  echo "       $1 on $2: $verdict"
  [ "$verdict" = verified ] || failed=1
  note equality "$1" steps "$(sed -n 's/^steps *= *//p' "$work/$1/job.toml" 2>/dev/null | head -n1)" root "${verdict:-none}" expected verified against "$3"
}
step "audits of one by the other"
audit llama-tiny cpu "audit on the CPU"
audit gpt2-tiny cpu "audit on the CPU"
audit gpt2-tiny-int8x3 cpu "audit on the CPU"
[ -n "$quick" ] || audit resnet50-b64 cpu "audit on the CPU"
[ -n "$quick" ] || audit gpt2-124m-t64 cpu "audit on the CPU"
"$assay" train examples/resnet18-tiny.toml --out "$work/resnet18-tiny" --quiet >/dev/null 2>&1 </dev/null || failed=1
"$assay" train examples/llama-tiny.toml --out "$work/llama-tiny-cpu" --quiet >/dev/null 2>&1 </dev/null || failed=1
audit resnet18-tiny cuda "trained on the CPU, audit on the GPU"
audit llama-tiny-cpu cuda "trained on the CPU, audit on the GPU"

step "speed: matmul, memory, hashing"
# watched NAME COMMAND...: runs it and notes the medians of clock and power meanwhile.
watched() {
  local name=$1 watcher status
  shift
  nvidia-smi --query-gpu=clocks.sm,power.draw --format=csv,noheader,nounits -lms 200 >"$work/clock" 2>/dev/null &
  watcher=$!
  "$@"
  status=$?
  kill $watcher 2>/dev/null
  wait $watcher 2>/dev/null
  note clock "$name" $(python3 -c 'import statistics, sys
rows = []
for line in open(sys.argv[1]):
    try:  # the last line may be cut off, and some cards do not tell
        clock, power = map(float, line.split(","))
        rows.append((clock, power))
    except ValueError:
        pass
print(*(f"{key} {statistics.median(row[i] for row in rows)}" for i, key in enumerate(("mhz", "watts"))) if rows else ["mhz 0 watts 0"])' "$work/clock")
  return $status
}
watched "products in FP32 and by digits" "$binaries/gpu_bench" >"$records/bench.txt" || failed=1
tail -n1 "$records/bench.txt"
step "speed: whole steps"
for pair in "gpt2-124m-t1024:gpt2-124m b8 t1024" "gpt2-124m-t64:gpt2-124m b8 t64" "resnet50-b64:resnet50 b64" \
            "gpt2-124m-t1024@int8x3:gpt2-124m b8 t1024" "gpt2-124m-t1024@int8x2:gpt2-124m b8 t1024" "gpt2-124m-t64@int8x3:gpt2-124m b8 t64" \
            "gpt2-124m-t64@int8x2:gpt2-124m b8 t64" "resnet50-b64@int8x3:resnet50 b64" "resnet50-b64@int8x2:resnet50 b64"; do
  job=${pair%%:*} precision=
  case $job in *@*) precision=${job#*@} job=${job%@*} ;; esac
  "$assay" bench "$(job_file "bench/gpu/$job.toml${precision:+@$precision}")" --device cuda --steps 10 --json </dev/null >"$work/bench.json" || failed=1
  python3 - "${pair#*:}" "$work/bench.json" "$precision" >>"$records/steps.txt" <<'PYTHON'
import json, sys
name, path, precision = sys.argv[1:]
bench = json.load(open(path))
step = 1e3 * bench["step_seconds_median"]
commit = 1e3 * bench["committing_seconds_median"]
print(json.dumps({"section": "step", "name": name, **({"precision": precision} if precision else {}), "parts": bench["parts"], "step_ms": step, "committing_ms": commit, "committing_cost": commit / step - 1,
                  "allocated_bytes": bench["device_peak_bytes"]}))
for launch in bench["launches"][:8]:
    print(json.dumps({"section": "kernel", "name": launch["launch"], "of": f"{name} {precision}".strip(), "ms": 1e3 * launch["seconds"], "calls": launch["count"],
                      "tflops": 1e-12 * launch["flops"] / launch["seconds"], "gbps": 1e-9 * launch["bytes"] / launch["seconds"]}))
print(f"{name} {precision or 'fp32'}: {step:.2f} ms, committing {commit:.2f} ms, {bench['device_peak_bytes'] / 2**30:.2f} GiB", file=sys.stderr)
PYTHON
done
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  step "PyTorch"
  timeout 240 python3 bench/peer_torch_gpu.py ${quick:+--only '(fp32|tf32|bf16) eager'} >"$records/peer.txt" 2>"$work/peer.err"
fi
step "report"
if [ -n "$kept" ]; then
  mkdir -p "$kept"
  cat "$records"/* >"$kept/records.txt"
  cat "$work"/*.log 2>/dev/null | head -c 4000000 >"$kept/sanitizers.txt"
fi
python3 scripts/gpu_report.py "$records" --out "$out" || failed=1
[ $failed -eq 0 ] && echo "gpu-check: all equal" || echo "gpu-check: FAILED"
exit $failed

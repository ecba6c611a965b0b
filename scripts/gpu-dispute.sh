#!/bin/bash
# Disputes on a machine with an NVIDIA GPU: honest providers on CUDA against cheats on the CPU; the referee's bill and the judge's verdict.
# Exit status 1 if any verdict is not the honest provider's. Usage: gpu-dispute.sh [FOLDER of assay and cheat, default build/release]
set -u
cd "$(dirname "$0")/.."
bin=${1:-build/release}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
for who in honest liar; do "$bin/assay" keygen --out "$work/$who.key" --name "$who" >/dev/null; done
failed=0

measure() {  # COMMAND...: its output, then what it took
  python3 - "$@" <<'PY'
import resource, subprocess, sys, time
began = time.time()
status = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"exit status {status}, {time.time() - began:.2f} s, CPU {used.ru_utime + used.ru_stime:.3f} s, peak memory {used.ru_maxrss / 1024:.1f} MiB")
PY
}

play() {  # NAME JOB CHEAT STEP
  local name=$1 job=$2 cheat=$3 at=$4 folder=$work/$1 provider liar i
  mkdir "$folder"
  echo "== $name: $cheat at step $at"
  ASSAY_KEY=$work/honest.key "$bin/assay" train "$job" --out "$folder/honest" --device cuda --quiet </dev/null || failed=1
  ASSAY_KEY=$work/liar.key "$bin/cheat" "$cheat" "$job" --out "$folder/liar" --at "$at" </dev/null >/dev/null || failed=1
  ASSAY_KEY=$work/honest.key "$bin/assay" provide "$folder/honest" --device cuda >"$folder/honest.url" </dev/null & provider=$!
  ASSAY_KEY=$work/liar.key "$bin/cheat" "$cheat" "$job" --out "$folder/liar" --at "$at" --provide 127.0.0.1:0 >"$folder/liar.url" </dev/null & liar=$!
  for ((i = 0; i < 600; ++i)); do grep -q . "$folder/honest.url" && grep -q . "$folder/liar.url" && break; sleep 0.1; done
  measure "$bin/assay" dispute --provider "$(sed -n 's/^listening on //p' "$folder/liar.url")" --provider "$(sed -n 's/^listening on //p' "$folder/honest.url")" \
    --evidence "$folder/evidence" --json --quiet | tee "$folder/dispute"
  measure "$bin/assay" judge "$folder/evidence" --json | tee "$folder/judge"
  grep -q '"verdict":"1"' "$folder/dispute" && grep -q '"verdict":"1".*"convicts":true' "$folder/judge" || failed=1
  kill $provider $liar
  wait $provider $liar 2>/dev/null
}

sed -e 's/^steps.*/steps = 12/' -e 's/^every = 20/every = 6/' -e '/^keep/d' bench/gpu/gpt2-124m-t64.toml >"$work/gpt2.toml"
play llama examples/llama-tiny.toml flipped-bit 7
play gpt2-124m "$work/gpt2.toml" flipped-bit 3
play resnet18 examples/resnet18-tiny.toml wrong-learning-rate 5
[ $failed -eq 0 ] && echo "gpu-dispute: the honest provider stood in all" || echo "gpu-dispute: FAILED"
exit $failed

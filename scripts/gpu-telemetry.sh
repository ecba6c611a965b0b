#!/bin/bash
# Trains ResNet-18 for about a minute with telemetry, holds both sets of rules against it, and draws loss, utilisation and memory over time:
# OUT/resnet18-telemetry-DATE.svg, .md and .json.
#
# Usage: gpu-telemetry.sh --binaries FOLDER --out FOLDER [--data FOLDER] [--device cuda|cpu] [--seconds N] [--tiny]
# --data: binary files of CIFAR-100 (train.bin, test.bin) or CIFAR-10 (data_batch_1.bin, ..., test_batch.bin; scripts/cifar10_from_png.mjs makes them); without it
# generated images in CIFAR-100's layout. --seconds: how long it should train (75). --tiny: an eighth of the channels and batches of 8, to try it out.
# Exit status: 1 if training fails or a strict rule refuses the run; what the published rules say is reported.
set -u
cd "$(dirname "$0")/.."
binaries=build/release data= out=docs/results device=cuda seconds=75 tiny=
while [ $# -gt 0 ]; do
  case $1 in
    --binaries) binaries=$2; shift 2 ;;
    --data) data=$(realpath "$2"); shift 2 ;;
    --out) out=$2; shift 2 ;;
    --device) device=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --tiny) tiny=1; shift ;;
    *) echo "gpu-telemetry: unknown option $1" >&2; exit 2 ;;
  esac
done
assay=$(realpath "$binaries/assay") || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_KEY=$work/key
"$assay" keygen --out "$ASSAY_KEY" --name telemetry >/dev/null || exit 2

set_=CIFAR-100
[ -z "$data" ] && set_="generated images in CIFAR-100's layout"
cp examples/resnet18-cifar.toml "$work/job.toml"
if [ -n "$data" ] && [ -e "$data/data_batch_1.bin" ]; then
  sed -i 's/^kind = "cifar100"/kind = "cifar10"/' "$work/job.toml"
  set_=CIFAR-10
fi
[ -n "$tiny" ] && sed -i -e 's/^width = .*/width = 8/' -e 's/^microbatch = .*/microbatch = 8/' -e 's/^batches = .*/batches = 4/' "$work/job.toml"
options=(--device "$device" ${data:+--data "$data"})

# How long a step takes here, and so how many make up the time.
sed -e 's/^steps = .*/steps = 40/' -e 's/^warmup = .*/warmup = 10/' "$work/job.toml" >"$work/probe.toml"
"$assay" train "$work/probe.toml" --out "$work/probe" "${options[@]}" --quiet >/dev/null || exit 1
steps=$(python3 - "$work/probe" "$seconds" <<'PYTHON'
import sys
sys.path.insert(0, "scripts")
import telemetry_file
session = telemetry_file.read(sys.argv[1] + "/telemetry.bin")[-1]
done = session.steps_done[10:]
print(max(100, int(float(sys.argv[2]) * 1e6 * (len(done) - 1) / (done[-1].mono_us - done[0].mono_us))))
PYTHON
) || exit 1
echo "$steps steps"
sed -e "s/^steps = .*/steps = $steps/" -e "s/^warmup = .*/warmup = $((steps / 20 + 1))/" -e "s/^every = 500/every = $((steps / 40 * 10 + 10))/" "$work/job.toml" >"$work/final.toml"
"$assay" train "$work/final.toml" --out "$work/run" "${options[@]}" --json >"$work/train.json" || exit 1
"$assay" check "$work/run" --rules seed --json >"$work/seed.json"
"$assay" check "$work/run" --rules strict --json >"$work/strict.json"
verdict=$?
name=resnet18-telemetry-$(date +%F)
batch=$(sed -n 's/^microbatch = //p' "$work/final.toml") width=$(sed -n 's/^width = //p' "$work/final.toml")
python3 scripts/telemetry_plot.py "$work/run" --out "$out" --name "$name" --title "ResNet-18 on $set_" --note "Width $width, batches of $batch, $steps steps." \
  --command "scripts/gpu-telemetry.sh --binaries FOLDER ${data:+--data FOLDER }--device $device --seconds $seconds${tiny:+ --tiny}" \
  --seed "$work/seed.json" --strict "$work/strict.json" || exit 1
python3 - "$work/train.json" "$out/$name.json" "$out/$name.md" <<'PYTHON'
import json, sys
trained = json.loads(open(sys.argv[1]).read().strip().splitlines()[-1])
report = json.load(open(sys.argv[2]))
kept = ("job_id", "steps", "loss", "val_loss", "state_root", "seconds", "device", "simd", "threads")
report["training"] = {key: trained[key] for key in kept}
json.dump(report, open(sys.argv[2], "w"), indent=1)
with open(sys.argv[3], "a") as page:
    page.write(f"\nLast loss {trained['loss']:.4f}" + (f", validation loss {trained['val_loss']:.4f}" if trained["val_loss"] is not None else "")
               + f". State root `{trained['state_root']}`: another run of the job, on whatever machine, ends in the same.\n")
PYTHON
exit $((verdict == 0 ? 0 : 1))

#!/usr/bin/env python3
"""Does a precision harm training? Loss curves of rounded FP64 at several round_bits, or of contractions by digits, beside those of fp32, and of fp32 with
other seeds, which is the noise.

Usage: loss_curves.py ASSAY [--steps 500] [--job NAME]... [--bits 32,28,26 | --digits 3,2] [--seeds 3] [--window 20] [--threads N] --out FOLDER [--name NAME]
Writes NAME.md and NAME.svg to FOLDER. The jobs are examples made smaller; nothing outside the repository is read.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from collections import namedtuple

from loss_plot import Curve, Panel, draw

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What of an example is changed, so that 500 steps take seconds and the loss falls all the way.
EDITS = {
    "shakespeare-char": {"layers": 2, "width": 64, "microbatch": 16, "warmup": 25, "min_lr": 3e-4},
    "resnet18-tiny": {"microbatch": 16, "lr": 0.01, "every": 200},
    "gpt2-tiny": {},
    "mlp": {},
}
COLOURS = ["#c2410c", "#0f766e", "#7c3aed", "#b91c1c", "#1d4ed8"]

Run = namedtuple("Run", "label losses smooth")


def job_file(example, precision, bits, seed, steps, folder):
    text = (ROOT / "examples" / f"{example}.toml").read_text()
    text = re.sub(r"^\[(commit|snapshot|eval)\]\n(?:[^\[\n].*\n)*", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(steps|seed)\s*=.*\n", "", text, flags=re.MULTILINE)
    for key, value in EDITS[example].items():
        text, count = re.subn(rf"^{key}\s*=.*$", f"{key} = {min(value, steps - 1) if key == 'warmup' else value}", text, flags=re.MULTILINE)
        assert count == 1, f"{example}: {key} occurs {count} times"
    head = f'precision = "{precision}"\nsteps = {steps}\nseed = {seed}\n' + (f"round_bits = {bits}\n" if bits else "")
    path = folder / f"{example}-{precision}-{bits}-{seed}.toml"
    path.write_text(head + text + "\n[commit]\nevery = 1\n\n[snapshot]\nevery = 0\n")
    return path


def losses_of(assay, job, threads, folder):
    run = folder / job.stem
    environment = dict(os.environ, ASSAY_KEY=str(folder / "key"))
    command = [assay, "train", str(job), "--out", str(run), "--quiet", "--threads", str(threads)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit status {result.returncode}\n{result.stderr[-2000:]}")
    out = subprocess.run([assay, "log", str(run), "--json"], capture_output=True, text=True, check=True).stdout
    return [entry["loss"] for entry in json.loads(out.strip().splitlines()[-1])["entries"] if entry["step"] > 0]


def smoothed(losses, window):
    """At each step the mean of the last `window` losses, of fewer at the beginning."""
    return [sum(part) / len(part) for part in (losses[max(0, i + 1 - window):i + 1] for i in range(len(losses)))]


def distance(a, b):
    """The largest distance of two curves, and the step where it is."""
    return max((abs(x - y), step) for step, (x, y) in enumerate(zip(a, b), 1))


def train_all(options, example, folder):
    def run(label, precision, bits, seed):
        losses = losses_of(options.assay, job_file(example, precision, bits, seed, options.steps, folder), options.threads, folder)
        print(f"{example}: {label}: loss {losses[0]:.4f} to {losses[-1]:.4f}", flush=True)
        return Run(label, losses, smoothed(losses, options.window))
    seeds = [run(f"fp32, seed {seed}", "fp32", None, seed) for seed in range(1, options.seeds + 2)]
    if options.digits:
        return seeds, [run(f"int8x{digits}", f"int8x{digits}", None, 1) for digits in options.digits]
    return seeds, [run(f"fp64-rounded, {bits} bits", "fp64-rounded", bits, 1) for bits in options.bits]


def table(rows):
    head = rows[0]
    return "\n".join(["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows[1:]]]) + "\n"


def report(options, example, seeds, tried):
    base = seeds[0]
    steps = sorted({1, *range(100, options.steps + 1, 100), options.steps})
    rows = [["run", *(f"step {s}" for s in steps), "largest distance from fp32, seed 1", "at step"]]
    for run in [base, *tried, *seeds[1:]]:
        far, at = distance(run.smooth, base.smooth)
        rows.append([run.label, *(f"{run.smooth[s - 1]:.4f}" for s in steps), *(["", ""] if run is base else [f"{far:.2g}", str(at)])])
    pairs = [distance(a.smooth, b.smooth)[0] for i, a in enumerate(seeds) for b in seeds[i + 1:]]
    if not pairs:
        sys.exit("--seeds: expected at least 1")
    text = f"## {example}\n\n" + table(rows)
    text += f"\nNoise: the curves of two seeds are at most {max(pairs):.2g} apart, those of the two most alike {min(pairs):.2g}.\n\n"
    for run in tried:
        far, _ = distance(run.smooth, base.smooth)
        verdict = "within the noise, closer than any two seeds" if far < min(pairs) else "within the noise" if far <= max(pairs) else "OUTSIDE the noise"
        text += f"- {run.label}: {verdict} ({far / max(pairs):.2g} of the largest distance of seeds).\n"
    return text


def panels(example, options, seeds, tried):
    steps, base = range(1, options.steps + 1), seeds[0]
    losses, apart = [], []
    for run in seeds[1:]:
        losses.append(Curve("fp32, other seeds", "#b4b4b4", 1.2, "", list(zip(steps, run.smooth))))
        apart.append(Curve("fp32, other seeds", "#b4b4b4", 1.2, "", [(s, abs(x - y)) for s, x, y in zip(steps, run.smooth, base.smooth)]))
    losses.append(Curve("fp32", "#1f2937", 3.2, "", list(zip(steps, base.smooth))))
    for i, run in enumerate(tried):
        colour = COLOURS[i % len(COLOURS)]
        losses.append(Curve(run.label, colour, 1.4, f"{3 + 2 * i} {4 + 2 * i}", list(zip(steps, run.smooth))))
        apart.append(Curve(run.label, colour, 1.4, "", [(s, abs(x - y)) for s, x, y in zip(steps, run.smooth, base.smooth)]))
    return [Panel(example, f"loss, mean of {options.window} steps", False, losses), Panel("", "distance from fp32", True, apart)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--job", action="append", choices=sorted(EDITS))
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser.add_argument("--bits", type=numbers, default=[32, 28, 26])
    parser.add_argument("--digits", type=numbers, default=[], help="contractions by so many digits, in place of rounded FP64")
    parser.add_argument("--seeds", type=int, default=3, help="other seeds of fp32")
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", required=True)
    parser.add_argument("--name", default="loss-curves")
    options = parser.parse_args()
    jobs = options.job or ["shakespeare-char", "resnet18-tiny"]
    texts, columns = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([options.assay, "keygen", "--out", str(folder / "key"), "--name", "curves"], check=True, capture_output=True)
        for example in jobs:
            seeds, tried = train_all(options, example, folder)
            texts.append(report(options, example, seeds, tried))
            columns.append(panels(example, options, seeds, tried))
    out = pathlib.Path(options.out)
    (out / f"{options.name}.svg").write_text(draw(columns))
    command = shlex.join(["scripts/loss_curves.py", "ASSAY", *(word for word in sys.argv[1:] if word != options.assay)])
    edits = "; ".join(f"`{job}` with " + ", ".join(f"{k} = {v}" for k, v in EDITS[job].items()) if EDITS[job] else f"`{job}`" for job in jobs)
    (out / f"{options.name}.md").write_text(
        f"# Loss curves of {'training by digits' if options.digits else 'rounded training'}\n\n`{command}`\n\n"
        f"{options.steps} steps of {edits}. All losses are means of the last {options.window} steps. Seeds change initial values, the order of samples and dropout; "
        f"{'Runs by digits' if options.digits else 'Rounded runs'} have seed 1.\n\n"
        f"![loss curves]({options.name}.svg)\n\n" + "\n".join(texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What keeping telemetry costs: trainings of one job with and without it, in turn, on the same machine.

Usage: bench/telemetry.py [--assay build/release/assay] [--job examples/gpt2-tiny.toml] [--steps N] [--rounds N] [--threads N] [--snapshots N]

Compares processor time, which other work on the machine changes less, and wall time, each as the ratio of medians, as the median of the ratios of neighbours with
the quarter and three quarters of them, and as best against best. The measuring of the machine's speed at the beginning, a few milliseconds, is part of it: a training
has to take seconds for the ratio to mean anything. Each snapshot has a seal, which is signed and synced: --snapshots N takes one every N steps, instead of the
job's own; by default there is the last one alone, so that what is measured is the recording, not the disk.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time


def train(args, out, *more):
    began = time.monotonic()
    training = subprocess.Popen([args.assay, "train", args.job, "--out", out, "--steps", str(args.steps), "--threads", str(args.threads), "--quiet", *more],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(training.pid, 0)  # in microseconds, where times() counts hundredths of a second
    wall = time.monotonic() - began
    if status != 0:
        raise SystemExit(f"{args.job}: training failed with {status}")
    return used.ru_utime + used.ru_stime, wall


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", default="build/release/assay")
    parser.add_argument("--job", default="examples/gpt2-tiny.toml")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--snapshots", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        text = pathlib.Path(args.job).read_text()
        args.job = str(pathlib.Path(folder) / "job.toml")
        pathlib.Path(args.job).write_text(re.sub(r"(?ms)^\[snapshot\].*?(?=^\[|\Z)", "", text) + f"\n[snapshot]\nevery = {args.snapshots}\n")
        run = str(pathlib.Path(folder) / "run")
        train(args, run)  # makes a key, and warms up
        kept, bare = [], []
        for number in range(args.rounds):
            # Who comes first alternates, too.
            for telemetry in ((True, False) if number % 2 == 0 else (False, True)):
                shutil.rmtree(run)
                (kept if telemetry else bare).append(train(args, run, *([] if telemetry else ["--no-telemetry"])))
    for place, name in enumerate(("processor time", "wall time")):
        a, b = [one[place] for one in kept], [one[place] for one in bare]
        pairs = sorted(x / y for x, y in zip(a, b))
        low, high = pairs[len(pairs) // 4], pairs[-1 - len(pairs) // 4]
        print(f"{name}: with {statistics.median(a):.4f} s, without {statistics.median(b):.4f} s, "
              f"ratio of medians {statistics.median(a) / statistics.median(b):.4f}, median of ratios {statistics.median(pairs):.4f} ({low:.4f} to {high:.4f}), best against best {min(a) / min(b):.4f}")


if __name__ == "__main__":
    main()

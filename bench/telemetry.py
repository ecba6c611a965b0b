#!/usr/bin/env python3
"""What keeping telemetry costs: trainings of one job with and without it, in turn, on the same machine.

Usage: bench/telemetry.py [--assay build/release/assay] [--job examples/gpt2-tiny.toml] [--steps N] [--rounds N] [--threads N]

Compares processor time, which other work on the machine hardly changes, and wall time, each as the ratio of medians and as the median of the ratios of
neighbours. The measuring of the machine's speed at the beginning, a few milliseconds, is part of it.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time


def train(args, out, *more):
    before = os.times()
    began = time.monotonic()
    subprocess.run([args.assay, "train", args.job, "--out", out, "--steps", str(args.steps), "--threads", str(args.threads), "--quiet", *more],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall = time.monotonic() - began
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system), wall


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", default="build/release/assay")
    parser.add_argument("--job", default="examples/gpt2-tiny.toml")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
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
        pairs = statistics.median(x / y for x, y in zip(a, b))
        print(f"{name}: with {statistics.median(a):.4f} s, without {statistics.median(b):.4f} s, "
              f"ratio of medians {statistics.median(a) / statistics.median(b):.4f}, median of ratios {pairs:.4f}, best against best {min(a) / min(b):.4f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Exact replication where kernels differ: trains rounded jobs with several of OpenBLAS's kernels and thread counts, and audits each run under every other.

Beside it: the step at which audits without the log, and runs of plain FP32 vendor kernels, first differ. Exit status 1 if any audit that follows the log fails.
Usage: replicate.py ASSAY [--steps N] [--job EXAMPLE]... [--kernels Haswell,SkylakeX,Prescott] [--threads 1,2] [--pairs all|ring] [--parallel N] [--json FILE]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Setting:
    """One way to run OpenBLAS."""

    def __init__(self, kernels, threads):
        self.kernels, self.threads = kernels, threads
        self.name = f"{kernels}-{threads}"

    def run(self, command, key):
        environment = dict(os.environ, OPENBLAS_CORETYPE=self.kernels, ASSAY_KEY=str(key))
        return subprocess.run([*command, "--threads", str(self.threads)], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def last_json(result, expected):
    if result.returncode not in expected:
        sys.exit(f"{' '.join(result.args)}: exit status {result.returncode}\n{result.stderr[-2000:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def job_file(example, precision, steps, folder):
    """The example with another precision and number of steps, a commitment at every step and few snapshots."""
    text = (ROOT / "examples" / f"{example}.toml").read_text()
    text = re.sub(r"^(precision|round_bits|round_rule|steps)\s*=.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\[(commit|snapshot|eval)\]\n(?:[^\[\n].*\n)*", "", text, flags=re.MULTILINE)
    head = f'precision = "{precision}"\nsteps = {steps}\n'
    path = folder / f"{example}-{precision}.toml"
    path.write_text(head + text + f"\n[commit]\nevery = 1\n\n[snapshot]\nevery = {max(1, steps // 4)}\n")
    return path


def roots(assay, run):
    out = subprocess.run([assay, "log", str(run), "--json"], capture_output=True, text=True, check=True).stdout
    return [entry["state_root"] for entry in json.loads(out.strip().splitlines()[-1])["entries"]]


def first_difference(a, b):
    for step, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return step
    return None


def replicate(assay, example, settings, pairs, steps, folder, key, pool):
    job, plain = (job_file(example, precision, steps, folder) for precision in ("fp64-rounded", "fp32-vendor"))
    report = {"job": example, "steps": steps}

    def train(job, setting, run):
        began = time.time()
        last_json(setting.run([assay, "train", str(job), "--out", str(run), "--json", "--quiet"], key), {0})
        print(f"{run.name}: trained in {time.time() - began:.0f} s", flush=True)
        return run

    def audit(pair):
        trainer, auditor = pair
        run = str(runs[trainer.name].result())
        audit = last_json(auditor.run([assay, "audit", run, "--json", "--quiet"], key), {0, 1})
        free = last_json(auditor.run([assay, "audit", run, "--json", "--quiet", "--rule", "none"], key), {0, 1})
        found = {"trainer": trainer.name, "auditor": auditor.name, "verdict": audit["verdict"], "reason": audit["reason"],
                 "corrections": audit["corrections"], "decisions": audit["decisions"], "elements": audit["rounded_elements"],
                 "log_bytes_per_step": audit["log_bytes"] / steps, "without_log_differs_at": free["step"]}
        print("  ", example, json.dumps(found), flush=True)
        return found

    runs = {s.name: pool.submit(train, job, s, folder / f"{example}-{s.name}") for s in settings}
    plain_runs = {s.name: pool.submit(train, plain, s, folder / f"{example}-fp32-{s.name}") for s in settings}
    report["audits"] = list(pool.map(audit, pairs))
    states = {name: roots(assay, run.result()) for name, run in plain_runs.items()}
    report["fp32_differs_at"] = {f"{a.name} {b.name}": first_difference(states[a.name], states[b.name]) for a, b in pairs}
    print("  ", example, "fp32-vendor differs at", json.dumps(report["fp32_differs_at"]), flush=True)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--job", action="append")
    parser.add_argument("--kernels", default="Haswell,SkylakeX,Prescott")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--pairs", choices=["all", "ring"], default="all")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    settings = [Setting(k, int(t)) for k in options.kernels.split(",") for t in options.threads.split(",")]
    if options.pairs == "all":
        pairs = [(a, b) for a in settings for b in settings if a is not b]
    else:
        pairs = list(zip(settings, settings[1:] + settings[:1]))
    reports = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        key = folder / "key"
        subprocess.run([options.assay, "keygen", "--out", str(key), "--name", "replicate"], check=True, capture_output=True)
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            for example in options.job or ["mlp", "gpt2-tiny", "resnet18-tiny"]:
                reports.append(replicate(options.assay, example, settings, pairs, options.steps, folder, key, pool))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(reports, indent=1) + "\n")
    failed = [a for report in reports for a in report["audits"] if a["verdict"] != "verified"]
    count = sum(len(report["audits"]) for report in reports)
    print(f"replicate: {count - len(failed)} of {count} audits verified")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""`make bench`: hashing, matmul, whole training steps, memory, linearity, start-up, committing and auditing against their peers, as ratios measured in one run.

Writes build/bench.json, an array of {name, peer, threads, ours, theirs, ratio, target}; ours and theirs are speeds in one unit, ratio is
ours over theirs, and a line passes when ratio >= target. Exit status 1 if one does not. Options: --quick (fewer turns), --only TEXT (lines whose part
contains it).
"""

import argparse
import functools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
OURS = [str(BUILD / "bench" / "steps")]
TORCH = ["/usr/bin/python3", str(ROOT / "bench" / "peer_torch.py")]


@functools.cache
def peer_settings():
    """What lets the peers do their best on this machine.

    Idle threads of OpenMP that spin take a core from whoever's turn it is. An OpenBLAS that is older than the processor may take it for a much
    simpler one, so the kernels that it could run are tried and the fastest are asked for.
    """
    settings = {"OMP_WAIT_POLICY": "PASSIVE"}
    flags = pathlib.Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    cores = [""] + ["Haswell", "Zen"] * ("avx2" in flags) + ["SkylakeX"] * ("avx512bw" in flags)
    speeds = {core: openblas_speed(dict(os.environ, **settings, **({"OPENBLAS_CORETYPE": core} if core else {}))) for core in cores}
    best = max(speeds, key=speeds.get)
    if best and speeds[best] > 1.02 * speeds[""]:
        settings["OPENBLAS_CORETYPE"] = best
    print("peers run with", " ".join(f"{name}={value}" for name, value in settings.items()), flush=True)
    return settings


def openblas_speed(environment):
    """Products a second of two matrices, 768 wide, on one thread; 0 where that cannot be run."""
    trial = """
import ctypes, time, numpy
blas = ctypes.CDLL("libopenblas.so.0")
n = 768
a, b, c = (numpy.ones((n, n), numpy.float32) for _ in range(3))
pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
one = ctypes.c_float(1)
best = 1e9
for _ in range(12):
    start = time.perf_counter()
    blas.cblas_sgemm(101, 111, 111, n, n, n, one, pointer(a), n, pointer(b), n, one, pointer(c), n)
    best = min(best, time.perf_counter() - start)
print(1 / best)
"""
    done = subprocess.run(["/usr/bin/python3", "-c", trial], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(environment, OPENBLAS_NUM_THREADS="1"))
    return float(done.stdout or 0)


class Contender:
    """A process that runs one training step for each line it is sent."""

    def __init__(self, command, model, batch, threads, dropout):
        # PyTorch's forward and backward threads have a team of workers each; while one team spins the other starves, unless waiting is passive.
        environment = dict(os.environ, **peer_settings(), OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                           MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([*command, model, str(batch), str(threads), str(dropout)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"bench: {command[-1]} {model} did not start")

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def race(contenders, turns):
    """The median step seconds of each, after two steps to warm up, taking turns so that a disturbance hits all alike."""
    for contender in contenders:
        contender.ask("step")
        contender.ask("step")
    times = [[] for _ in contenders]
    for _ in range(turns):
        for contender, seconds in zip(contenders, times):
            seconds.append(contender.ask("step"))
    return [statistics.median(seconds) for seconds in times]


def line(name, peer, threads, ours, theirs, target):
    ratio = ours / theirs
    verdict = "" if target == 0 else "PASS" if ratio >= target else "short"  # some are only reported
    print(f"{name:<46} {threads} thr {ours:>10.4g} ours {theirs:>10.4g} {peer:<14} ratio {ratio:6.3f}  target {target:<5} {verdict}", flush=True)
    return {"name": name, "peer": peer, "threads": threads, "ours": ours, "theirs": theirs, "ratio": ratio, "target": target}


def native(name, options):
    """The lines of a benchmark that times both contenders in its own process."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        extra = ["--seconds", "0.1"] if options.quick else []
        subprocess.run([BUILD / "bench" / name, "--json", out.name, *extra], check=True, env=dict(os.environ, **peer_settings()))
        return json.load(open(out.name))


def matmul(options):
    return native("matmul_bench", options)


def digits(options):
    return native("digit_bench", options)


def hashing(options):
    return native("hash_bench", options)


def torch_version():
    return "torch " + subprocess.run(["/usr/bin/python3", "-c", "import torch; print(torch.__version__)"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def steps(options):
    lines = []
    peer = torch_version()
    cases = [("gpt2-124m", 4, 0.0, 1.0, 7), ("gpt2-124m", 4, 0.1, 1.0, 5), ("resnet50", 32, 0.0, 0.9, 5)]
    for threads in (1, 2):
        for model, batch, dropout, target, turns in cases:
            contenders = [Contender(command, model, batch, threads, dropout) for command in (OURS, TORCH)]
            ours, theirs = race(contenders, 3 if options.quick else turns)
            memory = [contender.ask("memory") / 2**30 for contender in contenders]
            for contender in contenders:
                contender.close()
            what = f"{model} step, batch {batch}" + (f", dropout {dropout}" if dropout else "")
            lines.append(line(f"{what} (1/s)", peer, threads, 1 / ours, 1 / theirs, target))
            lines.append(line(f"{what}, memory (1/GiB)", peer, threads, 1 / memory[0], 1 / memory[1], 1.0))
    return lines


def precisions(options):
    """The same steps with contractions by digits beside fp32; what they gain depends on the processor's units for 8-bit integers."""
    lines = []
    for model, batch in (("gpt2-124m", 4), ("resnet50", 32)):
        contenders = [Contender(OURS, model + suffix, batch, 2, 0.0) for suffix in ("", "-int8x3", "-int8x2")]
        fp32, *others = race(contenders, 3 if options.quick else 5)
        for contender in contenders:
            contender.close()
        for precision, seconds in zip(("int8x3", "int8x2"), others):
            lines.append(line(f"{model} step, batch {batch}, {precision} (1/s)", "fp32", 2, 1 / seconds, 1 / fp32, 0.0))
    return lines


def committing(options):
    """A log entry every 10 steps, the default, against the same steps without: the state of GPT-2-124M is 1.5 GB to hash."""
    contender = Contender(OURS, "gpt2-124m", 4, 2, 0.0)
    turns = 3 if options.quick else 7
    contender.ask("step")
    step = statistics.median(contender.ask("step") for _ in range(turns))
    commit = statistics.median(contender.ask("commit") for _ in range(turns))
    contender.close()
    return [line("gpt2-124m, committing every 10 steps (steps/s)", "not committing", 2, 10 / (10 * step + commit), 1 / step, 0.98)]


def auditing(options):
    """A full audit against the training, and a sample of a fifth of the segments against a fifth of the training, whole commands timed."""
    assay = BUILD / "assay"
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, ASSAY_KEY=f"{folder}/key")
        subprocess.run([assay, "keygen", "--out", f"{folder}/key"], check=True, stdout=subprocess.DEVNULL)

        def timed(*command):
            start = time.perf_counter()
            subprocess.run([assay, *command, "--quiet", "--threads", "2"], check=True, stdout=subprocess.DEVNULL, env=environment)
            return time.perf_counter() - start

        job = pathlib.Path(folder) / "job.toml"
        job.write_text(AUDIT_JOB)
        trains, audits, samples = [], [], []
        for turn in range(3 if options.quick else 5):  # by turns, because the machine's speed drifts
            run = f"{folder}/run{turn}"
            trains.append(timed("train", job, "--out", run))
            audits.append(timed("audit", run))
            samples.append(timed("audit", run, "--sample", "20%", "--nonce", f"{turn:02x}"))
            shutil.rmtree(run)
        train, audit, sample = (statistics.median(times) for times in (trains, audits, samples))
    # The sample also reads the data, builds the program and makes the starting state, as every audit does.
    return [line("gpt2-small, full audit (1/s)", "training", 2, 1 / audit, 1 / train, 1 / 1.05),
            line("gpt2-small, audit of a 20% sample (1/s)", "training x 0.2", 2, 1 / sample, 1 / (0.2 * train), 1 / 1.05)]


AUDIT_JOB = """
name = "audit"
steps = 200
[model]
kind = "gpt2"
context = 128
layers = 4
heads = 8
width = 256
dropout = 0.1
[data]
kind = "chars"
[batch]
microbatch = 4
sequence = 128
[snapshot]
every = 10
"""


def linearity(options):
    """Samples per second at a large batch over those at a small one: constant when cost grows linearly."""
    lines = []
    for small, large in ((2, 4), (4, 8), (8, 16)):
        contenders = [Contender(OURS, "gpt2-small", batch, 2, 0.0) for batch in (large, small)]
        seconds = race(contenders, 5 if options.quick else 15)
        for contender in contenders:
            contender.close()
        lines.append(line(f"gpt2-small, batch {large} over batch {small} (samples/s)", f"batch {small}", 2, large / seconds[0],
                          small / seconds[1], 0.95))
    return lines


def startup(options):
    """The whole of a one-step training, against the limit of 0.3 s."""
    assay = ROOT / "build" / "release" / "assay"
    if not assay.exists():
        assay = BUILD / "assay"
    lines = []
    for example in ("mlp", "gpt2-tiny", "llama-tiny", "resnet18-tiny"):
        seconds = []
        for _ in range(3 if options.quick else 7):
            with tempfile.TemporaryDirectory() as out:
                start = time.perf_counter()
                subprocess.run([assay, "train", ROOT / "examples" / f"{example}.toml", "--out", f"{out}/run", "--steps", "1"], check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                seconds.append(time.perf_counter() - start)
        lines.append(line(f"{example}, start and one step (1/s)", "0.3 s", 2, 1 / statistics.median(seconds), 1 / 0.3, 1.0))
    return lines


def disputes(options):
    """What a dispute about any sort of node of GPT-2-124M costs the referee at most, against the limits; larger models by their shapes."""
    program = BUILD / "bench" / "dispute_bill"
    printed = subprocess.run([program, "small" if options.quick else "gpt2-124m"], stdout=subprocess.PIPE, text=True).stdout
    lines = []
    for record in map(json.loads, printed.splitlines()):
        if record["section"] != "dispute":
            continue
        what = f"dispute, {record['model']}, {record['from']}"
        for field, limit in (("bytes_received", 1_000_000), ("rounds", record["rounds_allowed"]), ("referee_cpu_ms", 1000)):
            if field in record:
                lines.append(line(f"{what}: {field} {record[field]:.0f} (limit over it)", str(limit), 1, limit, record[field], 1.0))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--only", default="", help="only the parts whose name contains this")
    options = parser.parse_args()
    lines = []
    for part in (startup, linearity, hashing, committing, auditing, disputes, matmul, digits, steps, precisions):
        if options.only in part.__name__:
            print(f"== {part.__name__}", flush=True)
            lines += part(options)
    (ROOT / "build" / "bench.json").write_text(json.dumps(lines, indent=1) + "\n")
    short = [entry for entry in lines if entry["ratio"] < entry["target"]]
    held = sum(entry["target"] > 0 for entry in lines)
    print(f"bench: {held - len(short)} of {held} lines with a target pass, {len(lines) - held} are only reported; build/bench.json")
    for entry in short:
        print(f"  short: {entry['name']}, {entry['threads']} threads: {entry['ratio']:.3f} of {entry['target']}")
    return 1 if short or not lines else 0


if __name__ == "__main__":
    sys.exit(main())

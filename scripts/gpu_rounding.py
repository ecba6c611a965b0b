#!/usr/bin/env python3
"""Rounded FP64 training on a machine with a GPU (docs/ROUNDING.md): cuBLAS against OpenBLAS in both directions, the cost of the log, PyTorch beside it.

Usage: gpu_rounding.py BINARIES OUT [--parts ops,cost,torch,large,small,memcheck,racecheck] [--steps N] [--commit NAME]
BINARIES holds assay and backend_cublas_test (the preset `device`). Writes OUT.md and OUT.json after every part. Exit status 1 if anything differs; speeds are only reported.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SMALL = {"mlp": "examples/mlp.toml", "gpt2-tiny": "examples/gpt2-tiny.toml", "llama-tiny": "examples/llama-tiny.toml",
         "resnet18-tiny": "examples/resnet18-tiny.toml"}
LARGE = {"gpt2-124m b8 t64": "bench/gpu/gpt2-124m-t64.toml", "resnet50 b64": "bench/gpu/resnet50-b64.toml"}
COST = {"gpt2-124m b8 t64": "bench/gpu/gpt2-124m-t64.toml", "gpt2-124m b8 t1024": "bench/gpu/gpt2-124m-t1024.toml",
        "resnet50 b64": "bench/gpu/resnet50-b64.toml"}
STARTED = time.time()


def say(text):
    print(f"{time.time() - STARTED:5.0f} s  {text}", flush=True)


class Machine:
    def __init__(self, binaries, folder):
        self.binaries, self.folder = pathlib.Path(binaries).resolve(), pathlib.Path(folder)
        self.assay = str(self.binaries / "assay")
        self.environment = dict(os.environ, ASSAY_KEY=str(self.folder / "key"))
        subprocess.run([self.assay, "keygen", "--out", str(self.folder / "key"), "--name", "gpu"], check=True, capture_output=True)

    def run(self, *words, expected=(0,)):
        result = subprocess.run([self.assay, *words], env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=ROOT)
        if result.returncode not in expected:
            raise RuntimeError(f"assay {' '.join(words)}: exit status {result.returncode}: {result.stderr[-500:]}")
        return json.loads(result.stdout.strip().splitlines()[-1])

    def job(self, path, precision, steps):
        """The job with another precision and number of steps, every step committed."""
        text = (ROOT / path).read_text()
        text = re.sub(r"^(precision|round_bits|round_rule|steps)\s*=.*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"^\[(commit|snapshot|eval)\]\n(?:[^\[\n].*\n)*", "", text, flags=re.MULTILINE)
        to = self.folder / f"{pathlib.Path(path).stem}-{precision}.toml"
        to.write_text(f'precision = "{precision}"\nsteps = {steps}\n{text}\n[commit]\nevery = 1\n\n[snapshot]\nevery = {steps}\n')
        return str(to)

    def train(self, job, device, name):
        run = str(self.folder / f"{name}-{device}")
        self.run("train", job, "--device", device, "--out", run, "--quiet", "--json")
        return run

    def roots(self, run):
        return [entry["state_root"] for entry in self.run("log", run, "--json")["entries"]]


def first_difference(a, b):
    return next((step for step, (x, y) in enumerate(zip(a, b)) if x != y), None)


def test(machine, wrap=()):
    """Every op and case: each of host and device follows what the other recorded."""
    command = [*wrap, str(machine.binaries / "backend_cublas_test"), "--gtest_brief=1", *(["--gtest_filter=*_32"] if wrap else [])]
    result = subprocess.run(command, capture_output=True, text=True)
    lines = re.findall(r"^(\w+) at (\d+) bits: (\d+) decisions, (\d+) corrections", result.stdout, flags=re.MULTILINE)
    return {"ok": result.returncode == 0 and "SKIPPED" not in result.stdout, "ops": len({line[0] for line in lines}),
            "decisions": sum(int(line[2]) for line in lines),
            "corrections": sum(int(line[3]) for line in lines), "tail": (result.stdout + result.stderr)[-600:]}


def both_ways(machine, name, path, steps):
    rounded, plain = machine.job(path, "fp64-rounded", steps), machine.job(path, "fp32-vendor", steps)
    rows = []
    for trainer, auditor in (("cuda", "cpu"), ("cpu", "cuda")):
        run = machine.train(rounded, trainer, f"{pathlib.Path(path).stem}-rounded")
        audit = machine.run("audit", run, "--device", auditor, "--quiet", "--json", expected=(0, 3))
        free = machine.run("audit", run, "--device", auditor, "--rule", "none", "--quiet", "--json", expected=(0, 3))
        rows.append({"job": name, "steps": steps, "trainer": trainer, "auditor": auditor, "verdict": audit["verdict"], "reason": audit["reason"],
                     "corrections": audit["corrections"], "decisions": audit["decisions"], "elements": audit["rounded_elements"],
                     "log_bytes_per_step": audit["log_bytes"] / steps, "without_log_differs_at": free["step"]})
        say(json.dumps(rows[-1]))
    states = [machine.roots(machine.train(plain, device, f"{pathlib.Path(path).stem}-fp32")) for device in ("cuda", "cpu")]
    for row in rows:
        row["fp32_differs_at"] = first_difference(*states)
    return rows


def cost(machine, name, path, steps):
    bench = machine.run("bench", machine.job(path, "fp64-rounded", 20), "--device", "cuda", "--steps", str(steps), "--json")
    say(f"{name}: {json.dumps(bench['modes'])}")
    return {"job": name, **{key: bench[key] for key in ("modes", "log_bytes", "decisions", "elements", "operators", "device_peak_bytes")}}


def torch_steps(only):
    result = subprocess.run([sys.executable, str(ROOT / "bench/peer_torch_gpu.py"), "--quick", "--only", only], capture_output=True, text=True)
    records = [json.loads(line) for line in result.stdout.splitlines()]
    return [r for r in records if r["section"] == "peer"]


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join(["---"] + ["---:"] * (len(head) - 1)) + " |"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def never(step):
    return "never" if step is None else step


def markdown(report):
    yield f"# Rounded FP64 training on {report['machine']}, {report['date']}"
    yield ""
    yield f"`scripts/gpu_rounding.py`, commit {report['commit']}, driver {report['driver']}."
    yield ""
    for key, words in (("ops", "Every op and case, host and device each following what the other recorded"),
                       ("memcheck", "The same under compute-sanitizer memcheck"), ("racecheck", "The same under compute-sanitizer racecheck")):
        if key in report:
            r = report[key]
            yield (f"- {words}: {'equal' if r['ok'] else 'FAILED'}; {r['ops']} ops, {r['decisions']:,} decisions, {r['corrections']} corrections.")
    yield ""
    if "replication" in report:
        yield "## Exact replication, cuBLAS against OpenBLAS"
        yield ""
        yield from table(["job", "steps", "trained on", "audited on", "verdict", "rounded elements", "decisions", "corrections", "log, bytes a step",
                          "`--rule none` differs at step", "fp32-vendor differs at step"],
                         [[r["job"], r["steps"], r["trainer"], r["auditor"], r["verdict"], f"{r['elements']:,}", f"{r['decisions']:,}", r["corrections"],
                           f"{r['log_bytes_per_step']:,.0f}", never(r["without_log_differs_at"]), never(r.get("fp32_differs_at"))] for r in report["replication"]])
    if "cost" in report:
        peers = {(p["name"], p["precision"]): p["step_ms"] for p in report.get("torch", []) if "step_ms" in p and p["variant"] in ("eager", "eager contiguous")}
        yield "## Cost of a step on the GPU"
        yield ""
        rows = []
        for r in report["cost"]:
            plain, record, follow = (r["modes"][mode] for mode in ("plain", "record", "follow"))
            peer = [f"{peers[r['job'], p]:.1f}" if (r["job"], p) in peers else "-" for p in ("fp32", "fp64")]
            rows.append([r["job"], f"{1e3 * plain['seconds']:.1f}", f"{1e3 * record['seconds']:.1f}", f"{record['ratio']:.3f}", f"{1e3 * follow['seconds']:.1f}",
                         f"{follow['ratio']:.3f}", f"{r['log_bytes']:,}", f"{r['decisions']:,}", f"{r['elements']:,}", *peer])
        yield from table(["job", "plain ms", "trainer ms", "ratio", "auditor ms", "ratio", "log, bytes", "decisions", "rounded elements", "PyTorch FP32 ms", "PyTorch FP64 ms"], rows)
        yield "The slowest operators, waited for one by one (ms of a step: plain, trainer, auditor):"
        yield ""
        for r in report["cost"]:
            slowest = sorted(r["operators"].items(), key=lambda item: -item[1]["record"])[:8]
            yield f"- {r['job']}: " + "; ".join(f"{op} {1e3 * t['plain']:.1f}, {1e3 * t['record']:.1f}, {1e3 * t['follow']:.1f}" for op, t in slowest)
        yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("out")
    parser.add_argument("--parts", default="ops,cost,torch,large,small,memcheck,racecheck")
    parser.add_argument("--steps", type=int, default=20, help="of the large models")
    parser.add_argument("--small-steps", type=int, default=200)
    parser.add_argument("--commit", default="unknown")
    options = parser.parse_args()
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout
    name, driver = gpu.splitlines()[0].split(", ")
    report = {"machine": name, "driver": driver, "commit": options.commit, "date": time.strftime("%Y-%m-%d")}
    out = pathlib.Path(options.out)
    failed = []

    def attempt(what, work):
        say(what)
        try:
            return work()
        except Exception as error:  # what is measured already is kept
            failed.append(f"{what}: {error}")
            say(failed[-1])
            return None

    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(options.binaries, folder)
        for part in options.parts.split(","):
            if part in ("ops", "memcheck", "racecheck"):
                wrap = () if part == "ops" else ("compute-sanitizer", "--tool", part, "--error-exitcode", "9")
                result = attempt(part, lambda: test(machine, wrap))
                if result is None:
                    continue
                report[part] = result
                say(f"{part}: ok" if result["ok"] else result["tail"])
            elif part in ("small", "large"):
                for job, path in (SMALL if part == "small" else LARGE).items():
                    steps = options.small_steps if part == "small" else options.steps
                    report.setdefault("replication", []).extend(attempt(job, lambda: both_ways(machine, job, path, steps)) or [])
            elif part == "cost":
                report["cost"] = [r for r in (attempt(job, lambda: cost(machine, job, path, 7)) for job, path in COST.items()) if r]
            elif part == "torch":
                report["torch"] = attempt("PyTorch", lambda: torch_steps("fp32 eager$|fp32 eager contiguous$|fp64")) or []
            out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
            out.with_suffix(".md").write_text("\n".join(markdown(report)))
    failed += [key for key in ("ops", "memcheck", "racecheck") if key in report and not report[key]["ok"]]
    failed += [f"{r['job']} {r['trainer']}" for r in report.get("replication", []) if r["verdict"] != "verified"]
    print("gpu_rounding: " + ("all equal" if not failed else "FAILED: " + "; ".join(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

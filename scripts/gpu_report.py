#!/usr/bin/env python3
"""Turns measurements taken on a GPU into docs/results/GPU-DATE.json and .md.

Usage: gpu_report.py FOLDER [--date YYYY-MM-DD] [--out FOLDER]. Reads every file of the folder, in order of name. A line that is a
JSON object with "section" and "name" is a record; any other line is passed over, so that whole outputs can be given. Of timings
with the same section, name, precision, variant, step and peer the last counts; facts about the machine, conformance and equality are all
kept, so that none can hide a failure. Beside "section" and "name" a record has

  machine      (name: of the GPU) anything else is shown as it is: driver, cuda, torch, ...; copy_gigabytes_per_second is the peak of bandwidth
  conformance  cases, failed: an op's outputs compared with the reference's, bit for bit; against (optional)
  finding      tool, count: what a sanitizer said (scripts/sanitizer_records.py)
  equality     steps, root, expected (state roots at the end of a training, here and elsewhere), against (which machine or backend)
  matmul, conv ours, theirs (speeds in one unit), unit, peer; target (optional, of ours / theirs), tile (optional: what was chosen)
  digits       the same of products by digits; of_int8_peak (of the products alone), cutting (share of the time that makes digits)
  clock        mhz, watts, of (what was running): medians
  step         step_ms; precision (fp32 unless said), allocated_bytes, committing_ms (optional: with the state's root after each step), parts (optional:
               seconds by kind of work): our training step
  peer         precision, variant, step_ms, allocated_bytes, reserved_bytes, or error: bench/peer_torch_gpu.py prints these
  hash         bytes, ms
  kernel       ms, calls, tflops, gbps: where a step's time goes; of (which step)

A step is compared with each of the peers of its name; ratios are speeds, ours over theirs, so that more than 1 is faster.
"""

import argparse
import datetime
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read(folder):
    """The records of all files."""
    records = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for line in path.read_bytes().decode("utf-8", "replace").splitlines():
            if not line.startswith("{"):
                continue
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "section" in record and "name" in record:
                all_count = record["section"] in ("machine", "conformance", "equality")
                kind = [str(record.get(key, "")) for key in ("section", "name", "precision", "variant", "of", "tool", "peer")]
                records[(*kind, len(records) if all_count else None)] = record
    return list(records.values())


def number(value, digits=3):
    return "" if value is None else f"{value:,.{digits}f}"


def gib(value):
    return "" if value is None else f"{value / 2**30:.2f}"


def table(title, header, rows):
    """A section of the page, or nothing where there are no rows. Columns whose heading begins with > are aligned to the right."""
    if not rows:
        return []
    rule = ["---:" if name.startswith(">") else "---" for name in header]
    lines = [[name.lstrip(">") for name in header], rule, *rows]
    return ["", f"## {title}", "", *("| " + " | ".join(str(cell) for cell in cells) + " |" for cells in lines)]


def conformance(records):
    rows = [[r["name"], r["cases"], r["failed"], r.get("against", "reference")] for r in records]
    return table("Conformance: outputs equal bit for bit", ["op", ">cases", ">unequal", "against"], rows)


def findings(records):
    rows = [[r["tool"], r["count"], r["name"]] for r in records]
    return table("Findings of the sanitizers", ["tool", ">times", "finding"], rows)


def equality(records):
    rows = []
    for r in records:
        verdict = "equal" if r["root"] == r["expected"] else "DIFFERENT"
        rows.append([r["name"], r["steps"], r.get("against", ""), f"`{r['root'][:16]}`", verdict])
    return table("Trainings: the state root at the end", ["job", ">steps", "against", "root", ""], rows)


def speeds(title, records):
    rows = [[r["name"], number(r["ours"], 1), number(r["theirs"], 1), r["unit"], r["peer"], number(r["ours"] / r["theirs"]),
             number(r.get("target"), 2), r.get("tile", "")] for r in records]
    return table(title, ["shape", ">ours", ">theirs", "unit", "peer", ">ratio", ">target", "tile"], rows)


def precision(record):
    return record.get("precision", "fp32")


def steps(ours, peers):
    rows, memory = [], []
    for peer in peers:
        what = [peer["name"], peer["precision"], peer["variant"]]
        if "error" in peer:
            rows.append([*what, "failed", "", "", ""])
            continue
        for r in (r for r in ours if r["name"] == peer["name"]):
            used = r.get("allocated_bytes")
            rows.append([*what, number(peer["step_ms"], 2), precision(r), number(r["step_ms"], 2), number(peer["step_ms"] / r["step_ms"])])
            ratio = number(used and peer["reserved_bytes"] / used)
            memory.append([*what, gib(peer["allocated_bytes"]), gib(peer["reserved_bytes"]), precision(r), gib(used), ratio])
    named = {peer["name"] for peer in peers}
    rows += [[r["name"], "", "", "", precision(r), number(r["step_ms"], 2), ""] for r in ours if r["name"] not in named]
    peer = ["step", "precision", "PyTorch"]
    commits = [[r["name"], precision(r), number(r["step_ms"], 2), number(r["committing_ms"], 2),
                f"{100 * (r['committing_ms'] / r['step_ms'] - 1):.1f} %"] for r in ours if "committing_ms" in r]
    kinds = list(dict.fromkeys(part for r in ours for part in r.get("parts", {})))
    parts = [[r["name"], precision(r), *(number(1e3 * r["parts"][kind], 2) for kind in kinds)] for r in ours if "parts" in r]
    return [*table("Training steps", [*peer, ">theirs (ms)", "ours in", ">ours (ms)", ">ratio"], rows),
            *table("What our steps' time goes into (ms, each launch by itself)", ["step", "precision", *(f">{kind}" for kind in kinds)], parts),
            *table("Committing every step", ["step", "precision", ">step (ms)", ">with the state's root (ms)", ">cost"], commits),
            *table("Peak memory of a step (GiB; ours is all that was taken of the device, as reserved is)",
                   [*peer, ">allocated", ">reserved", "ours in", ">ours", ">reserved / ours"], memory)]


def by_digits(records):
    rows = [[r["name"], number(r["ours"], 2), number(r["theirs"], 2), r["unit"], r["peer"], number(r["ours"] / r["theirs"]), number(r.get("target"), 2),
             number(r.get("of_int8_peak"), 2), number(r.get("cutting"), 2)] for r in records]
    return table("Products by digits, making the digits included",
                 ["shape", ">ours", ">theirs", "unit", "peer", ">ratio", ">target", ">products' share of the int8 peak", ">digits' share of the time"], rows)


def clocks(records):
    return table("Clock and power", ["while", ">MHz", ">W"], [[r["name"], number(r.get("mhz"), 0), number(r.get("watts"), 0)] for r in records])


def hashing(records):
    rows = [[r["name"], f"{r['bytes']:,}", number(r["ms"], 4), number(r["bytes"] / r["ms"] / 1e6, 1)] for r in records]
    return table("Hashing", ["what", ">bytes", ">ms", ">GB/s"], rows)


def kernels(records, ours, flops_peak, bytes_peak, most=8):
    """The slowest, with the better of their shares of the two peaks."""
    totals = {r["name"]: r["step_ms"] for r in ours if precision(r) == "fp32"}
    totals |= {f"{r['name']} {r['precision']}": r["step_ms"] for r in ours if "precision" in r}
    rows = []
    for step in dict.fromkeys(r["of"] for r in records):
        part = sorted((r for r in records if r["of"] == step), key=lambda r: -r["ms"])
        for r in part[:most]:
            flops = r["tflops"] / flops_peak if flops_peak else 0
            moved = r["gbps"] / bytes_peak if bytes_peak else 0
            peak = f"{100 * flops:.0f} % of FLOP/s" if flops >= moved else f"{100 * moved:.0f} % of bandwidth"
            rows.append([step, r["name"], r["calls"], number(r["ms"]), f"{100 * r['ms'] / totals[step]:.1f} %", number(r["tflops"], 1),
                         number(r["gbps"], 0), peak])
    title = "Slowest kernels, with their share of the measured peaks"
    if flops_peak and bytes_peak:
        title += f" (cuBLAS FP32 at its best {flops_peak:.1f} TFLOP/s, copying {bytes_peak:.0f} GB/s)"
    return table(title, ["step", "kernel", ">calls", ">ms", ">of the step", ">TFLOP/s", ">GB/s", "peak"], rows)


def page(title, records):
    by = {}
    for record in records:
        by.setdefault(record["section"], []).append(record)

    def of(section):
        return by.get(section, [])

    facts = {key: value for r in of("machine") for key, value in r.items() if key not in ("section", "name")}
    lines = [f"# {title}", "", "Written by scripts/gpu_report.py. Ratios are speeds, ours over theirs.", ""]
    lines += [f"- {key}: {value}" for key, value in facts.items()]
    lines += conformance(of("conformance")) + findings(of("finding")) + equality(of("equality"))
    lines += speeds("Matrix multiplication", of("matmul")) + speeds("Convolution", of("conv")) + by_digits(of("digits")) + clocks(of("clock"))
    lines += steps(of("step"), of("peer")) + hashing(of("hash"))
    peak = max((r["theirs"] for r in of("matmul") if r["unit"] == "TFLOP/s"), default=0)
    lines += kernels(of("kernel"), of("step"), peak, facts.get("copy_gigabytes_per_second", 0))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "results")
    options = parser.parse_args()
    records = read(options.folder)
    machines = list(dict.fromkeys(r["name"] for r in records if r["section"] == "machine"))
    if len(machines) != 1:
        sys.exit(f"gpu_report: {options.folder}: expected records of one machine, got {machines or 'none'}")
    options.out.mkdir(parents=True, exist_ok=True)
    gpu = re.sub(r"[^a-z0-9]+", "-", machines[0].lower().removeprefix("nvidia ")).strip("-")
    base = options.out / f"{gpu}-{options.date}"
    records_text = ",\n".join(" " + json.dumps(record) for record in records)
    base.with_name(base.name + ".json").write_text(f"[\n{records_text}\n]\n")
    base.with_name(base.name + ".md").write_text(page(f"{machines[0]}, {options.date}", records))
    print(f"gpu_report: {len(records)} records, {base}.md")


if __name__ == "__main__":
    main()

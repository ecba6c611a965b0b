#!/usr/bin/env python3
"""Loss, utilisation and memory of a run over time, from its telemetry.bin: NAME.svg, NAME.md and NAME.json.

Usage: telemetry_plot.py RUN --out FOLDER --name NAME [--title TEXT] [--note TEXT] [--seed SEED.json] [--strict STRICT.json] [--command TEXT]

--seed and --strict: what `assay check RUN --rules seed --json` and `--rules strict --json` printed; their verdicts go into the report.
"""
import argparse
import json
import pathlib
import statistics

import loss_plot
import telemetry_file

MOST_POINTS = 1500  # of a curve: a picture shows no more


def thinned(points):
    stride = -(-len(points) // MOST_POINTS)
    return points[::stride] + ([points[-1]] if points and (len(points) - 1) % stride else [])


class Figures:
    """What is drawn and told, over the run's sessions one after the other."""

    def __init__(self, run):
        self.sessions = telemetry_file.read(pathlib.Path(run) / "telemetry.bin")
        first = self.sessions[0].wall_us
        self.loss, self.used, self.memory, self.power, self.seconds = [], [], [], [], 0
        for session in self.sessions:
            begin = (session.wall_us - first) / 1e6
            at = lambda us: begin + us / 1e6  # noqa: E731
            self.loss += [(at(step.mono_us), step.loss) for step in session.steps_done]
            self.used += [(at(us), percent) for us, percent in telemetry_file.utilisation(session)]
            self.memory += [(at(us), size / 2**30) for us, size in telemetry_file.memory(session)]
            self.power += [(at(sample.mono_us), sample.gpu["power_mw"] / 1e3) for sample in session.samples if sample.gpu and "power_mw" in sample.gpu]
            self.seconds += (max(sample.mono_us for sample in session.samples) if session.samples else 0) / 1e6
        self.last = self.sessions[-1]
        self.steps = max((step.step for session in self.sessions for step in session.steps_done), default=0)

    def summary(self):
        last, steps = self.last, [step for session in self.sessions for step in session.steps_done]
        times = [b.mono_us - a.mono_us for session in self.sessions for a, b in zip(session.steps_done, session.steps_done[1:])]
        energies = [[s.gpu["energy_mj"] for s in session.samples if s.gpu and "energy_mj" in s.gpu] for session in self.sessions]
        out = {"device": last.device, "processor": last.processor, "gpu": last.gpu, "kernels": last.kernels, "threads": last.threads, "sessions": len(self.sessions),
               "steps": self.steps, "samples": sum(len(session.samples) for session in self.sessions), "sample_ms": last.interval_ms, "seconds": round(self.seconds, 2),
               "step_ms_median": round(statistics.median(times) / 1e3, 3) if times else None,
               "samples_per_s": round(last.step_samples * 1e6 / statistics.median(times), 1) if times else None,
               "gflop_per_s": round(last.step_flops * 1e-3 / statistics.median(times), 1) if times else None,
               "loss_first": round(steps[0].loss, 4) if steps else None,
               "loss_last_20": round(statistics.mean(step.loss for step in steps[-20:]), 4) if steps else None,
               "utilisation_mean": round(statistics.mean(value for _, value in self.used), 2) if self.used else None,
               "memory_peak_gib": round(max(value for _, value in self.memory), 3) if self.memory else None,
               "power_mean_w": round(statistics.mean(value for _, value in self.power), 1) if self.power else None,
               "energy_j": round(sum(e[-1] - e[0] for e in energies if e) / 1e3, 1) if any(energies) else None}
        return out

    def svg(self, title):
        where = "GPU" if self.last.device == "cuda" else "processor"
        panels = [("loss", self.loss, "#2563eb"), (f"{where} utilisation, %", self.used, "#16a34a"), (f"{where} memory, GiB", self.memory, "#b45309")]
        if self.power:
            panels.append(("power, W", self.power, "#be123c"))
        column, end = [], max(points[-1][0] for _, points, _ in panels if points)
        for label, points, colour in panels:
            if points:
                curve = loss_plot.Curve(label, colour, 1.2, "", thinned(points))
                column.append(loss_plot.Panel("" if column else title, label, False, [curve], None if label == "loss" else 0, (0, end)))
        return loss_plot.draw([column], across="seconds", legend=False)


def verdicts(path):
    report = json.loads(pathlib.Path(path).read_text().strip().splitlines()[-1])
    rows = ["| rule | verdict | figure | threshold | reason |", "| --- | --- | --- | --- | --- |"]
    for rule in report["rules"]:
        cells = [rule.get(key) for key in ("rule", "verdict", "figure", "threshold", "reason")]
        rows.append("| " + " | ".join("" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell).replace("|", "/") for cell in cells) + " |")
    return report, f"**{report['set']}**: {report['verdict']}\n\n" + "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("run")
    parser.add_argument("--out", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--title", default=None)
    parser.add_argument("--note", default="")
    parser.add_argument("--command", default=None)
    parser.add_argument("--seed")
    parser.add_argument("--strict")
    given = parser.parse_args()
    figures, out = Figures(given.run), pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    summary = figures.summary()
    title = given.title or f"{figures.steps} steps on {summary['gpu'] or summary['processor']}"
    (out / f"{given.name}.svg").write_text(figures.svg(title))
    text = [f"# {title}", "", f"`{given.command or 'scripts/telemetry_plot.py ' + given.run}`", "", f"![loss, utilisation and memory]({given.name}.svg)", "",
            *([given.note, ""] if given.note else []), "Everything here is from the run's own `telemetry.bin`, which is chained and signed (docs/formats/telemetry.md).", "", "| figure | |", "| --- | --- |"]
    text += [f"| {key.replace('_', ' ')} | {value} |" for key, value in summary.items() if value not in (None, "")]
    checks = {}
    if given.seed or given.strict:
        text += ["", "## Checks", "", "`assay check`, see docs/CHECKS.md. The published rules (seed) refuse honest runs of some kinds, and say so here.", ""]
        for name in ("seed", "strict"):
            if getattr(given, name):
                checks[name], table = verdicts(getattr(given, name))
                text += [table, ""]
    (out / f"{given.name}.md").write_text("\n".join(text).rstrip() + "\n")
    (out / f"{given.name}.json").write_text(json.dumps({"summary": summary, "checks": checks}, indent=1) + "\n")
    print(out / f"{given.name}.md")


if __name__ == "__main__":
    main()

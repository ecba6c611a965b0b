"""What `assay train --mlflow` and `assay log --mlflow` send to an MLflow server (fake_mlflow.py), with outages, kills and repetitions.

    sent_to_mlflow.py ASSAY
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))

import exposition  # noqa: E402
import fake_mlflow  # noqa: E402
import telemetry_file  # noqa: E402

ASSAY = os.path.abspath(sys.argv[1])
TOKEN = "secret-token"


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAIL: {message}")


class Bench:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "MLFLOW_", "XDG_"))}
        self.environment.update(HOME=str(self.folder), MLFLOW_TRACKING_TOKEN=TOKEN)

    def job(self, name, steps, every=10):
        text = pathlib.Path("examples/mlp.toml").read_text()
        text = re.sub(r"(?m)^steps = .*", f"steps = {steps}", text)
        text = re.sub(r"(?m)^name = .*", f'name = "{name}"', text)
        text = text.split("[snapshot]")[0] + f"[snapshot]\nevery = {every}\n"
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def assay(self, *words, status=0, **environment):
        done = subprocess.run([ASSAY, *map(str, words)], capture_output=True, text=True, timeout=300, env={**self.environment, **environment})
        check(done.returncode == status, f"{words}: status {done.returncode}, expected {status}: {done.stdout}{done.stderr}")
        return done

    def start(self, *words):
        return subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)


def only_run(server):
    check(len(server.tracker.runs) == 1, f"{len(server.tracker.runs)} runs, expected one")
    return next(iter(server.tracker.runs.values()))


def expect_whole(run, steps, path, what):
    """All that the run's telemetry holds is there, once."""
    losses = [(step, value) for key, value, _, step in run["metrics"] if key == "loss"]
    check([step for step, _ in losses] == list(range(1, steps + 1)), f"{what}: steps of the loss: {[s for s, _ in losses][:5]}... {len(losses)} of {steps}")
    samples = [sample for session in telemetry_file.read(path / "telemetry.bin") for sample in session.samples]
    told = [(stamp, step, value) for key, value, stamp, step in run["metrics"] if key == "memory_bytes"]
    check(told == [(sample.wall_us // 1000, sample.step, sample.resident) for sample in samples], f"{what}: {len(told)} of {len(samples)} samples")
    keys = {key for key, _, _, _ in run["metrics"]}
    check({"loss", "throughput", "cpu_util", "memory_bytes"} <= keys, f"{what}: metrics {keys}")
    return losses


def log_entries(bench, run):
    return {entry["step"]: entry["loss"] for entry in json.loads(bench.assay("log", run, "--json").stdout)["entries"]}


def whole_run(bench):
    """A training that is followed from its beginning to its end."""
    server = fake_mlflow.Server(TOKEN)
    out = bench.folder / "whole"
    began = time.time() * 1000
    bench.assay("train", bench.job("whole", 2500), "--out", out, "--mlflow", server.url, "--experiment", "two words & more", "--quiet")
    run = only_run(server)
    losses = dict(expect_whole(run, 2500, out, "a whole run"))
    for step, loss in log_entries(bench, out).items():
        check(step == 0 or abs(losses[step] - loss) < 1e-6, f"the loss of step {step}: {losses.get(step)}, committed is {loss}")
    check(run["status"] == "FINISHED" and run["start"] >= began - 1000 and run["end"] >= run["start"], f"status and times: {run['status']}")
    check(run["params"]["steps"] == "2500" and run["params"]["model.kind"] == "mlp" and "data.path" not in run["params"], f"params: {run['params']}")
    identity = json.loads(bench.assay("show", out, "--json").stdout)
    check(run["tags"]["assay.job"] == identity["job_id"] and run["name"] == "whole", f"tags: {run['tags']}")
    check(list(server.tracker.experiments.values()) == ["two words & more"], f"experiments: {server.tracker.experiments}")
    batches = [json.loads(raw) for method, path, raw, _ in server.tracker.calls if path.endswith("log-batch")]
    check(max(len(batch.get("metrics", [])) for batch in batches) <= 1000, "too many metrics in a call")
    # Once more sends nothing more; a second server gets everything, in as few calls as it takes.
    sent = json.loads(bench.assay("log", out, "--mlflow", server.url + "/", "--experiment", "two words & more", "--json").stdout)
    check(sent["metrics_sent"] == 0 and sent["finished"] and sent["run_id"] in server.tracker.runs, f"sent again: {sent}")
    check(len(server.tracker.runs) == 1, "a second run")
    other = fake_mlflow.Server(TOKEN)
    bench.assay("log", out, "--mlflow", other.url)
    expect_whole(only_run(other), 2500, out, "sent later")
    batches = [json.loads(raw) for _, path, raw, _ in other.tracker.calls if path.endswith("log-batch") and b'"metrics"' in raw]
    check(len(batches) <= len(only_run(other)["metrics"]) / 900 + 2, f"{len(batches)} calls for {len(only_run(other)['metrics'])} metrics")
    refused = bench.assay("log", out, "--mlflow", other.url, status=2, MLFLOW_TRACKING_TOKEN="another")
    check("UNAUTHENTICATED" in refused.stderr and TOKEN not in refused.stderr, f"a wrong token: {refused.stderr}")
    bench.assay("train", bench.job("whole", 2500), "--out", bench.folder / "x", "--mlflow", other.url, "--no-telemetry", status=2)
    for one in (server, other):
        one.stop()


def outages(bench):
    """A server that is not there when training begins, and fails in every way meanwhile: training does not wait, and nothing is lost or told twice."""
    server = fake_mlflow.Server(TOKEN)
    server.outage = ("before", "cut")
    steps = 60_000
    training = bench.start("train", bench.job("outages", steps, 10_000), "--out", bench.folder / "outages", "--mlflow", server.url, "--quiet")
    for outage in (("before", "cut"), None, ("before", 503), None, ("after", "cut"), None, ("after", 500), None, ("before", 429), None):
        with server.lock:
            server.outage = outage
        time.sleep(1.2)
        if training.poll() is not None:
            break
    with server.lock:
        server.outage = None
    _, said = training.communicate(timeout=240)
    check(training.returncode == 0, f"outages: {said}")
    check("training goes on" in said, f"outages: nothing is said: {said!r}")
    run = only_run(server)
    expect_whole(run, steps, bench.folder / "outages", "outages")
    check(run["status"] == "FINISHED", f"outages: {run['status']}")
    server.stop()


def away(bench):
    """A server that never answers delays the end of training by seconds; the rest is sent afterwards."""
    server = fake_mlflow.Server(TOKEN)
    server.outage = ("before", 503)
    out = bench.folder / "away"
    done = bench.assay("train", bench.job("away", 300), "--out", out, "--mlflow", server.url, "--quiet")
    check("send the rest with `assay log" in done.stderr, f"away: {done.stderr}")
    server.outage = None
    bench.assay("log", out, "--mlflow", server.url)
    expect_whole(only_run(server), 300, out, "away")
    server.stop()
    nowhere = bench.assay("train", bench.job("nowhere", 50), "--out", bench.folder / "nowhere", "--mlflow", "http://127.0.0.1:1", "--quiet")
    check("MLflow" in nowhere.stderr, f"nowhere: {nowhere.stderr}")
    bench.assay("train", bench.job("nowhere", 50), "--out", bench.folder / "bad", "--mlflow", "ftp://x", "--quiet", status=2)


def killed(bench):
    """Killed, resumed, interrupted and resumed again, the run is one run there, and each step stands once."""
    server = fake_mlflow.Server(TOKEN)
    steps = 100_000
    job, out = bench.job("killed", steps, 2_000), bench.folder / "killed"
    for how in (signal.SIGKILL, signal.SIGINT):
        training = bench.start("train", job, "--out", out, "--mlflow", server.url, "--quiet")
        before = len(only_run(server)["metrics"]) if server.tracker.runs else 0
        end = time.monotonic() + 60
        while time.monotonic() < end and (not server.tracker.runs or len(only_run(server)["metrics"]) <= before):
            time.sleep(0.05)
        time.sleep(0.5)
        training.send_signal(how)
        training.communicate(timeout=60)
        check(training.returncode != 0, "it was to be interrupted while it trained")
    check(only_run(server)["status"] == "KILLED", f"interrupted: {only_run(server)['status']}")
    bench.assay("resume", out, "--mlflow", server.url, "--quiet")
    run = only_run(server)
    expect_whole(run, steps, out, "killed and resumed")
    check(run["status"] == "FINISHED", f"resumed: {run['status']}")
    server.stop()


def followed(bench):
    """`assay log --follow` beside a training that knows nothing of it; and what `--metrics` serves meanwhile."""
    server = fake_mlflow.Server(TOKEN)
    out = bench.folder / "followed"
    training = bench.start("train", bench.job("followed", 60_000, 10_000), "--out", out, "--metrics", "0")
    line = training.stderr.readline()
    url = re.search(r"http://\S+/metrics", line)
    check(url, f"--metrics says where: {line!r}")
    while not (out / "id").exists():
        time.sleep(0.05)
    following = bench.start("log", out, "--mlflow", server.url, "--follow", "--json")
    seen, end = {}, time.monotonic() + 60
    while time.monotonic() < end and "assay_worker_loss" not in seen:
        with urllib.request.urlopen(url.group(), timeout=20) as answer:
            check(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"the page's type: {answer.headers}")
            seen = exposition.parse(answer.read().decode())
        time.sleep(0.2)
    for name in ("assay_worker_cpu_cores", "assay_worker_memory_bytes", "assay_worker_step", "assay_worker_loss", "assay_worker_rate"):
        [(labels, value)] = exposition.series(seen, name)
        check(labels["run"] == "followed" and labels["Hostname"] and value > 0, f"{name}: {labels} {value}")
        check(seen[name].type == "gauge" and seen[name].help, f"{name}: without TYPE or HELP")
    check(not any(name.startswith("DCGM") for name in seen), "figures of a GPU that is not computed on")
    try:
        urllib.request.urlopen(url.group().replace("/metrics", "/other"), timeout=20)
        check(False, "another page")
    except urllib.error.HTTPError as refused:
        check(refused.code == 404, f"another page: {refused.code}")
    training.stderr.read()
    training.wait(timeout=240)
    said, _ = following.communicate(timeout=60)
    check(following.returncode == 0 and json.loads(said)["finished"], f"--follow: {following.returncode} {said}")
    expect_whole(only_run(server), 60_000, out, "followed")
    server.stop()


def main():
    with tempfile.TemporaryDirectory(prefix="assay-tracking.") as folder:
        bench = Bench(folder)
        for test in (whole_run, outages, away, killed, followed):
            began = time.monotonic()
            test(bench)
            print(f"{test.__name__}: passed after {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()

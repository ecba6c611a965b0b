"""Other people's tools read what a coordinator knows of runs: MLflow's client (stock_mlflow.py) and Prometheus (exposition.py), while workers train and afterwards.

    read_from_coordinator.py ASSAY
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "platform"))

import exposition  # noqa: E402
import kit  # noqa: E402
from gpu_worker import GpuWorker  # noqa: E402
from kit import check, wait_until  # noqa: E402
from stock_mlflow import Client, RestException  # noqa: E402

JOB = """
name = "curves"
steps = {steps}
seed = 3
[model]
kind = "mlp"
hidden = [16]
[data]
kind = "features"
[batch]
microbatch = 15
[optimizer]
kind = "adamw"
[schedule]
kind = "constant"
lr = 0.02
[commit]
every = {every}
[snapshot]
every = {snapshot}
"""


def job(platform, name, steps):
    path = platform.path / f"{name}.toml"
    path.write_text(JOB.format(steps=steps, every=max(1, steps // 10), snapshot=5 * max(1, steps // 10)))
    return path


def account_token(platform, account, role="client"):
    made = subprocess.run([platform.assay, "admin", "token", "--role", role, "--account", account], text=True, capture_output=True, timeout=60,
                          env=platform.environment(ASSAY_SERVER=platform.server, ASSAY_TOKEN=platform.tokens["admin"]))
    check(made.returncode == 0, f"admin token: {made.stderr}")
    return made.stdout.split()[-1]


def scrape(platform):
    with urllib.request.urlopen(f"{platform.server}/metrics", timeout=30) as answer:
        check(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"the page's type: {answer.headers['Content-Type']}")
        return exposition.parse(answer.read().decode())


def refused(status, code, call):
    try:
        call()
    except RestException as error:
        check((error.status, error.error_code) == (status, code) and error.message, f"expected {status} {code}, got {error}")
        return
    raise kit.Failure(f"expected {status} {code}")


def tag_of(run, key):
    return {tag["key"]: tag["value"] for tag in run["data"]["tags"]}.get(key)


def finished_runs(platform, alice):
    """Two workers train the same job; a stock client lists the runs, reads their params, tags and curves."""
    status, said, error = platform.client("submit", job(platform, "curves", 600), "--replicas", 2, "--wait")
    check(status == 0 and said["verdict"] == "verified", f"two honest workers: {status} {said} {error}")
    order = said["id"]
    experiments = alice.search_experiments()["experiments"]
    check([one["name"] for one in experiments] == ["alice"], f"experiments: {experiments}")
    check(alice.list_experiments()["experiments"] == experiments and experiments[0]["lifecycle_stage"] == "active", "experiments/list")
    check(alice.get_experiment_by_name("alice") == experiments[0] == alice.get_experiment("alice"), "experiments/get")
    check(alice.get_experiment_by_name("another name & more") is None, "an experiment that is not there")
    runs = alice.search_all_runs(["alice"])
    check({run["info"]["run_id"] for run in runs} == {f"{order}-1", f"{order}-2"}, f"runs: {[run['info'] for run in runs]}")
    for run in runs:
        info, params = run["info"], {param["key"]: param["value"] for param in run["data"]["params"]}
        check(info["status"] == "FINISHED" and info["experiment_id"] == "alice" and info["run_uuid"] == info["run_id"], f"info: {info}")
        check(0 < info["start_time"] <= info["end_time"] <= time.time() * 1000 + 5000, f"times: {info}")
        check(params["model.hidden"] == "[16]" and params["steps"] == "600" and params["optimizer.kind"] == "adamw", f"params: {params}")
        check(tag_of(run, "assay.order") == order and tag_of(run, "assay.verdict") == "verified" and "+" in tag_of(run, "assay.worker"), f"tags: {run['data']['tags']}")
        check(alice.get_run(info["run_id"])["info"] == info, "runs/get")
        # The run's own telemetry is there, whole, once it is delivered: every step of it, to the last.
        losses = alice.get_metric_history(info["run_id"], "loss")
        check([point["step"] for point in losses] == list(range(1, 601)), f"steps of the loss: {len(losses)}")
        latest = {metric["key"]: metric for metric in run["data"]["metrics"]}
        check(latest["loss"]["value"] == losses[-1]["value"] and latest["loss"]["step"] == 600, f"the latest loss: {latest['loss']}")
        check({"loss", "throughput", "cpu_util", "memory_bytes"} <= set(latest), f"metrics: {set(latest)}")
        check(not any(key.startswith("gpu") for key in latest), f"figures of a GPU that is not there: {set(latest)}")
        paged = alice.get_metric_history(info["run_id"], "loss", max_results=7)
        check(paged == losses, "a history in pages")
        check(all(point["value"] > 0 for point in alice.get_metric_history(info["run_id"], "memory_bytes")), "memory")
        check(alice.get_metric_history(info["run_id"], "nothing") == [], "a metric that is not there")
    return order


def searched(alice, order):
    """What the client's filters, orders and pages give."""
    first, second = f"{order}-1", f"{order}-2"
    ids = [first, second]
    check({m["run_id"] for m in alice.get_metric_history_bulk(ids, "loss")} == set(ids), "get-history-bulk")
    check(len(alice.get_metric_history_bulk(ids, "loss", prefix="/api", max_results=5)) == 5, "get-history-bulk with a limit")
    some = alice.get_metric_history_bulk_interval(ids, "loss", start_step=100, end_step=199, max_results=50)
    check(len(some) == 100 and all(100 <= m["step"] <= 199 for m in some), f"get-history-bulk-interval: {len(some)}")

    def found(filter_string="", **how):
        return [run["info"]["run_id"] for run in alice.search_all_runs(["alice"], filter_string=filter_string, **how)]

    check(found(order_by=["tags.`assay.lease` ASC"]) == [first, second], "order_by ASC")
    check(found(order_by=["tags.`assay.lease` DESC"], max_results=1) == [second, first], "order_by DESC in pages")
    check(found(max_results=1) and len(found("attributes.status = 'FINISHED' and metrics.loss < 1000")) == 2, "a filter")
    check(found("tags.`assay.lease` = '2'") == [second] and found("params.steps = '601'") == [], "filters of tags and params")
    check(found("attributes.run_id IN ('" + first + "')") == [first], "a filter of ids")
    check(found(run_view_type="DELETED_ONLY") == [] and found(run_view_type="ALL") != [], "views")
    check(alice.search_runs([])[0] == [] and alice.search_runs(["nobody"])[0] == [], "experiments that are not there")
    refused(400, "INVALID_PARAMETER_VALUE", lambda: found("metrics.loss ~ 3"))
    refused(400, "INVALID_PARAMETER_VALUE", lambda: found(order_by=["metrics.loss SIDEWAYS"]))
    refused(400, "INVALID_PARAMETER_VALUE", lambda: alice.search_runs(["alice"], max_results=100_000))
    refused(400, "INVALID_PARAMETER_VALUE", lambda: alice.search_runs(["alice"], page_token="x"))
    refused(400, "INVALID_PARAMETER_VALUE", lambda: alice.request("GET", "metrics/get-history", {"run_id": first}, {}))
    refused(400, "INVALID_PARAMETER_VALUE", lambda: alice.request("GET", "metrics/get-history", {"run_id": first, "metric_key": "loss", "max_results": 0}, {}))


def visible(platform, alice, order):
    """Another account's runs are not found; administrators see all; a token that is none is not let in; nothing can be written."""
    bob = Client(platform.server, account_token(platform, "bob"))
    check([one["name"] for one in bob.search_experiments()["experiments"]] == ["bob"], "another account's experiments")
    check(bob.search_runs(["alice", "bob"])[0] == [] and bob.get_experiment_by_name("alice") is None, "another account's runs")
    refused(404, "RESOURCE_DOES_NOT_EXIST", lambda: bob.get_run(f"{order}-1"))
    refused(404, "RESOURCE_DOES_NOT_EXIST", lambda: bob.get_metric_history(f"{order}-1", "loss"))
    refused(404, "RESOURCE_DOES_NOT_EXIST", lambda: bob.get_metric_history_bulk([f"{order}-1"], "loss"))
    refused(404, "RESOURCE_DOES_NOT_EXIST", lambda: alice.get_run(f"{order}-9"))
    refused(404, "RESOURCE_DOES_NOT_EXIST", lambda: alice.get_run("0" * 32))
    admin = Client(platform.server, platform.tokens["admin"])
    check([one["name"] for one in admin.search_experiments()["experiments"]] == ["alice"], "an administrator's experiments")
    check(len(admin.search_runs(["alice"])[0]) == 2 and admin.get_run(f"{order}-1"), "an administrator's runs")
    check(admin.search_experiments(filter_string="name LIKE 'b%'")["experiments"] == [], "a filter of experiments")
    refused(401, "UNAUTHENTICATED", lambda: Client(platform.server, "assay_" + "0" * 64).search_experiments())
    refused(403, "PERMISSION_DENIED", lambda: Client(platform.server, platform.token("provider")).search_experiments())
    refused(404, "ENDPOINT_NOT_FOUND", lambda: alice.request("POST", "runs/create", {"experiment_id": "alice"}, {}))
    refused(404, "ENDPOINT_NOT_FOUND", lambda: alice.request("POST", "runs/log-batch", {"run_id": f"{order}-1", "metrics": []}, {}))


def live(platform, alice):
    """While it trains, the curve grows, and Prometheus sees the worker."""
    order = platform.client("submit", job(platform, "long", 3_000_000), "--replicas", 2)[1]["id"]
    run = f"{order}-1"
    wait_until(lambda: any(one["info"]["run_id"] == run for one in alice.search_runs(["alice"])[0]), 60, "the run to begin")
    wait_until(lambda: len(alice.get_metric_history(run, "loss")) > 3, 60, "its losses")
    before = alice.get_metric_history(run, "loss")
    check(alice.get_run(run)["info"]["status"] == "RUNNING" and "end_time" not in alice.get_run(run)["info"], "a run that goes on")
    wait_until(lambda: alice.get_metric_history(run, "loss")[-1]["step"] > before[-1]["step"], 60, "more of its losses")
    steps = [point["step"] for point in alice.get_metric_history(run, "loss")]
    check(steps == sorted(set(steps)), "steps of a run that goes on")
    wait_until(lambda: exposition.series(scrape(platform), "assay_worker_cpu_cores"), 60, "the worker's figures")
    page = scrape(platform)
    [(labels, value)] = [(labels, value) for labels, value in exposition.series(page, "assay_worker_loss") if (labels["order"], labels["lease"]) == (order, "1")]
    check(labels["worker"] == labels["Hostname"] and value >= 0, f"labels: {labels}")
    check(not any(name.startswith("DCGM") for name in page), "figures of a GPU that nobody told of")
    platform.client("cancel", order)
    wait_until(lambda: alice.get_run(run)["info"]["status"] == "KILLED", 60, "the run to be killed")
    check(alice.get_run(run)["info"]["end_time"] > 0, "a run that was cancelled")


def with_gpu(platform, alice):
    """A worker with a GPU, as far as the coordinator can tell: figures under dcgm-exporter's names and units, what was not told absent."""
    order = platform.client("submit", job(platform, "gpu", 50), "--replicas", 2)[1]["id"]
    worker = GpuWorker(platform.server, account_token(platform, "farm", "provider"), "gpu")
    lease = worker.take_lease()
    check(lease and lease["order"] == order, f"the lease: {lease}")
    base = {"phase": "train", "steps": 50, "unit": "images", "cpu": 1.25, "memory": 1 << 30}
    gpu = {"name": 'NVIDIA "H200"', "uuid": "GPU-8f1d", "index": 1, "total": 150_754_820_096, "util": 98, "memory": 5 << 30, "power": 623.5, "energy": 1234.567}
    now = int(time.time() * 1000)
    worker.tell([{**base, "at": now, "step": 1, "loss": 2.5, "rate": 100, "gpu": gpu},
                 {**base, "at": now + 1, "step": 2, "loss": None, "rate": 120, "gpu": {**gpu, "util": 99, "clock": 1980}}])
    page = scrape(platform)
    expected = {"DCGM_FI_DEV_GPU_UTIL": 99, "DCGM_FI_DEV_FB_USED": 5 * 1024, "DCGM_FI_DEV_FB_FREE": 150_754_820_096 / 2**20 - 5 * 1024,
                "DCGM_FI_DEV_POWER_USAGE": 623.5, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 1_234_567, "DCGM_FI_DEV_SM_CLOCK": 1980}
    for name, wanted in expected.items():
        [(labels, value)] = exposition.series(page, name)
        check(abs(value - wanted) < 1e-6 * wanted, f"{name}: {value}, expected {wanted}")
        check(labels == {"gpu": "1", "UUID": "GPU-8f1d", "device": "nvidia1", "modelName": 'NVIDIA "H200"', "Hostname": worker.id, "worker": worker.id, "order": order,
                         "lease": "1"}, f"{name}: {labels}")
        check(page[name].help and page[name].type == ("counter" if "ENERGY" in name else "gauge"), f"{name}: {page[name].type}")
    check("DCGM_FI_DEV_GPU_TEMP" not in page, "a temperature that was not told")
    run = f"{order}-1"
    losses = alice.get_metric_history(run, "loss")
    check([point["step"] for point in losses] == [1, 2] and losses[1]["value"] != losses[1]["value"], f"a loss that is no number: {losses}")
    check([point["value"] for point in alice.get_metric_history(run, "gpu_util")] == [98, 99], "utilisation over time")
    check([point["value"] for point in alice.get_metric_history(run, "gpu_memory_bytes")] == [5 << 30] * 2, "memory over time")
    check(alice.get_metric_history(run, "gpu_temperature_c") == [], "a temperature that was not told")
    worker.give_back()
    platform.client("cancel", order)


def restarted(platform, alice, order, serve):
    """Curves outlive the coordinator's process."""
    before = alice.get_metric_history(f"{order}-1", "loss")
    port = platform.server.rsplit(":", 1)[1].strip("/")
    serve.terminate()
    serve.wait(timeout=60)
    platform.serve("--listen", f"127.0.0.1:{port}")
    check(alice.get_metric_history(f"{order}-1", "loss") == before, "a curve after a restart")


def main():
    assay = os.path.abspath(sys.argv[1])
    with kit.Platform(assay) as platform:
        serve = platform.serve()
        platform.tokens["client"] = account_token(platform, "alice")
        alice = Client(platform.server, platform.tokens["client"])
        workers = [platform.worker(name, None, "provider", "--threads", "1") for name in ("one", "two")]
        order = finished_runs(platform, alice)
        searched(alice, order)
        visible(platform, alice, order)
        live(platform, alice)
        for worker in workers:
            worker.terminate()
            worker.wait(timeout=60)
        with_gpu(platform, alice)
        restarted(platform, alice, order, serve)
        scrape(platform)
    print("passed")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""deploy/slurm/assay-worker.sbatch on a Slurm cluster of the test's own: workers that are jobs, cut off by signal or time limit, and resumed.

    slurm.py [--assay PATH] [--keep] [NAME ...]

Exit status: 0 passed, 1 failed, 77 this machine has no slurm-wlm.
"""

import argparse
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "platform")]

from cluster import Cluster  # noqa: E402
from processes import Failure, Skip, wait_until  # noqa: E402
from world import Setting, World, expect, expect_equal  # noqa: E402

SCRIPT = ROOT / "deploy" / "slurm" / "assay-worker.sbatch"
LONG = {"steps": 12_000, "lines": ["[snapshot]", "every = 200", "keep = 2"]}


class Workers:
    """An array of workers, as an operator would submit it."""

    def __init__(self, world, cluster, *options):
        self.world, self.cluster = world, cluster
        self.work = world.folder / "work"
        token = world.folder / "worker.token"
        token.touch(mode=0o600)
        token.write_text(world.token("provider", "slurm") + "\n")
        environment = {"ASSAY_SERVER": world.server, "ASSAY_TOKEN_FILE": str(token), "ASSAY_WORK": str(self.work), "ASSAY_BIN": world.setting.assay}
        self.job = cluster.submit("--cpus-per-task=1", "--mem=512M", *options, SCRIPT, environment=environment, folder=world.folder)

    def log(self, index):
        path = self.world.folder / f"assay-worker-{self.job}_{index}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def key(self, index):
        return (self.work / str(index) / "key.pub").read_text().strip()

    def steps(self, order, index):
        """How many steps the run has committed to on disk."""
        for log in (self.work / str(index)).glob(f"orders/{order}/lease-*/run/log/checkpoint"):
            lines = log.read_text().splitlines()
            if len(lines) > 1 and lines[1].isdigit():
                return int(lines[1])
        return 0


def expect_whole(world, order, job, workers):
    """The model is the one that the job gives, and no lease was given twice."""
    life = world.life(order)
    leases = sorted(entry["worker"] for entry in life if entry["kind"] == "leased")
    expect_equal(leases, sorted(workers), "the leases: each worker has had one")
    expect(not any(entry["kind"] == "released" for entry in life), f"no lease was released: {life}")
    world.expect_honest_model(order, job)


def trained(setting):
    """Two workers of one array train a job: submit --wait says verified."""
    with World(setting) as world, Cluster(world.processes) as cluster:
        world.serve()
        workers = Workers(world, cluster, "--array=0-1")
        job = world.job()
        done = world.assay("submit", job, "--replicas", "2", "--wait", "--json", "--quiet").expect(0).json()
        expect_equal((done["verdict"], done["convicted"]), ("verified", []), "the outcome")
        expect_whole(world, done["id"], job, [workers.key(0), workers.key(1)])
        # scancel ends a worker as Ctrl-C would, well within Slurm's patience.
        cluster.run("scancel", workers.job).expect(0)
        wait_until("the workers to end", lambda: not cluster.jobs(), 15, every=0.3)
        expect("goes back" not in workers.log(0) + workers.log(1), f"a job that was cancelled went back into the queue: {workers.log(0)}")


def signalled(setting):
    """USR1, as Slurm sends it before the time limit: the worker stops, its job goes back into the queue, and the next start ends in the same bytes."""
    with World(setting, lease_s=300) as world, Cluster(world.processes) as cluster:
        world.serve()
        workers = Workers(world, cluster, "--array=0-0")
        job = world.job(**LONG)
        order = world.submit(job, "--replicas", "1", "--audit", "5%")
        watching = world.watching(order)
        wait_until("the run to begin", lambda: workers.steps(order, 0) > 1000, 60, every=0.05)
        cluster.run("scancel", "--signal=USR1", "--batch", f"{workers.job}_0").expect(0)
        wait_until("the worker to stop", lambda: "the job goes back into the queue" in workers.log(0), 30)
        stopped = workers.steps(order, 0)
        expect(1000 < stopped < LONG["steps"], f"the run was cut off half-way, not at step {stopped}")
        expect("(exit status 0)" in workers.log(0), f"the worker ended cleanly: {workers.log(0)}")
        wait_until("the second start", lambda: "start 1" in workers.log(0), 60, every=0.3)
        wait_until("the run to go on", lambda: workers.steps(order, 0) > stopped, 60, every=0.05)
        world.worker("auditor", role="auditor")
        expect_equal(world.outcome(watching, 120)["verdict"], "verified", "the verdict")
        life = world.life(order)
        expect_equal([(e["worker"], e["lease"]) for e in life if e["kind"] == "leased"][0], (workers.key(0), 1), "the first lease")
        expect(not any(entry["kind"] == "released" for entry in life), f"no lease was released: {life}")
        world.expect_honest_model(order, job)


def cut_off(setting):
    """The time limit itself, without a second start by Slurm: a job that is submitted later goes on where the first one was cut off."""
    with World(setting, lease_s=600) as world, Cluster(world.processes) as cluster:
        world.serve()
        # The shortest limit that there is. Slurm may send the signal up to a minute early, and with one at that distance sends it soon.
        workers = Workers(world, cluster, "--array=0-1", "--time=1", "--signal=B:USR1@45", "--no-requeue")
        job = world.job(**{**LONG, "steps": 400_000})
        order = world.submit(job, "--replicas", "2")
        wait_until("both runs to begin", lambda: min(workers.steps(order, 0), workers.steps(order, 1)) > 400, 60, every=0.05)
        wait_until("the time limit", lambda: not cluster.jobs(), 120, every=0.5)
        stopped = [workers.steps(order, index) for index in (0, 1)]
        for index in (0, 1):
            expect("stopped before the time limit (exit status 0)" in workers.log(index), f"worker {index} ended cleanly: {workers.log(index)}")
        again = Workers(world, cluster, "--array=0-1")
        wait_until("both runs to go on", lambda: all(again.steps(order, index) > stopped[index] for index in (0, 1)), 60, every=0.05)
        life = world.life(order)
        expect_equal(sorted(e["worker"] for e in life if e["kind"] == "leased"), sorted([again.key(0), again.key(1)]), "one lease for each worker")
        expect(not any(entry["kind"] == "released" for entry in life), f"no lease was released: {life}")


TESTS = [trained, signalled, cut_off]


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    arguments.add_argument("--keep", action="store_true", help="keep what passed tests wrote")
    arguments.add_argument("names", nargs="*", choices=[[], *[test.__name__ for test in TESTS]])
    given = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setting = Setting(given.assay, given.assay, keep=given.keep, seconds=400)
    for test in TESTS:
        if given.names and test.__name__ not in given.names:
            continue
        print(f"{test.__name__}: {test.__doc__}", flush=True)
        try:
            test(setting)
        except Skip as reason:
            print(f"skipped: {reason}", flush=True)
            return 77
        except Failure as failure:
            print(f"failed: {failure}", flush=True)
            return 1
    print("passed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

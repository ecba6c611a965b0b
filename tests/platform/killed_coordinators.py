"""Coordinators that are killed with SIGKILL at random moments, while orders of every kind are under way."""

import time

from processes import Failure
from world import World, expect, expect_equal

HONEST = ["anna", "ben", "carl"]
POLICIES = [("--replicas", "2"), ("--audit", "50%"), ("--replicas", "2", "--audit", "30%"), ("--replicas", "3")]


class Lives:
    """The lives of all orders as they were seen: what was seen once must never change."""

    def __init__(self, world):
        self.world, self.seen = world, {}

    def look(self, order):
        try:
            entries = self.world.life(order)
        except OSError:
            return []  # nobody answers at the moment
        before = self.seen.get(order, [])
        expect(len(entries) >= len(before) and entries[:len(before)] == before, f"order {order}: its life was rewritten: {before} became {entries}")
        self.seen[order] = entries
        expect(sum(1 for entry in entries if entry["kind"] == "decided") <= 1, f"order {order}: has two verdicts: {entries}")
        return entries


class Crowd:
    """Orders that are submitted and watched while coordinators come and go; a liar who comes back under another key whenever it is convicted."""

    def __init__(self, world):
        self.world, self.lives = world, Lives(world)
        self.open, self.done, self.jobs, self.liars = {}, {}, {}, []

    def submit(self):
        """Without waiting for it: the coordinator may be gone."""
        number = len(self.jobs)
        job = self.world.job(name=f"job-{number}", steps=self.world.random.choice([8, 40, 400]), seed=1 + number % 3)
        policy = self.world.random.choice(POLICIES)
        process = self.world.processes.start("submit", [self.world.setting.assay, "submit", job, *policy, "--wait", "--json", "--quiet", "--patience", "600"],
                                             environment=self.world.client())
        self.open[process] = job
        self.jobs[process] = (job, policy)

    def keep_busy(self, orders):
        while len(self.open) < orders:
            self.submit()

    def collect(self):
        for process in [each for each in self.open if not each.alive()]:
            outcome = process.finished(1)
            if outcome.status not in (0, 1, 3):
                raise Failure(f"{process.name}: {outcome.status}: {outcome.out} {outcome.err}")
            said = outcome.json()
            expect("refused" not in said, f"a client refuses what the coordinator says: {said}")
            self.done[said["id"]] = (said, self.open.pop(process))

    def keep_lying(self):
        liar = self.liars[-1] if self.liars else None
        if liar is None or self.convicted(liar.key):
            if liar:
                liar.stop()
            names = ["wrong-learning-rate", "flipped-bit", "skipped-step"]
            count = len(self.liars)
            self.liars.append(self.world.worker(f"liar-{count}", cheat=names[count % len(names)], account="liars"))

    def convicted(self, key):
        return any(key in said["convicted"] for said, _ in self.done.values())

    def check(self):
        honest = {self.world.keys[name] for name in HONEST}
        for order, (said, job) in self.done.items():
            expect(not honest & set(said["convicted"]), f"order {order}: honest workers are convicted: {said}")
            expect(said["verdict"] in ("verified", "refereed"), f"order {order}: {said['verdict']}, with honest workers enough: {self.lives.look(order)}")
            entries = self.lives.look(order)
            expect_equal([e["kind"] for e in entries].count("decided"), 1, f"order {order}: verdicts")


def coordinators_killed(setting):
    """No order is lost, none has two verdicts, no honest worker is convicted, and clients that check every entry of every life have nothing to object."""
    kills = 200 if setting.full else 12
    with World(setting, lease_s=20, seconds=3600 if setting.full else 480) as world:
        world.serve(flags=["--patience", "15", "--rerun", "5"])
        world.gremlin = None  # this test does the killing
        crowd = Crowd(world)
        for name in HONEST:
            world.worker(name)
        crowd.keep_lying()
        began = time.monotonic()
        for kill in range(kills):
            crowd.keep_busy(3)
            victim = world.random.choice(world.coordinators)
            # Mostly while it serves, sometimes while it starts.
            time.sleep(world.random.uniform(0, world.random.choice([0.3, 1.5, 4])))
            victim.kill()
            victim.start(wait=world.random.random() < 0.8)
            crowd.collect()
            crowd.keep_lying()
            for order in list(crowd.done)[-5:]:
                crowd.lives.look(order)
            if kill % 20 == 19:
                print(f"  {kill + 1} kills, {len(crowd.done)} orders decided, {time.monotonic() - began:.0f} s", flush=True)
        for coordinator in world.coordinators:
            coordinator.listening()
        world.wait_for("all orders to be decided", lambda: (crowd.collect(), not crowd.open)[1], 600 if setting.full else 240)
        crowd.check()
        expect_equal(len(crowd.done), len(crowd.jobs), "orders decided of those submitted")
        listed = {each["id"]: each["verdict"] for each in world.assay("jobs", "--json").expect(0).json()["orders"]}
        expect_equal(listed, {order: said["verdict"] for order, (said, _) in crowd.done.items()}, "the list of orders")
        for order, (said, job) in list(crowd.done.items())[:None if setting.full else 6]:
            world.expect_honest_model(order, job)
        verdicts = [said["verdict"] for said, _ in crowd.done.values()]
        print(f"  {kills} kills, {len(crowd.done)} orders: {verdicts.count('verified')} verified, {verdicts.count('refereed')} refereed; "
              f"{len(crowd.liars)} liars", flush=True)


TESTS = [coordinators_killed]

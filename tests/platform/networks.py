"""Bad networks: links that go down, slow links, connections that are delayed, cut and stalled. The bytes are the same in the end."""

import time

from namespaces import Star
from world import World, expect_equal

LONG = {"steps": 4000, "lines": ["[snapshot]", "every = 200", "keep = 2"]}


def namespaces(setting):
    """Coordinator, workers and client in namespaces of their own; one worker's link is slow, the other's goes down twice, once for longer than its lease."""
    star = Star(["anna", "ben", "client"])
    try:
        with World(setting, lease_s=8) as world:
            world.serve(namespace=star.middle, host="0.0.0.0")
            port = world.server.rsplit(":", 1)[1]
            urls = {name: f"http://{star.middle_address(name)}:{port}" for name in ("anna", "ben", "client")}
            star.limit("ben", "4mbit")
            anna = world.worker("anna", server=urls["anna"], namespace=star.space("anna"))
            world.worker("ben", server=urls["ben"], namespace=star.space("ben"))
            job = world.job(**LONG)

            def command(*words):
                return world.assay(*words, server=urls["client"], namespace=star.space("client"), seconds=300)
            order = command("submit", job, "--replicas", "2", "--attempts", "16", "--json", "--quiet").expect(0).json()["id"]
            watching = world.watching(order, server=urls["client"], namespace=star.space("client"))
            world.wait_for_training(order, anna)
            for seconds in (3, 12):
                star.cut("anna")
                time.sleep(seconds)
                star.mend("anna")
                time.sleep(2)
            # Whoever lost its lease by the cut is not asked again in this order; somebody else takes its place.
            world.worker("carl", namespace=star.middle)
            outcome = world.outcome(watching, 400)
            expect_equal((outcome["verdict"], outcome["convicted"]), ("verified", []), "the outcome")
            star.cut("client")
            time.sleep(1)
            star.mend("client")
            out = world.folder / "model"
            command("fetch", order, "--out", out, "--json", "--quiet").expect(0)
            expect_equal((out / "model.safetensors").read_bytes(), world.truth(job).read_bytes(), "the model")
    finally:
        star.end()


def proxied(setting):
    """Every connection of workers and clients goes through a proxy that delays, cuts and stalls, and is down for a while."""
    with World(setting, lease_s=30) as world:
        world.serve()
        clean = world.server
        proxy = world.start_proxy("proxy", [clean.removeprefix("http://")])
        for name in ("anna", "ben", "carl"):
            world.worker(name, server=proxy.url)
        for round_number in range(6 if setting.full else 2):
            proxy.change(delay_ms=120, cut=0.02, stall=0.005, stall_s=3)
            job = world.job(name=f"job-{round_number}", steps=1500, seed=round_number + 1)
            policy = [("--replicas", "2"), ("--audit", "50%")][round_number % 2]
            order = world.assay("submit", job, *policy, "--json", "--quiet", server=proxy.url, seconds=300).expect(0).json()["id"]
            watching = world.watching(order, server=proxy.url)
            world.wait_for("a lease", lambda: any(e["kind"] == "leased" for e in world.life(order, server=clean)))
            proxy.change(down=True)
            time.sleep(4)
            proxy.change(down=False, rate=2_000_000)
            outcome = world.outcome(watching, 300)
            expect_equal((outcome["verdict"], outcome["convicted"]), ("verified", []), "the outcome")
            world.expect_honest_model(order, job, server=proxy.url, seconds=300)


def disputed_through_proxy(setting):
    """A dispute over bad connections convicts the liar and nobody else."""
    with World(setting, lease_s=30) as world:
        world.serve()
        proxy = world.start_proxy("proxy", [world.server.removeprefix("http://")])
        proxy.change(delay_ms=60, cut=0.01, stall=0.003, stall_s=2)
        anna = world.worker("anna", server=proxy.url)
        liar = world.worker("liar", cheat="flipped-bit", server=proxy.url)
        job = world.job(steps=16)
        order = world.submit(job, "--replicas", "2")
        outcome = world.decided(order, 300)
        expect_equal((outcome["verdict"], outcome["convicted"], outcome["provider"]), ("refereed", [liar.key], anna.key), "the outcome")
        world.expect_honest_model(order, job)


TESTS = [namespaces, proxied, disputed_through_proxy]

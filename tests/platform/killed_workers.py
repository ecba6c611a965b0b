"""Workers that are killed with SIGKILL while they train."""

from world import World, expect, expect_equal

LONG = {"steps": 6000, "lines": ["[snapshot]", "every = 200", "keep = 2"]}


def resumed(setting):
    """Killed and started again, a worker goes on under the same lease and ends in the same bytes; several times in the full version."""
    with World(setting) as world:
        world.serve()
        job = world.job(**LONG)
        a = world.worker("anna")
        order = world.submit(job, "--replicas", "2")
        watching = world.watching(order)
        for kill in range(8 if setting.full else 2):
            world.wait_for_training(order, a, steps=400 * (kill + 1))
            a.kill()
            a.start()
        world.worker("ben")
        outcome = world.outcome(watching, 300)
        expect_equal(outcome["verdict"], "verified", "the verdict")
        life = world.life(order)
        leases = [entry["worker"] for entry in life if entry["kind"] == "leased"]
        expect_equal(leases, [world.keys["anna"], world.keys["ben"]], "the leases: nobody was given a second one")
        expect(not any(entry["kind"] == "released" for entry in life), "no lease was released")
        world.expect_honest_model(order, job)


def lost(setting):
    """Killed for good, a worker loses its lease when its time is over; another one does the work, and nobody is convicted."""
    with World(setting, lease_s=6) as world:
        world.serve()
        job = world.job(**LONG)
        a = world.worker("anna")
        order = world.submit(job, "--replicas", "2")
        world.wait_for_training(order, a, steps=200)
        a.kill()
        world.worker("ben"), world.worker("carl")
        outcome = world.decided(order, 300)
        expect_equal((outcome["verdict"], outcome["convicted"]), ("verified", []), "the outcome")
        released = [(entry["lease"], entry["why"]) for entry in world.life(order) if entry["kind"] == "released"]
        expect_equal(released, [(1, "expired")], "the releases")
        world.expect_honest_model(order, job)
        # Back after its time, it is told that its lease is over, deletes what it has, and works for others.
        a.start()
        world.wait_for("anna to delete what is over", lambda: not list(a.folder.glob("orders/*/lease-*")), 60)
        world.workers[1].stop()
        short = world.job(name="short")
        after = world.submit(short)
        expect_equal(world.decided(after)["verdict"], "verified", "the verdict of the next order")
        expect(world.keys["anna"] in [e["worker"] for e in world.life(after) if e["kind"] == "leased"], "anna works again")


TESTS = [resumed, lost]

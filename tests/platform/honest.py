"""Honest workers: what everybody expects to see."""

from world import World, expect, expect_equal


def honest(setting):
    """Two workers train the same job and agree: verified, and the client gets a model that verifies."""
    with World(setting) as world:
        world.serve()
        a, b = world.worker("anna"), world.worker("ben")
        job = world.job()
        done = world.assay("submit", job, "--replicas", "2", "--wait", "--json", "--quiet").expect(0).json()
        expect_equal(done["verdict"], "verified", "the verdict")
        expect_equal(done["convicted"], [], "the convicted")
        expect(done["provider"] in (a.key, b.key), f"the provider is one of the two workers, not {done['provider']}")
        world.expect_honest_model(done["id"], job)
        # The same order once more is the same order, and changes nothing.
        before = len(world.life(done["id"]))
        expect_equal(world.assay("submit", "--again", done["id"], "--json", "--quiet").expect(0).json()["id"], done["id"], "the order sent again")
        expect_equal(len(world.life(done["id"])), before, "the life after the order was sent again")
        listed = world.assay("jobs", "--json").expect(0).json()["orders"]
        expect_equal([(each["id"], each["verdict"]) for each in listed], [(done["id"], "verified")], "the list of orders")
        # Nobody else sees it.
        world.assay("watch", done["id"], "--json", "--quiet", client="stranger").expect(1, 2)
        expect_equal(world.assay("jobs", "--json", client="stranger").expect(0).json()["orders"], [], "a stranger's list")


def cancelled(setting):
    """A cancelled order fails, its workers stop, and they take the next one."""
    with World(setting) as world:
        world.serve()
        world.worker("anna"), world.worker("ben")
        long, short = world.job(name="long", steps=200_000), world.job(name="short")
        order = world.submit(long)
        world.wait_for_training(order)
        world.assay("cancel", order).expect(0)
        expect_equal(world.decided(order)["verdict"], "failed", "the verdict of a cancelled order")
        after = world.submit(short)
        expect_equal(world.decided(after)["verdict"], "verified", "the verdict of the next order")
        world.expect_honest_model(after, short)


TESTS = [honest, cancelled]

"""One worker trains, another audits a share of the steps."""

from world import World, expect, expect_equal


def audited(setting):
    """An honest run is verified by its audit, by a worker that only audits as well as by one that also trains."""
    with World(setting) as world:
        world.serve()
        a = world.worker("anna")
        auditor = world.worker("ada", role="auditor")
        job = world.job()
        order = world.submit(job, "--audit", "50%")
        outcome = world.decided(order)
        expect_equal((outcome["verdict"], outcome["provider"]), ("verified", a.key), "the outcome of an audit")
        leases = [(entry["role"], entry["worker"]) for entry in world.life(order) if entry["kind"] == "leased"]
        expect_equal(leases, [("train", a.key), ("audit", auditor.key)], "the leases of an audited order")
        world.expect_honest_model(order, job)


def refuted(setting):
    """A lie is refuted by the audit, challenged, disputed and convicted; an auditor's word alone convicts nobody."""
    with World(setting) as world:
        world.serve()
        liar = world.worker("liar", cheat="wrong-learning-rate")
        job = world.job(steps=16)
        order = world.submit(job, "--audit", "50%")
        world.wait_for("the liar's run", lambda: any(e["kind"] == "received" for e in world.life(order)))
        challenger = world.worker("ada")
        watching = world.watching(order)
        world.wait_for("the conviction", lambda: any(e["kind"] == "judged" for e in world.life(order)))
        # The challenger's run is audited like any other, by somebody else.
        world.worker("ben")
        outcome = world.outcome(watching)
        expect_equal(outcome["verdict"], "refereed", "the verdict")
        expect_equal(outcome["convicted"], [liar.key], "the convicted")
        expect_equal(outcome["provider"], challenger.key, "the provider")
        kinds = [entry["kind"] for entry in world.life(order)]
        expect(kinds.index("audited") < kinds.index("judged"), f"the audit comes before the judgement: {kinds}")
        world.expect_honest_model(order, job)


TESTS = [audited, refuted]

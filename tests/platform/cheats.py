"""Dishonest workers: whoever signed a lie is convicted by evidence, nobody is convicted for anything else, and the client gets the honest model."""

from world import World, expect, expect_equal

# Each leaves a run that its own signature speaks against.
LIARS = ["wrong-learning-rate", "skipped-step", "backdoor", "repeated-batch", "other-order", "flipped-labels", "frozen-layer", "tampered-moments",
         "flipped-bit", "replaced-final-state"]
MORE_LIARS = ["admitted-order", "dropped-samples", "short-weights", "replaced-weights", "stolen-model", "forged-start", "other-seed", "rewritten-log"]
# Cannot say what it signed for, and asks for more time until none is left: it loses, and nobody is convicted.
STALLER = "stopped-early"
# Nothing that they deliver can be held against their keys, or it is refused at the door.
FORGERS = ["forged-receipt", "foreign-signature", "impostor", "other-receipt", "other-job", "other-data", "truncated-log", "earlier-log",
           "rewritten-after-receipt", "forged-checkpoint"]
# What these sign as the result, receipt and model, is true; what is false lies in the log beside it, which clients are not given.
TRUE_RESULTS = ["earlier-log", "rewritten-after-receipt", "forged-checkpoint"]


def evidence_convicts(world, order, fetched, job, liar):
    """The evidence beside the model, judged again without the coordinator."""
    files = sorted((fetched / "evidence").iterdir())
    expect_equal(len(files), 1, f"order {order}: files of evidence")
    world.assay("judge", files[0], "--job", job, "--signer", liar, "--json").expect(0)


def convict(world, name, honest):
    job = world.job(name=name, steps=12, seed=len(name))
    liar = world.worker(f"liar-{name}", cheat=name)
    order = world.submit(job, "--replicas", "2")
    outcome = world.decided(order)
    expect_equal(outcome["verdict"], "refereed", f"{name}: the verdict")
    expect_equal(outcome["convicted"], [liar.key], f"{name}: the convicted")
    expect_equal(outcome["provider"], honest.key, f"{name}: the provider")
    world.expect_honest_model(order, job)
    evidence_convicts(world, order, world.folder / "fetched" / order, job, liar.key)
    return liar


def stall(world, name, honest):
    job = world.job(name=name, steps=12, seed=len(name))
    liar = world.worker(f"liar-{name}", cheat=name)
    order = world.submit(job, "--replicas", "2")
    # A coordinator that takes a dispute over from one that was killed plays it anew, and everybody has all their time again. So a staller lasts as long as
    # coordinators are killed faster than its time runs out.
    with world.quiet():
        outcome = world.decided(order)
    expect_equal(outcome["verdict"], "refereed", f"{name}: the verdict")
    expect_equal(outcome["convicted"], [], f"{name}: the convicted")
    expect_equal(outcome["provider"], honest.key, f"{name}: the provider")
    world.expect_honest_model(order, job)
    liar.stop()


def liars(setting):
    """An honest worker against each of ten cheats (all of them with --full)."""
    # A dispute whose referee was killed is taken over by a coordinator that has seen nobody give a sign of life for a lease's time. Where coordinators are killed
    # every few seconds, that has to be a few seconds, too.
    with World(setting, lease_s=5 if setting.database == "postgres" else None) as world:
        world.serve(flags=["--patience", "15", "--rerun", "5"])
        honest = world.worker("anna")
        stall(world, STALLER, honest)
        print(f"  {STALLER}: lost without a conviction", flush=True)
        for name in LIARS + (MORE_LIARS if setting.full else []):
            liar = convict(world, name, honest)
            print(f"  {name}: convicted", flush=True)
            if name != LIARS[-1]:
                liar.stop()
        # A convicted key gets no more work: the last liar still asks for it, and an order that needs two waits for somebody else.
        job = world.job(name="after")
        order = world.submit(job, "--replicas", "2")
        world.wait_for("anna's run", lambda: any(e["kind"] == "received" for e in world.life(order)))
        world.worker("ben")
        expect_equal(world.decided(order)["verdict"], "verified", "the verdict after the conviction")
        leased = [entry["worker"] for entry in world.life(order) if entry["kind"] == "leased"]
        expect_equal(sorted(leased), sorted([world.keys["anna"], world.keys["ben"]]), "who was given a lease after the conviction")


def forgers(setting):
    """What is not signed by the worker, or is of another job, convicts nobody and delivers nothing; honest workers see to the order."""
    with World(setting) as world:
        world.serve()
        honest = [world.worker("anna"), world.worker("ben")]
        for name in FORGERS if setting.full else FORGERS[:4]:
            for worker in honest:
                worker.stop()
            job = world.job(name=name, steps=12, seed=len(name))
            forger = world.worker(f"forger-{name}", cheat=name)
            order = world.submit(job, "--replicas", "2")
            world.wait_for("the forger's lease", lambda: [e for e in world.life(order) if e["kind"] == "leased"])
            for worker in honest:
                worker.start()
            outcome = world.decided(order)
            expect(outcome["verdict"] in ("verified", "refereed"), f"{name}: the verdict is {outcome}")
            expect(set(outcome["convicted"]) <= {forger.key}, f"{name}: honest workers are convicted: {outcome}")
            providers = [worker.key for worker in honest] + [forger.key] * (name in TRUE_RESULTS)
            expect(outcome["provider"] in providers, f"{name}: the provider is {outcome['provider']}")
            world.expect_honest_model(order, job)
            print(f"  {name}: {outcome['verdict']}, convicted {len(outcome['convicted'])}", flush=True)
            forger.stop()


TESTS = [liars, forgers]

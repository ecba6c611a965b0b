"""Workers that speak the protocol badly: nobody is convicted for silence, and honest workers deliver where there are enough of them.

`silent` delivers a false run and answers no question about it, `vanishing` takes a lease and dies, `late` stands still until its lease is over and delivers then.
"""

from world import World, expect, expect_equal

SPEAKERS = {"silent": [], "vanishing": [], "late": ["--stall", "12"]}


def speakers(setting):
    """Each of them beside two honest workers."""
    with World(setting, lease_s=6) as world:
        world.serve(flags=["--patience", "15", "--rerun", "5"])
        honest = [world.worker("anna"), world.worker("ben")]
        for name, flags in SPEAKERS.items():
            for worker in honest:
                worker.stop()
            speaker = world.worker(name, cheat=name, flags=flags)
            job = world.job(name=name, steps=12)
            order = world.submit(job, "--replicas", "2")
            world.wait_for(f"the lease of {name}", lambda: [e for e in world.life(order) if e["kind"] == "leased"])
            for worker in honest:
                worker.start()
            outcome = world.decided(order, 240)
            expect(outcome["verdict"] in ("verified", "refereed"), f"{name}: {outcome}")
            expect_equal(outcome["convicted"], [], f"{name}: the convicted")
            expect_equal(outcome["silent"], [speaker.key] if name == "silent" else [], f"{name}: the silent")
            world.expect_honest_model(order, job)
            print(f"  {name}: {outcome['verdict']}, silent {len(outcome['silent'])}", flush=True)
            speaker.kill()


TESTS = [speakers]

"""Workers that speak the protocol badly: nobody is convicted for silence, and honest workers deliver where there are enough of them."""

from world import World, expect, expect_equal

# Names of `cheat NAME --worker` whose runs are honest, as far as they have any.
SPEAKERS = ["silent", "vanishing", "late"]


def speakers(setting):
    """Each of them beside two honest workers."""
    with World(setting, lease_s=6) as world:
        world.serve()
        honest = [world.worker("anna"), world.worker("ben")]
        for name in SPEAKERS:
            for worker in honest:
                worker.stop()
            speaker = world.worker(name, cheat=name)
            job = world.job(name=name, steps=12)
            order = world.submit(job, "--replicas", "2")
            world.wait_for(f"the lease of {name}", lambda: [e for e in world.life(order) if e["kind"] == "leased"])
            for worker in honest:
                worker.start()
            outcome = world.decided(order, 240)
            expect(outcome["verdict"] in ("verified", "refereed"), f"{name}: {outcome}")
            expect_equal(outcome["convicted"], [], f"{name}: the convicted")
            world.expect_honest_model(order, job)
            print(f"  {name}: {outcome['verdict']}, silent {len(outcome['silent'])}", flush=True)
            speaker.kill()


TESTS = [speakers]

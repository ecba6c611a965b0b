"""Honest workers: what everybody expects to see."""

import hashlib
import os
import time

from world import World, expect, expect_equal


def sweep(world, *words):
    return world.processes.run("admin", [world.setting.assay, "admin", "sweep", "--json", *words],
                               environment={"ASSAY_SERVER": world.server, "ASSAY_TOKEN": world.admin}, namespace=world.namespace).expect(0).json()


def expect_swept(world):
    """What no order needs goes, once it is old; what one needs stays."""
    name = hashlib.sha256(b"left behind").hexdigest()
    stray = world.store / "blobs" / "whole" / name[:2] / name[2:4] / name
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"left behind")
    expect_equal(sweep(world)["blobs"], 0, "young blobs that are swept")
    os.utime(stray, (time.time() - 8 * 86_400,) * 2)
    counted = sweep(world, "--dry-run")
    expect_equal((counted["blobs"], counted["bytes"], stray.exists()), (1, 11, True), "blobs to sweep")
    expect_equal(sweep(world, "--older-than", "7d")["blobs"], 1, "blobs that were swept")
    expect(not stray.exists(), "what nobody needs is gone")
    expect(counted["kept"] > 0, "what orders need was looked at")
    for blob in (world.store / "blobs" / "whole").rglob("*"):
        os.utime(blob, (time.time() - 8 * 86_400,) * 2)
    expect_equal(sweep(world)["blobs"], 0, "blobs of an order that are swept")


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
        expect_swept(world)


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

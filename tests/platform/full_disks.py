"""Disks that fill up: what happened is said in words, and everything goes on once there is room."""

import os
import pathlib
import subprocess

from processes import Skip
from world import World, expect, expect_equal


class SmallDisk:
    """A file system in memory, at a folder."""

    def __init__(self, folder, mebibytes):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        if os.geteuid() != 0:
            raise Skip("mounting a small file system needs root")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "assay-test", self.folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip(f"no small file system here: {done.stderr.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder], check=False)

    def fill(self, leave_kib=0):
        """All but a little."""
        filler = self.folder / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(65536))
            except OSError:
                pass
            file.truncate(max(0, file.tell() - 1024 * leave_kib))

    def make_room(self):
        (self.folder / "filler").unlink()


def coordinator_disk(setting):
    """A coordinator without room refuses uploads with the reason and keeps running; the same order goes through once there is room."""
    with World(setting) as world, SmallDisk(world.folder / "store", 64) as disk:
        world.serve(flags=["--reserve", "0"])
        world.worker("anna"), world.worker("ben")
        job = world.job()
        first = world.submit(job)
        expect_equal(world.decided(first)["verdict"], "verified", "the verdict before the disk was full")
        disk.fill()
        refused = world.assay("submit", world.job(name="second", seed=2), "--json", "--quiet", "--patience", "5")
        expect(refused.status == 2, f"a full disk: status {refused.status}: {refused.out} {refused.err}")
        words = refused.err + refused.out
        expect("full" in words or "space" in words or "room" in words, f"the reason is not said: {words}")
        expect("--again" in words, f"how to send it again is not said: {words}")
        order = words.split("--again ")[1].split()[0].strip('"}')
        expect(world.coordinators[0].process.alive(), "the coordinator ended")
        disk.make_room()
        world.assay("submit", "--again", order, "--json", "--quiet").expect(0)
        expect_equal(world.decided(order)["verdict"], "verified", "the verdict once there was room")
        # And while workers train: what they send is refused with the reason until there is room.
        order = world.submit(world.job(name="third", seed=3, steps=3000))
        world.wait_for_training(order, steps=50)
        disk.fill()
        refused = lambda: world.coordinators[0].process.err().count("the coordinator's disk is full")
        before = refused()
        world.wait_for("the coordinator to say it to the workers", lambda: refused() > before, 120)
        disk.make_room()
        expect_equal(world.decided(order, 300)["verdict"], "verified", "the verdict once there was room again")


def worker_disk(setting):
    """A worker without room gives its lease back with the reason, and takes work again once there is room."""
    with World(setting) as world, SmallDisk(world.folder / "workers" / "anna", 64) as disk:
        world.serve()
        anna = world.worker("anna")
        disk.fill(leave_kib=64)
        job = world.job()
        order = world.submit(job)
        released = world.wait_for("the lease to come back", lambda: [e for e in world.life(order) if e["kind"] == "released"], 60)
        expect("disk" in released[0]["words"], f"the reason is not said: {released}")
        world.worker("ben"), world.worker("carl")
        expect_equal(world.decided(order)["verdict"], "verified", "the verdict by others")
        # Full in the middle of a training.
        disk.make_room()
        world.workers[1].stop()
        long = world.job(name="long", steps=6000, lines=["[snapshot]", "every = 100", "keep = 3"])
        order = world.submit(long)
        world.wait_for_training(order, anna, steps=200)
        disk.fill()
        released = world.wait_for("the lease to come back", lambda: [e for e in world.life(order) if e["kind"] == "released"], 60)
        expect("space" in released[0]["words"] or "disk" in released[0]["words"], f"the reason is not said: {released}")
        expect(anna.process.alive(), f"the worker ended: {anna.process.err()}")
        disk.make_room()
        world.workers[1].start()
        expect_equal(world.decided(order, 300)["verdict"], "verified", "the verdict by others")
        world.workers[1].stop()
        after = world.submit(job)
        expect_equal(world.decided(after)["verdict"], "verified", "the verdict with anna")
        expect(anna.key in [e["worker"] for e in world.life(after) if e["kind"] == "leased"], "anna works again")


TESTS = [coordinator_disk, worker_disk]

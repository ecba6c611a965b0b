"""Backups that are taken while coordinators run (deploy/backup/assay-backup), and what a restored one means to everybody."""

import shutil

from world import ROOT, World, expect, expect_equal

SCRIPT = ROOT / "deploy" / "backup" / "assay-backup"
LONG = {"name": "long", "steps": 16_000, "lines": ["[snapshot]", "every = 1000", "keep = 2"]}


def count(world, order, kind):
    return sum(1 for entry in world.life(order) if entry["kind"] == kind)


def run(world, command, *words):
    database = ["--database", world.database] if world.database and command != "check" else []
    return world.processes.run("assay-backup", ["/usr/bin/python3", SCRIPT, command, *words, *database]).expect(0).json()


def destroy(world):
    """Coordinators, blobs and database are gone."""
    world.gremlin = None
    for coordinator in world.coordinators:
        coordinator.kill()
    shutil.rmtree(world.store)
    if world.database:
        world.database = world.postgres.new_database()


def refuse_damage(world, folder):
    """A byte that the disk has changed is found, and a blob that is missing is not restored without."""
    blob = max((folder / "blobs" / "whole").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    content = blob.read_bytes()
    blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    script = ["/usr/bin/python3", SCRIPT]
    damaged = world.processes.run("assay-backup", [*script, "check", "--from", folder]).expect(1)
    expect(blob.name in damaged.err, f"the damaged blob is named: {damaged.err}")
    blob.unlink()
    database = ["--database", world.postgres.new_database()] if world.database else []
    world.processes.run("assay-backup", [*script, "restore", "--from", folder, "--store", world.folder / "other", *database]).expect(1)
    expect(not (world.folder / "other").exists(), "nothing is restored of a backup that is not whole")
    blob.write_bytes(content)
    again = world.processes.run("assay-backup", [*script, "restore", "--from", folder, "--store", world.store, *database]).expect(2)
    expect("is not empty" in again.err, f"a store that is there is left alone: {again.err}")


def backup(setting):
    """A backup of a busy coordinator brings back every finished order; a running one goes on to its verdict, and who has seen more than it holds is told."""
    with World(setting) as world:
        world.serve()
        world.worker("anna"), world.worker("ben")
        short, long = world.job(), world.job(**LONG)
        finished = world.submit(short)
        expect_equal(world.decided(finished)["verdict"], "verified", "the verdict before the backup")
        running = world.submit(long)
        open_one = world.submit(short, client="carl")
        world.wait_for("both runs to begin", lambda: count(world, running, "leased") == 2, every=0.02)

        saved = run(world, "save", "--store", world.store, "--to", world.folder / "backup")
        expect(saved["blobs"] > 0, f"blobs are saved: {saved}")
        before = world.life(finished)

        # What happens after the backup: an order, a verdict that its client sees, and most commitments of the running order.
        late = world.submit(short)
        world.assay("cancel", open_one, client="carl").expect(0)
        expect_equal(world.decided(open_one, client="carl")["verdict"], "failed", "the verdict of the cancelled order")
        world.wait_for("commitments of both runs", lambda: count(world, running, "committed") >= 2)
        destroy(world)
        expect(run(world, "check", "--from", world.folder / "backup")["blobs"] >= saved["blobs"], "the blobs of the backup")
        run(world, "restore", "--from", world.folder / "backup", "--store", world.store)
        for coordinator in world.coordinators:
            coordinator.start()

        # The finished order is what it was.
        expect_equal(world.life(finished), before, "the life of the finished order")
        world.expect_honest_model(finished, short)
        # The order of after the backup is sent again, and is the same order.
        world.assay("watch", late, "--json", "--quiet", "--patience", "5").expect(2)
        expect_equal(world.assay("submit", "--again", late, "--json", "--quiet").expect(0).json()["id"], late, "the order sent again")
        # Who has seen a verdict that the restored life does not have is told so, and decides.
        refused = world.assay("watch", open_one, "--json", "--quiet", "--patience", "5", client="carl").expect(1)
        expect("a life only grows" in refused.out + refused.err, f"the reason: {refused.out} {refused.err}")
        (world.folder / "state" / "assay" / "orders" / open_one / "checkpoint").unlink()
        expect_equal(world.decided(open_one, client="carl")["verdict"], "verified", "the verdict that the client accepts")

        # The running order goes on under the same leases to the same bytes.
        expect_equal(world.decided(running)["verdict"], "verified", "the verdict of the running order")
        life = world.life(running)
        expect_equal(sorted(e["worker"] for e in life if e["kind"] == "leased"), sorted(world.keys[name] for name in ("anna", "ben")), "the leases")
        expect(not any(entry["kind"] == "released" for entry in life), f"no lease was released: {life}")
        world.fetch(running)
        expect_equal(world.decided(late)["verdict"], "verified", "the verdict of the order sent again")
        refuse_damage(world, world.folder / "backup")
        for order in (finished, running, open_one, late):
            life = world.life(order, client="carl" if order == open_one else "client")
            expect_equal([entry["kind"] for entry in life].count("decided"), 1, f"verdicts on {order}")


TESTS = [backup]

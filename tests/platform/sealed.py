"""Sealed orders: the coordinator keeps and relays what it cannot read."""

import base64
import json
import random
import re
import struct

from processes import folder_bytes
from world import World, expect, expect_equal

MARK = "a-name-that-nobody-else-uses"
JOB = f"""# {MARK} in a comment
name = "{MARK}"
steps = %d
seed = 7

[model]
kind = "mlp"
hidden = [24]

[data]
kind = "arrays"
path = "points"
inputs = "x"
labels = "y"

[batch]
microbatch = 40

[optimizer]
kind = "sgd"
momentum = 0.9

[schedule]
kind = "constant"
lr = 0.05

[commit]
every = 1
"""


def npy(descr, shape, body):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


def make_job(world, name, steps):
    folder = world.folder / name
    (folder / "points").mkdir(parents=True)
    draw = random.Random(world.setting.seed)
    x = struct.pack("<2400f", *(draw.gauss(0, 1) for _ in range(2400)))
    y = struct.pack("<400q", *(draw.randrange(4) for _ in range(400)))
    (folder / "points" / "x.npy").write_bytes(npy("<f4", "(400, 6)", x))
    (folder / "points" / "y.npy").write_bytes(npy("<i8", "(400,)", y))
    job = folder / "job.toml"
    job.write_text(JOB % steps)
    return job


def secrets(job, model):
    """Byte strings that only somebody who reads the job, its data or the model can know."""
    x = (job.parent / "points" / "x.npy").read_bytes()
    weights = model.read_bytes()
    pieces = {f"the data at {at}": x[at:at + 24] for at in range(128, len(x) - 24, 480)}
    pieces |= {f"the model at {at}": weights[at:at + 24] for at in range(len(weights) - 24, len(weights) // 2, -96)}
    return {"the job's name": MARK.encode()} | pieces


def search(world, wanted):
    """Where the coordinators' files, rows or logs hold one of the byte strings."""
    found = []
    places = list(folder_bytes(world.store)) + [(p, p.read_bytes()) for p in (world.folder / "logs").glob("serve*")]
    if world.postgres:
        rows = world.postgres.contents(world.database)
        places.append(("rows", rows.encode()))
        # Bytes are shown in hex there.
        wanted = wanted | {f"{what} in hex": piece.hex().encode() for what, piece in wanted.items()}
    for path, content in places:
        found += [f"{path} holds {what}" for what, piece in wanted.items() if piece in content]
    return found


def sealed(setting):
    """Workers open the order, the client opens the result, and nothing that the coordinator has shows what is in them."""
    with World(setting) as world:
        world.serve()
        world.worker("anna"), world.worker("ben")
        job = make_job(world, "secret", 40)
        recipients(world, 2)
        order = world.submit(job, "--replicas", "2", "--sealed-to", "all")
        outcome = world.decided(order)
        expect_equal((outcome["verdict"], outcome["convicted"]), ("verified", []), "the outcome")
        truth = world.truth(job)
        world.expect_honest_model(order, job)
        expect_equal(search(world, secrets(job, truth)), [], "secrets that the coordinator has")
        # The search finds what is there: the same order, not sealed.
        open_order = world.submit(job, "--replicas", "2")
        expect_equal(world.decided(open_order)["verdict"], "verified", "the verdict of the open order")
        expect(len(search(world, secrets(job, truth))) > 3, "the search does not find what an open order leaves")


def recipients(world, count):
    def announced():
        workers = world.get("/v1/workers")["workers"]
        return sum(1 for worker in workers if worker["recipient"]) >= count
    world.wait_for("the workers' recipients", announced)


def sealed_audit(setting):
    """An auditor of a sealed order is one of its recipients; a worker who is not gets nothing of it."""
    with World(setting) as world:
        world.serve()
        anna, ada = world.worker("anna"), world.worker("ada", role="auditor")
        world.worker("stranger")
        recipients(world, 3)
        job = make_job(world, "audited", 30)
        order = world.submit(job, "--audit", "50%", "--sealed-to", anna.key, "--sealed-to", ada.key)
        outcome = world.decided(order)
        expect_equal((outcome["verdict"], outcome["provider"]), ("verified", anna.key), "the outcome")
        leased = [entry["worker"] for entry in world.life(order) if entry["kind"] == "leased"]
        expect_equal(leased, [anna.key, ada.key], "the leases")
        world.expect_honest_model(order, job)


def sealed_dispute(setting):
    """The client is the referee of its sealed order: the liar is convicted, and neither the job nor the model is shown to the coordinator."""
    with World(setting) as world:
        world.serve()
        anna, liar = world.worker("anna"), world.worker("liar", cheat="wrong-learning-rate")
        recipients(world, 2)
        job = make_job(world, "disputed", 12)
        order = world.submit(job, "--replicas", "2", "--sealed-to", "all")
        outcome = world.decided(order, 240)
        expect_equal((outcome["verdict"], outcome["convicted"], outcome["provider"]), ("refereed", [liar.key], anna.key), "the outcome")
        world.expect_honest_model(order, job)
        # Evidence shows a few blocks of one step; the model is the last step's.
        hidden = {what: piece for what, piece in secrets(job, world.truth(job)).items() if "data" not in what}
        expect_equal(search(world, hidden), [], "secrets that the coordinator has")


def sealed_refuted(setting):
    """A lie in a sealed order is refuted, challenged and convicted, and what the coordinator is told of it on the way is where, and nothing of the job."""
    with World(setting) as world:
        world.serve()
        liar = world.worker("liar", cheat="wrong-learning-rate")
        job = make_job(world, "refuted", 20000)  # long enough for a report, whatever the machine
        ada, ben = world.worker("ada", start=False), world.worker("ben", start=False)
        for worker in (ada, ben):
            worker.start()
        recipients(world, 3)
        for worker in (ada, ben):
            worker.stop()
        order = world.submit(job, "--audit", "100%", "--sealed-to", "all")
        told = []

        def received():
            told.extend(world.order(order)["progress"])
            return any(entry["kind"] == "received" for entry in world.life(order))
        world.wait_for("the liar's run", received, every=0.02)
        ada.start(), ben.start()
        watching = world.watching(order)

        def judged():
            told.extend(world.order(order)["progress"])
            return any(entry["kind"] == "judged" for entry in world.life(order))
        world.wait_for("the conviction", judged, every=0.02)
        outcome = world.outcome(watching, 240)
        expect_equal((outcome["verdict"], outcome["convicted"]), ("refereed", [liar.key]), "the outcome")
        expect(told, "telemetry of a sealed order was seen")
        expect_equal({key for sample in told for key in sample} - {"lease", "at", "phase", "step", "steps"}, set(), "more that telemetry tells")
        life = world.life(order)
        reports = [json.loads(base64.b64decode(json.loads(entry["report"])["payload"])) for entry in life if entry["kind"] == "audited"]
        expect_equal(reports[0]["verdict"], "refuted", "the first report")
        for report in reports:
            expect(re.fullmatch(r"(refuted at step \d+)?", report["words"]), f"the words of a report: {report}")
        expect_equal([entry["words"] for entry in life if entry["kind"] in ("judged", "released") and entry["words"]], [], "words in the life")
        hidden = {"the rate": b"used lr", "the job's name": MARK.encode()}
        expect_equal(search(world, hidden), [], "what the coordinator was told")
        world.expect_honest_model(order, job)


TESTS = [sealed, sealed_audit, sealed_dispute, sealed_refuted]

"""One worker trains, another audits a share of the steps."""

import base64
import hashlib
import json
import struct

from world import World, expect, expect_equal


def expect_sample(world, order):
    """The segments that the report speaks of are those that the receipt, the coordinator's nonce and the auditor's share draw, by somebody else's count."""
    life = world.life(order)
    report = json.loads(base64.b64decode(json.loads(next(entry["report"] for entry in life if entry["kind"] == "audited"))["payload"]))
    nonce = next(entry["nonce"] for entry in life if entry["kind"] == "leased" and entry["role"] == "audit")
    expect_equal(report["nonce"], nonce, "the nonce of the report")
    copy = world.folder / "copy"
    for file in world.get(f"/v1/orders/{order}/runs/1")["files"]:
        path = copy / file["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        body = world.get(f"/v1/blobs/{file['sha256']}")
        path.write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
    again = world.assay("audit", copy, "--sample", "50%", "--nonce", nonce + report["share"], "--json", "--threads", "1").expect(0).json()
    drawn = again["segments_checked"]
    expect(0 < len(drawn) < again["segments"], f"a sample of {again['segments']} segments: {drawn}")
    expect_equal(report["sample"], hashlib.sha256(struct.pack(f"<{len(drawn)}Q", *drawn)).hexdigest(), "the sample of the report")
    alone = world.assay("audit", copy, "--sample", "50%", "--nonce", nonce, "--json", "--threads", "1").expect(0).json()["segments_checked"]
    return drawn != alone


def audited(setting):
    """An honest run is verified by its audit, by a worker that only audits as well as by one that also trains."""
    with World(setting) as world:
        world.serve()
        a = world.worker("anna")
        auditor = world.worker("ada", role="auditor")
        job = world.job(lines=["[snapshot]", "every = 1"])
        order = world.submit(job, "--audit", "50%")
        outcome = world.decided(order)
        expect_equal((outcome["verdict"], outcome["provider"]), ("verified", a.key), "the outcome of an audit")
        leases = [(entry["role"], entry["worker"]) for entry in world.life(order) if entry["kind"] == "leased"]
        expect_equal(leases, [("train", a.key), ("audit", auditor.key)], "the leases of an audited order")
        world.expect_honest_model(order, job)
        # 12 of 24 segments: that both draws give the same is less likely than one in two million.
        expect(expect_sample(world, order), "the nonce alone draws the same sample: the auditor has no share in it")


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

"""The client's commands against real processes: an honest coordinator with honest and cheating workers, then the same coordinator behind one that lies.

    client.py ASSAY CHEAT LIAR
"""
import json
import subprocess
import sys
import urllib.request

import kit
from kit import check

JOB = """
name = "small"
steps = 12
seed = 3
[model]
kind = "mlp"
hidden = [16]
[data]
kind = "arrays"
path = "arrays"
[batch]
microbatch = 15
[optimizer]
kind = "adamw"
[schedule]
kind = "constant"
lr = 0.02
[commit]
every = 3
[snapshot]
every = 6
"""


def verified(platform, job):
    status, said, error = platform.client("submit", job, "--replicas", 2, "--wait")
    check(status == 0 and said["verdict"] == "verified", f"two honest workers: {status} {said} {error}")
    check(said["provider"] and said["convicted"] == [], f"two honest workers: {said}")
    check("trains" in error, f"progress: {error}")
    fetch(platform, said["id"], platform.path / "verified")
    return said["id"]


def fetch(platform, order, out, **how):
    status, said, error = platform.client("fetch", order, "--out", out, **how)
    check(status == 0, f"fetch: {status} {said} {error}")
    for name in ("model.safetensors", "receipt.json", "order.json", "life.jsonl", "checkpoint", "coordinator.pub"):
        check((out / name).is_file(), f"fetch: {name} is missing")
    check(not out.with_name(out.name + ".part").exists(), "fetch: leaves something behind")
    seen = subprocess.run([platform.assay, "verify", out / "model.safetensors", "--receipt", out / "receipt.json"], capture_output=True, text=True)
    check(seen.returncode == 0, f"verify: {seen.stdout} {seen.stderr}")
    seen = subprocess.run([platform.assay, "verify", out, "--signer", platform.path / "store" / "coordinator.key.pub", "--json"], capture_output=True, text=True)
    check(seen.returncode == 0 and json.loads(seen.stdout)["kind"] == "delivery", f"verify of the folder: {seen.stdout} {seen.stderr}")
    again, _, error = platform.client("fetch", order, "--out", out, **how)
    check(again == 2 and "not overwritten" in error, f"fetch into a folder that is there: {again} {error}")


def refereed(platform, job):
    status, said, error = platform.client("submit", job, "--replicas", 2, "--wait")
    check(status == 0 and said["verdict"] == "refereed", f"an honest worker and a cheat: {status} {said} {error}")
    check(len(said["convicted"]) == 1 and said["provider"] not in said["convicted"], f"an honest worker and a cheat: {said}")
    fetch(platform, said["id"], platform.path / "refereed")
    evidence = list((platform.path / "refereed" / "evidence").iterdir())
    check(len(evidence) == 1, "fetch: the evidence is missing")
    judged = subprocess.run([platform.assay, "judge", evidence[0], "--signer", said["convicted"][0]], capture_output=True, text=True)
    check(judged.returncode == 0, f"judge: {judged.stdout} {judged.stderr}")
    return said["id"]


def bookkeeping(platform, job):
    status, said, error = platform.client("submit", job, "--replicas", 16, "--attempts", 16)
    check(status == 0, f"submit: {status} {error}")
    order = said["id"]
    status, said, error = platform.client("submit", "--again", order)
    check(status == 0 and said["id"] == order, f"submit --again: {status} {said} {error}")
    status, said, _ = platform.client("jobs")
    check(status == 0 and [line["id"] for line in said["orders"]].count(order) == 1, f"jobs: {said}")
    status, said, error = platform.client("cancel", order)
    check(status == 0 and said["cancelled"], f"cancel: {status} {said} {error}")
    status, said, _ = platform.client("watch", order)
    check(status == 1 and said["verdict"] == "failed", f"a cancelled order: {status} {said}")
    status, said, _ = platform.client("fetch", order, "--out", platform.path / "cancelled")
    check(status == 1 and said["model"] is None and not (platform.path / "cancelled").exists(), f"fetch of a cancelled order: {said}")
    status, said, error = platform.client("watch", "0" * 32)
    check(status == 2 and "error" in said, f"an order that is not there: {status} {said} {error}")
    status, said, error = platform.client("watch", order, state=platform.path / "elsewhere")
    check(status == 1 or status == 0, f"the same key elsewhere: {status} {error}")


def sealed(platform):
    job = platform.path / "secret.toml"
    job.write_text(JOB.replace("hidden = [16]", "hidden = [19]"))
    status, said, error = platform.client("submit", job, "--sealed-to", "all", "--replicas", 2, "--wait")
    check(status == 0 and said["verdict"] in ("verified", "refereed"), f"a sealed order: {status} {said} {error}")
    fetch(platform, said["id"], platform.path / "sealed")
    blobs = (platform.path / "store").rglob("*")
    check(not any(b"hidden = [19]" in path.read_bytes() for path in blobs if path.is_file()), "the coordinator has the sealed job in plain text")
    return said["id"]


class Liar:
    def __init__(self, platform, program):
        process = platform.start("liar", [program, "--server", platform.server, "--key", platform.path / "store" / "coordinator.key"])
        self.url = json.loads(process.stdout.readline())["listening"]

    def tell(self, lie):
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/lie/{lie}", method="POST", data=b"")).close()


def lies(platform, program, two_honest, with_cheat):
    liar = Liar(platform, program)
    out = platform.path / "lie"

    def refused(lie, order, words, command="fetch", state=None):
        liar.tell(lie)
        more = ["--out", out] if command == "fetch" else []
        status, said, error = platform.client(command, order, *more, server=liar.url, state=state)
        check(status == 1 and said.get("refused"), f"{lie}: {status} {said} {error}")
        check(words in said["refused"] and "refused" in error, f"{lie}: expected '{words}', got: {said['refused']}")
        check(not out.exists() and not out.with_name("lie.part").exists(), f"{lie}: something was written")

    liar.tell("none")
    status, said, error = platform.client("watch", two_honest, server=liar.url)
    check(status == 0, f"the truth through the proxy: {status} {said} {error}")
    refused("verdict", two_honest, "what follows is verified by lease")
    refused("early", two_honest, "no decision follows")
    refused("fork", two_honest, "two histories")
    refused("shorter", two_honest, "a life only grows")
    refused("unsigned", two_honest, "not signed by")
    refused("order", two_honest, "not the order that was submitted")
    refused("model", two_honest, "another hash")
    refused("key", two_honest, "--coordinator")
    for command in ("watch", "fetch"):
        refused("no-evidence", with_cheat, "does not hand out", command)
        refused("bad-evidence", with_cheat, "has another hash", command)
        refused("wrong-convict", with_cheat, "two histories", command)
    # Somebody who has seen nothing of it before has the evidence to go by.
    fresh = platform.path / "fresh"
    fresh.mkdir()
    refused("wrong-convict", with_cheat, "does not convict", "watch", fresh)
    refused("order", two_honest, "--signer", "watch", fresh)
    refused("early", two_honest, "no decision follows", "watch", fresh)
    liar.tell("none")
    fetch(platform, two_honest, out, server=liar.url)


def main():
    assay, cheat, liar = sys.argv[1:4]
    with kit.Platform(assay, cheat) as platform:
        platform.serve()
        job = platform.path / "job.toml"
        job.write_text(JOB)
        subprocess.run(["cp", "-r", "examples/arrays", platform.path / "arrays"], check=True)
        first = [platform.worker("one"), platform.worker("two")]
        two_honest = verified(platform, job)
        sealed(platform)
        bookkeeping(platform, job)
        first[1].terminate()
        first[1].wait(timeout=30)
        platform.worker("three", "flipped-bit", "provider", "--at", 7)
        with_cheat = refereed(platform, job)
        lies(platform, liar, two_honest, with_cheat)
    print("ok")


main()

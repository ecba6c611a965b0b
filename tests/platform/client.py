"""The client's commands against real processes: an honest coordinator with honest and cheating workers, then the same coordinator behind one that lies.

    client.py ASSAY CHEAT LIAR
"""
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import urllib.error
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
    check(said["steps"] == 12 and said["loss"] > 0, f"what is delivered: {said}")
    check("trains" in error, f"progress: {error}")
    fetch(platform, said["id"], platform.path / "verified")
    return said["id"]


def renamed(vkey):
    """The same 32 bytes under another name."""
    data = vkey.strip().split("+", 2)[2]
    name_hash = hashlib.sha256(b"zz\n" + base64.b64decode(data)).hexdigest()[:8]
    return f"zz+{name_hash}+{data}"


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
    for key, status in ((renamed((out / "coordinator.pub").read_text()), 0), (platform.path / "one" / "key.pub", 1)):
        seen = subprocess.run([platform.assay, "verify", out, "--signer", key], capture_output=True, text=True)
        check(seen.returncode == status, f"verify --signer {key}: {seen.returncode}, expected {status}: {seen.stdout} {seen.stderr}")
    for command in ("sample", "eval", "audit"):
        used = subprocess.run([platform.assay, command, out], capture_output=True, text=True)
        check(used.returncode == 2 and f"assay sample JOB --weights {out}/model.safetensors" in used.stderr, f"{command}: {used.stdout} {used.stderr}")
    shown = subprocess.run([platform.assay, "show", out], capture_output=True, text=True)
    check(shown.returncode == 0 and "assay sample JOB --weights" in shown.stdout, f"show of a delivery: {shown.stdout} {shown.stderr}")
    shown = subprocess.run([platform.assay, "show", out / "order.json"], capture_output=True, text=True)
    check(shown.returncode == 2 and "is a signed order" in shown.stderr, f"show of an order: {shown.stdout} {shown.stderr}")
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


def damaged(platform, folder):
    """A delivery that is a bad copy says nothing against anybody; one that is whole and another coordinator's is not what was asked for."""
    def verified(words, status, *flags, change=None):
        copy = platform.path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        if change:
            change(copy)
        done = subprocess.run([platform.assay, "verify", copy, "--json", *flags], capture_output=True, text=True)
        check(done.returncode == status and words in done.stdout + done.stderr, f"verify: {done.returncode} {done.stdout}{done.stderr}; expected {status} {words}")
        if not flags:
            shown = subprocess.run([platform.assay, "show", copy], capture_output=True, text=True)
            check(shown.returncode == status and ("to use it" in shown.stdout) == (status == 0), f"show: {shown.returncode} {shown.stdout}{shown.stderr}; expected {status}")

    def flip(name, at):
        def change(copy):
            path = next(copy.glob(name))
            content = bytearray(path.read_bytes())
            content[at] ^= 1
            path.write_bytes(content)
        return change

    def cut(copy):
        lines = (copy / "life.jsonl").read_text().splitlines(True)
        (copy / "life.jsonl").write_text("".join(lines[:-1]))

    verified('"valid":true', 0)
    verified("its checkpoint is of", 4, change=cut)
    verified("not those of its checkpoint", 4, change=flip("life.jsonl", 30))
    verified('"damaged":true', 4, change=flip("checkpoint", -8))
    verified('"damaged":true', 4, change=flip("model.safetensors", -1))
    verified('"damaged":true', 4, change=flip("model.safetensors", 0))
    verified("is not the receipt of the run", 4, change=flip("receipt.json", 40))
    verified("has another hash than its name", 4, change=flip("evidence/*", 100))
    verified('"damaged":true', 4, change=flip("order.json", 40))
    verified('"damaged":true', 4, change=lambda copy: (copy / "model.safetensors").unlink())
    verified("is of the coordinator", 1, "--signer", str(platform.path / "one" / "key.pub"))


def bookkeeping(platform, job):
    status, said, error = platform.client("submit", job, "--replicas", 16, "--attempts", 16)
    check(status == 0, f"submit: {status} {error}")
    order = said["id"]
    status, said, error = platform.client("submit", "--again", order)
    check(status == 0 and said["id"] == order, f"submit --again: {status} {said} {error}")
    status, said, _ = platform.client("jobs")
    check(status == 0 and [line["id"] for line in said["orders"]].count(order) == 1, f"jobs: {said}")
    listed = next(line for line in said["orders"] if line["id"] == order)
    check(listed["name"] == "small" and not listed["cancelled"], f"jobs: {listed}")
    status, said, error = platform.client("cancel", order)
    check(status == 0 and said["cancelled"], f"cancel: {status} {said} {error}")
    listed = next(line for line in platform.client("jobs")[1]["orders"] if line["id"] == order)
    check(listed["verdict"] == "failed" and listed["cancelled"], f"jobs: {listed}")
    status, said, _ = platform.client("watch", order)
    check(status == 1 and said["verdict"] == "failed" and said["steps"] is None, f"a cancelled order: {status} {said}")
    status, said, _ = platform.client("fetch", order, "--out", platform.path / "cancelled")
    check(status == 1 and said["model"] is None and not (platform.path / "cancelled").exists(), f"fetch of a cancelled order: {said}")
    status, said, error = platform.client("watch", "0" * 32)
    check(status == 2 and "error" in said, f"an order that is not there: {status} {said} {error}")
    status, said, error = platform.client("watch", order, state=platform.path / "elsewhere")
    check(status == 1 or status == 0, f"the same key elsewhere: {status} {error}")


def stumbling(platform, job, order):
    """What somebody new gets wrong, and what is said to that."""
    def says(words, *command, status=2, **environment):
        settings = dict(ASSAY_SERVER=platform.server, ASSAY_TOKEN=platform.token("client"))
        settings.update(environment)
        done = subprocess.run([platform.assay, *[str(word) for word in command]], text=True, capture_output=True, timeout=120, env=platform.environment(**settings))
        check(done.returncode == status and words in done.stderr + done.stdout, f"{command}: {done.returncode}: {done.stdout}{done.stderr}; expected: {words}")
        return done

    nobody = "the token is not valid, was revoked or has expired (--token, $ASSAY_TOKEN)"
    says(nobody, "jobs", ASSAY_TOKEN="assay_" + "0" * 64)
    refused = says(nobody, "worker", "--work", platform.path / "denied", ASSAY_TOKEN="assay_" + "0" * 64)
    check("GFLOP/s" not in refused.stderr, f"a worker without a token measures the machine: {refused.stderr}")
    check(not (platform.path / "denied").exists(), "a worker without a token leaves a folder behind")
    nowhere = platform.path / "nobody"
    says("name the key with --signer", "watch", order, XDG_CONFIG_HOME=str(nowhere / "config"), XDG_STATE_HOME=str(nowhere / "state"))
    check(not (nowhere / "config").exists(), "somebody who only reads gets a key")
    says("a token of role client may not do this, only one of role provider or auditor or admin", "worker", "--work", platform.path / "denied")
    says("no order of this id in this token's account (tokens made with --account NAME share one)", "watch", "0" * 32)
    says("--audit: expected a whole number of percent from 1 to 100", "submit", job, "--audit", "0%")
    lost = says("was not made here", "submit", "--again", "0" * 32)
    check("send the same order again" not in lost.stderr, f"an order that is nobody's: {lost.stderr}")
    stopped = says("may not do this", "submit", "--again", order, ASSAY_TOKEN=platform.token("provider"))
    check("send the same order again" not in stopped.stderr, f"a token of another role: {stopped.stderr}")
    keys = platform.path / "store" / "coordinator.key.pub", platform.path / "one" / "key.pub"
    says(order, "jobs", "--coordinator", keys[0], status=0)
    says("expected", "jobs", "--coordinator", keys[1], status=1)
    says("no good signature of the witness", "watch", order, "--witness", keys[1], status=1)
    unwitnessed = platform.client("watch", order, "--witness", keys[1])
    check(unwitnessed[0] == 1 and "is kept in" not in unwitnessed[2], f"a witness who never signed is no contradiction: {unwitnessed}")
    gone = says("waiting for http://127.0.0.1:1: connection refused; giving up after 1 s (--patience)", "jobs", "--patience", 1, "--json",
                ASSAY_SERVER="http://127.0.0.1:1")
    check("waiting" not in gone.stdout and '"error"' in gone.stdout, f"what is waited for is no result: {gone.stdout}")
    admin = dict(ASSAY_TOKEN=platform.tokens["admin"])
    made = json.loads(says("token", "admin", "token", "--role", "client", "--json", status=0, **admin).stdout)
    check(says("revoked", "admin", "revoke", made["id"], status=0, **admin).stdout == f"revoked {made['id']}\n", "admin revoke")
    says("there is no order of this id", "admin", "cancel", "zzz", **admin)
    listed = json.loads(says("orders", "admin", "orders", "--all", "--json", status=0, **admin).stdout)["orders"]
    check(all(set(line) == {"id", "seq", "job_id", "made_ms", "account", "verdict"} for line in listed), f"admin orders: {listed}")
    listed = json.loads(says("tokens", "admin", "tokens", "--json", status=0, **admin).stdout)["tokens"]
    check(all(line["expires_ms"] is None for line in listed) and {line["revoked_ms"] is None for line in listed} == {True, False}, f"admin tokens: {listed}")
    says("--memory: 4.00 KiB is less than any job needs", "submit", job, "--memory", "4096")
    large = platform.path / "large.toml"
    large.write_text(JOB.replace("hidden = [16]", "hidden = [1024, 1024]"))
    says("and the order allows 1.00 MiB: workers would give it back", "submit", large, "--memory", "1MiB")
    says("workers would give it back", "submit", large, "--memory", "12MiB")
    # A worker with a GPU needs only the state in the host's memory, 12.1 MiB; the work space is another 4 MiB.
    sent = says("where there is no GPU, and the order allows 14.0 MiB: only workers with a GPU can take it", "submit", large, "--memory", "14MiB", status=0)
    says("", "cancel", sent.stdout.strip(), status=0)
    sent = says("", "submit", large, "--memory", "17MiB", status=0)
    check("GPU" not in sent.stderr, f"an order that workers with a CPU can take: {sent.stderr}")
    says("", "cancel", sent.stdout.strip(), status=0)
    says("--disk: ", "submit", large, "--disk", "1MiB")
    says("--attempts is 2, expected 5 to 64", "submit", job, "--replicas", 5, "--attempts", 2)
    says("another coordinator serves this folder", "serve", "--store", platform.path / "store")
    says("of 1000000000", "admin", "quota", made["account"], "--bytes", "1GB", status=0, **admin)
    new = platform.path / "nothing"
    says("unknown scheme", "serve", "--store", new, "--database", "mysql://x")
    check(not new.exists(), "a coordinator without a database leaves something behind")


def damaged_state(platform, order):
    """What is wrong on the client's own disk is no lie of the coordinator's."""
    state = platform.path / "damaged-state"
    status, said, error = platform.client("watch", order, state=state)
    check(status == 0, f"the same key elsewhere: {status} {said} {error}")
    kept = state / "orders" / order / "checkpoint"
    whole = kept.read_text()
    kept.write_text(whole[:-9] + "AAAAAAA=\n")
    status, said, error = platform.client("watch", order, state=state)
    check(status == 2 and "the checkpoint that was kept" in error and str(kept) in error, f"a damaged checkpoint: {status} {said} {error}")
    kept.unlink()
    status, said, error = platform.client("watch", order, state=state)
    check(status == 0, f"after it was removed: {status} {said} {error}")


def waiting(platform, job):
    """An order that lacks a worker: watch says so."""
    order = platform.client("submit", job, "--replicas", 16, "--attempts", 16)[1]["id"]
    watch = subprocess.Popen([platform.assay, "watch", order], text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             env=platform.environment(ASSAY_SERVER=platform.server, ASSAY_TOKEN=platform.token("client")))
    platform.processes.append(watch)
    said = ""
    for line in watch.stderr:
        said += line
        if "waiting for workers: this order needs 14 more runs, by keys that have had no lease in it" in line:
            break
    else:
        raise kit.Failure(f"watch does not say what the order lacks: {said}")
    status, said, error = platform.client("cancel", order)
    check(status == 0, f"cancel: {status} {said} {error}")
    watch.communicate(timeout=60)
    check(watch.returncode == 1, f"watch of a cancelled order: {watch.returncode}")
    status, said, error = platform.client("cancel", order)
    check(status == 0 and said["cancelled"], f"cancel again: {status} {said} {error}")


def sealed(platform):
    job = platform.path / "secret.toml"
    job.write_text(JOB.replace("hidden = [16]", "hidden = [19]"))
    status, said, error = platform.client("submit", job, "--sealed-to", "all", "--replicas", 2, "--wait")
    check(status == 0 and said["verdict"] in ("verified", "refereed"), f"a sealed order: {status} {said} {error}")
    fetch(platform, said["id"], platform.path / "sealed")
    without = platform.path / "no-identity"
    status, refused, error = platform.client("fetch", said["id"], "--out", without, state=platform.path / "another-state")
    check(status == 2 and "are sealed to age1" in error and not without.with_name("no-identity.part").exists(),
          f"a sealed order without its identity: {status} {refused} {error}")
    blobs = (platform.path / "store").rglob("*")
    check(not any(b"hidden = [19]" in path.read_bytes() for path in blobs if path.is_file()), "the coordinator has the sealed job in plain text")
    return said["id"]


def call(url, token=None, body=None, method=None):
    """What the API answers, as status and object."""
    request = urllib.request.Request(url, method=method, data=body if isinstance(body, bytes | None) else json.dumps(body).encode())
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.loads(refusal.read())


def recipients(platform):
    """Those that the workers have announced."""
    envelopes = [worker["recipient"] for worker in call(f"{platform.server}/v1/workers", platform.token("client"))[1]["workers"]]
    return [json.loads(base64.b64decode(json.loads(envelope)["payload"]))["recipient"] for envelope in envelopes if envelope]


def replayed(platform, liar, order):
    """Whoever has the sealed files of an order makes one of its own of them, with results for itself: workers refuse it and say nothing of what is in them."""
    api, admin = f"{platform.server}/v1", platform.tokens["admin"]
    envelope = json.loads(call(f"{api}/orders/{order}/life", admin)[1]["entries"][0])["order"]
    files = json.loads(base64.b64decode(json.loads(envelope)["payload"]))["files"]
    thief = call(f"{api}/admin/tokens", admin, {"role": "client"})[1]["token"]
    for file in files:
        blobs = [path.read_bytes() for path in (platform.path / "store" / "blobs").rglob("*") if path.is_file()]
        content = next(blob for blob in blobs if hashlib.sha256(blob).hexdigest() == file["sha256"])
        status, _ = call(f"{api}/blobs/{file['sha256']}?offset=0&size={len(content)}", thief, content, "PUT")
        check(status == 201, f"the sealed files of somebody else: {status}")
    stolen = call(f"{liar.url}/replay", body={"order": envelope, "id": os.urandom(16).hex(), "reply": recipients(platform)[0]})[1]["order"]
    status, answer = call(f"{api}/orders", thief, stolen.encode())
    check(status == 201, f"an order of somebody else's sealed files: {status} {answer}")

    def entries():
        return [json.loads(entry) for entry in call(f"{api}/orders/{answer['id']}/life", thief)[1]["entries"]]

    kit.wait_until(lambda: sum(1 for entry in entries() if entry["kind"] in ("released", "received")) >= 2, 60, "two workers to look at a stolen order")
    told = [entry for entry in entries() if entry["kind"] not in ("submitted", "leased")]
    words = "its files cannot be opened, or were not sealed for it"
    check(all(entry["kind"] == "released" and entry["words"] == words for entry in told), f"a stolen order: {told}")
    call(f"{api}/orders/{answer['id']}/cancel", thief, {})


def usurped(platform, liar):
    """Somebody else than the client of a sealed order says that the honest worker was silent: the API refuses it, and so does every reader of the life."""
    job = platform.path / "usurped.toml"
    job.write_text(JOB.replace("hidden = [16]", "hidden = [23]"))
    status, said, error = platform.client("submit", job, "--sealed-to", "all", "--replicas", 2)
    check(status == 0, f"a sealed order: {status} {error}")
    order = said["id"]
    api, admin = f"{platform.server}/v1", platform.tokens["admin"]
    kit.wait_until(lambda: [lease["state"] for lease in call(f"{api}/orders/{order}", admin)[1]["leases"]] == ["held", "held"], 60, "two sealed runs")
    # The operator has a token of the client's account made.
    account = next(line["account"] for line in call(f"{api}/admin/orders?state=all", admin)[1]["orders"] if line["id"] == order)
    usurper = call(f"{api}/admin/tokens", admin, {"role": "client", "account": account})[1]["token"]
    for silent in (1, 2):
        judged = {"among": [1, 2], "evidence": [], "convicted": [], "silent": [silent], "outcome": "decided", "words": "gave no answer", "signature": ""}
        status, answer = call(f"{api}/orders/{order}/judged", usurper, {"judged": judged})
        check(status == 422 and "judged by its client" in answer["error"], f"somebody else judges a sealed order: {status} {answer}")
    out = platform.path / "usurped"
    liar.tell("referee")
    for command in (["fetch", order, "--out", out], ["watch", order]):
        status, said, error = platform.client(*command, server=liar.url)
        check(status == 1 and "judged by its client" in (said.get("refused") or ""), f"a life that somebody else judged: {status} {said} {error}")
    check(not out.exists(), "a life that somebody else judged: something was written")
    # The client does it itself; on another machine, with its key, that is believed.
    status, said, error = platform.client("watch", order)
    check(status == 0 and said["verdict"] == "refereed" and len(said["convicted"]) == 1, f"the client referees: {status} {said} {error}")
    fetch(platform, order, out)
    status, said, error = platform.client("watch", order, state=platform.path / "another-machine")
    check(status == 0 and said["verdict"] == "refereed", f"the client's judgement elsewhere: {status} {said} {error}")


class Liar:
    def __init__(self, platform, program):
        process = platform.start("liar", [program, "--server", platform.server, "--key", platform.path / "store" / "coordinator.key"])
        self.url = json.loads(process.stdout.readline())["listening"]

    def tell(self, lie):
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/lie/{lie}", method="POST", data=b"")).close()


def lies(platform, liar, two_honest, with_cheat):
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
    liar.tell("order")
    status, said, error = platform.client("watch", two_honest, server=liar.url, state=fresh)
    check(status == 2 and "--signer" in error and "begin anew" not in error, f"an order of somebody unknown: {status} {said} {error}")
    own = platform.path / "home" / ".config" / "assay" / "key.pub"
    status, said, error = platform.client("watch", two_honest, "--signer", own, server=liar.url, state=fresh)
    check(status == 1 and "--signer" in said["refused"], f"an order of another signer than the one named: {status} {said} {error}")
    refused("early", two_honest, "no decision follows", "watch", fresh)
    # An order of somebody unknown does not hide that the life is another than the one that was shown before.
    seen = platform.path / "seen"
    liar.tell("none")
    status, said, error = platform.client("watch", two_honest, server=liar.url, state=seen)
    check(status == 0, f"the truth, somewhere else: {status} {said} {error}")
    refused("order", two_honest, "two histories", "watch", seen)
    kept = seen / "orders" / two_honest / "contradiction"
    check({path.name for path in kept.iterdir()} == {"checkpoint", "checkpoint-before", "life.jsonl"}, f"what it signed: {list(kept.iterdir())}")
    liar.tell("none")
    own.rename(own.with_name("key.pub.away"))
    own.with_name("key").rename(own.with_name("key.away"))
    status, said, error = platform.client("watch", two_honest, server=liar.url, state=seen)
    check(status == 2 and "--signer" in error and "begin anew" not in error, f"the same life, and the key is gone: {status} {said} {error}")
    own.with_name("key.away").rename(own.with_name("key"))
    own.with_name("key.pub.away").rename(own)
    fetch(platform, two_honest, out, server=liar.url)


def taken(platform, name):
    """The key of a worker that has ended, under a token of another account: how to get on is said, and does it."""
    admin = platform.tokens["admin"]
    other = call(f"{platform.server}/v1/admin/tokens", admin, {"role": "provider"})[1]["token"]
    key = platform.path / name / "key"
    command = [platform.assay, "worker", "--work", platform.path / "other", "--key", key]
    settings = platform.environment(ASSAY_SERVER=platform.server, ASSAY_TOKEN=other)
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, env=settings)
    check(done.returncode == 2 and "assay admin release KEY" in done.stderr, f"the key of another account: {done.returncode} {done.stderr}")
    vkey = key.with_name("key.pub").read_text().strip()
    for text, status, words in (("nobody+00000000", 2, "no workers have a key"), ("+".join(vkey.split("+")[:2]), 0, vkey)):
        done = subprocess.run([platform.assay, "admin", "release", text], text=True, capture_output=True, timeout=60,
                              env=platform.environment(ASSAY_SERVER=platform.server, ASSAY_TOKEN=admin))
        check(done.returncode == status and words in done.stdout + done.stderr, f"release {text}: {done.returncode} {done.stdout}{done.stderr}")


def main():
    assay, cheat, program = sys.argv[1:4]
    with kit.Platform(assay, cheat) as platform:
        platform.serve()
        job = platform.path / "job.toml"
        job.write_text(JOB)
        subprocess.run(["cp", "-r", "examples/arrays", platform.path / "arrays"], check=True)
        first = [platform.worker("one"), platform.worker("two")]
        two_honest = verified(platform, job)
        liar = Liar(platform, program)
        replayed(platform, liar, sealed(platform))
        bookkeeping(platform, job)
        damaged_state(platform, two_honest)
        stumbling(platform, job, two_honest)
        waiting(platform, job)
        first[1].terminate()
        first[1].wait(timeout=30)
        three = platform.worker("three", "flipped-bit", "provider", "--at", 7)
        kit.wait_until(lambda: len(recipients(platform)) == 3, 60, "the cheat's recipient")
        # Sealed first: who is convicted gets no more work.
        usurped(platform, liar)
        three.terminate()
        three.wait(timeout=30)
        platform.worker("four", "flipped-bit", "provider", "--at", 7)
        with_cheat = refereed(platform, job)
        damaged(platform, platform.path / "refereed")
        lies(platform, liar, two_honest, with_cheat)
        taken(platform, "two")
    print("ok")


main()

"""A small platform: one coordinator or several behind one address, workers, clients. Everything is below one folder and ends with it."""

import contextlib
import filecmp
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import tempfile
import time

from postgres import Postgres
from processes import SLOWNESS, Failure, Processes, wait_until

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DECIDED = {"verified": 0, "refereed": 0, "withheld": 1, "failed": 1, "undecided": 3}


class Setting:
    """What a test is run with."""

    def __init__(self, assay, cheat, seed=1, full=False, database="sqlite", keep=False, seconds=600, scratch=None):
        self.assay, self.cheat = os.path.abspath(assay), os.path.abspath(cheat)
        self.seed, self.full, self.database, self.keep, self.seconds, self.scratch = seed, full, database, keep, seconds, scratch


class Coordinator:
    """`assay serve`. Started again after a kill it has the port, the store and the key of before."""

    def __init__(self, world, name, flags=(), namespace=None, host="127.0.0.1"):
        self.world, self.name, self.flags, self.namespace, self.host = world, name, list(flags), namespace, host
        self.port, self.process, self.admin = 0, None, None

    def start(self, wait=True):
        command = [self.world.setting.assay, "serve", "--store", self.world.store, "--listen", f"{self.host}:{self.port}", "--json", *self.flags]
        if self.world.database:
            command += ["--database", self.world.database]
        self.process = self.world.processes.start(self.name, command, namespace=self.namespace)
        if wait:
            self.listening()
        return self

    def listening(self, seconds=40):
        def said():
            if not self.process.alive():
                raise Failure(f"{self.process.name} ended with {self.process.popen.returncode}: {self.process.err()[-1500:]}")
            lines = self.process.out().splitlines()
            return json.loads(lines[0]) if lines and self.process.out().endswith("\n") else None
        line = wait_until(f"{self.process.name} to listen", said, seconds)
        self.port = int(re.search(r":(\d+)/?$", line["listening"]).group(1))
        if line.get("admin_token"):
            self.admin = line["admin_token"]
        return self

    def kill(self):
        self.process.kill()

    @property
    def address(self):
        """As it is seen from where it runs."""
        return f"127.0.0.1:{self.port}"


class Worker:
    """`assay worker`, or a cheat in its place."""

    def __init__(self, world, name, command, environment, folder, key, namespace=None):
        self.world, self.name, self.command, self.environment = world, name, command, environment
        self.folder, self.key, self.namespace, self.process = folder, key, namespace, None

    def start(self):
        self.process = self.world.processes.start(self.name, self.command, environment=self.environment, namespace=self.namespace)
        return self

    def kill(self):
        self.process.kill()

    def stop(self):
        return self.process.stop()

    def steps(self):
        """How far the runs in its folder have come, by their logs' sizes; empty where there is none."""
        return [path for path in self.folder.glob("orders/*/lease-*/run/log/checkpoint")]


class Gremlin:
    """Kills one of several coordinators every now and then, and starts it again a little later."""

    def __init__(self, world):
        self.world, self.random = world, random.Random(world.setting.seed + 1)
        self.victim, self.kills = None, 0
        self.next = time.monotonic() + self.random.uniform(0.5, 4)

    def play(self):
        if time.monotonic() < self.next:
            return
        if self.victim is None:
            self.victim = self.random.choice(self.world.coordinators)
            self.victim.kill()
            self.kills += 1
            self.next = time.monotonic() + self.random.uniform(0, 2)
        else:
            self.victim.start(wait=False)
            self.victim = None
            self.next = time.monotonic() + self.random.uniform(3, 9)


class World:
    """Use as a context: with World(setting) as world.

    `lease_s`: how long a lease lasts without a sign of life. `seconds`: how long the test may take.
    """

    def __init__(self, setting, lease_s=None, seconds=None):
        self.setting, self.lease_s = setting, lease_s
        self.random = random.Random(setting.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-platform.", dir=setting.scratch))
        self.processes = Processes(self.folder / "logs", self.environment(), time.monotonic() + SLOWNESS * (seconds or setting.seconds))
        self.store = self.folder / "store"
        self.coordinators, self.workers, self.keys, self.tokens = [], [], {}, {}
        self.postgres, self.database, self.admin, self.server, self.namespace = None, None, None, None, None
        self.gremlin = None

    def environment(self):
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
        # Nothing of whoever runs the test is used: keys and state are the test's own.
        return {**kept, "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state"), "XDG_CONFIG_HOME": str(self.folder / "config"),
                "LC_ALL": "C.UTF-8"}

    def __enter__(self):
        return self

    def __exit__(self, kind, failure, trace):
        if failure is not None and kind.__name__ != "Skip":
            print(self.processes.tails(), flush=True)
        self.processes.end()
        if self.postgres:
            self.postgres.end()
        if (failure is not None and kind.__name__ != "Skip") or self.setting.keep:
            print(f"kept: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Coordinators.

    def serve(self, flags=(), namespace=None, host="127.0.0.1"):
        """One coordinator on SQLite; on PostgreSQL two behind one address, one of which is killed and started again every now and then."""
        self.namespace = namespace
        if self.lease_s:
            flags = [*flags, "--lease", str(self.lease_s)]
        if self.setting.database == "postgres":
            self.postgres = Postgres(self.processes)
            self.database = self.postgres.new_database()
        names = ["serve"] if not self.database else ["serve-a", "serve-b"]
        for name in names:
            self.coordinators.append(Coordinator(self, name, flags, namespace, host).start())
        self.admin = next(c.admin for c in self.coordinators if c.admin)
        if len(names) == 1:
            self.server = f"http://{self.coordinators[0].address}"
        else:
            self.server = self.start_proxy("balancer", [c.address for c in self.coordinators], host, namespace).url
            self.gremlin = Gremlin(self)
        return self

    def start_proxy(self, name, targets, listen="127.0.0.1", namespace=None):
        return Proxy(self, name, targets, listen, namespace)

    @contextlib.contextmanager
    def quiet(self):
        """Nobody kills coordinators meanwhile."""
        gremlin, self.gremlin = self.gremlin, None
        try:
            yield
        finally:
            self.gremlin = gremlin

    def meanwhile(self):
        """What goes on while the test waits."""
        if self.gremlin:
            self.gremlin.play()

    # Accounts and workers.

    def token(self, role, name):
        if (role, name) not in self.tokens:
            made = self.processes.run("admin", [self.setting.assay, "admin", "token", "--role", role, "--name", name, "--account", name, "--json"],
                                      environment={"ASSAY_SERVER": self.server, "ASSAY_TOKEN": self.admin}, namespace=self.namespace).expect(0)
            self.tokens[role, name] = made.json()["token"]
        return self.tokens[role, name]

    def key(self, name):
        """The path of a new key, whose public part is then known as self.keys[name]."""
        path = self.folder / "keys" / f"{name}.key"
        path.parent.mkdir(exist_ok=True)
        if name not in self.keys:
            self.processes.run("keygen", [self.setting.assay, "keygen", "--out", path, "--name", name]).expect(0)
            self.keys[name] = path.with_name(path.name + ".pub").read_text().strip() if path.with_name(path.name + ".pub").exists() \
                else path.with_suffix(".pub").read_text().strip()
        return path

    def worker(self, name, cheat=None, role="provider", account=None, server=None, namespace=None, flags=(), start=True):
        folder = self.folder / "workers" / name
        folder.parent.mkdir(exist_ok=True)
        program = [self.setting.assay, "worker"] if cheat is None else [self.setting.cheat, cheat, "--worker"]
        command = [*program, "--work", folder, "--key", self.key(name), "--threads", "1", *flags]
        environment = {"ASSAY_SERVER": server or self.server, "ASSAY_TOKEN": self.token(role, account or name)}
        worker = Worker(self, name, command, environment, folder, self.keys[name], namespace)
        self.workers.append(worker)
        return worker.start() if start else worker

    # Clients.

    def client(self, name="client", server=None):
        return {"ASSAY_SERVER": server or self.server, "ASSAY_TOKEN": self.token("client", name), "ASSAY_KEY": str(self.key(name))}

    def assay(self, *words, client="client", server=None, seconds=120, namespace=None):
        return self.processes.run(words[0], [self.setting.assay, *words], seconds, environment=self.client(client, server), namespace=namespace)

    def job(self, steps=24, name="job", seed=1, lines=(), hidden="[64, 32]"):
        """A short job; the same arguments give the same bytes."""
        text = (ROOT / "examples" / "mlp.toml").read_text()
        text = re.sub(r"(?m)^steps = .*", f"steps = {steps}", text)
        text = re.sub(r"(?m)^seed = .*", f"seed = {seed}", text)
        text = re.sub(r"(?m)^hidden = .*", f"hidden = {hidden}", text)
        path = self.folder / f"{name}.toml"
        path.write_text(text + "".join(f"\n{line}" for line in lines) + "\n")
        return path

    def submit(self, job, *flags, client="client", server=None):
        return self.assay("submit", job, *flags, "--json", "--quiet", client=client, server=server).expect(0).json()["id"]

    def watching(self, order, client="client", server=None, namespace=None, flags=()):
        """`assay watch` in the background; it checks every entry of the life as it comes."""
        return self.processes.start("watch", [self.setting.assay, "watch", order, "--json", "--quiet", "--patience", "600", *flags],
                                    environment=self.client(client, server), namespace=namespace)

    def outcome(self, watching, seconds=180):
        """What a watch ended with: exit status and verdict have to fit."""
        try:
            wait_until(f"{watching.name} to end", lambda: not watching.alive(), min(seconds, self.processes.left()), meanwhile=self.meanwhile)
        except Failure as failure:
            raise Failure(f"{failure}; it says: {watching.err()[-1500:]}") from None
        done = watching.finished(1)
        outcome = done.json()
        if DECIDED.get(outcome["verdict"]) != done.status:
            raise Failure(f"{done.name}: exit status {done.status} with {done.out} {done.err[-1200:]}")
        return outcome

    def decided(self, order, seconds=180, **how):
        return self.outcome(self.watching(order, **how), seconds)

    def fetch(self, order, client="client", server=None, seconds=120):
        """The folder, after the model in it was checked once more against the receipt."""
        out = self.folder / "fetched" / order
        out.parent.mkdir(exist_ok=True)
        self.assay("fetch", order, "--out", out, "--json", "--quiet", client=client, server=server, seconds=seconds).expect(0)
        self.assay("verify", out / "model.safetensors", "--receipt", out / "receipt.json").expect(0)
        self.assay("verify", out).expect(0)
        return out

    def truth(self, job):
        """The model that an honest training of the job gives."""
        out = self.folder / "truth" / job.stem
        if not out.exists():
            out.parent.mkdir(exist_ok=True)
            self.assay("train", job, "--out", out, "--quiet", "--threads", "1", seconds=300).expect(0)
        return out / "model.safetensors"

    def expect_honest_model(self, order, job, **how):
        fetched = self.fetch(order, **how) / "model.safetensors"
        if not filecmp.cmp(fetched, self.truth(job), shallow=False):
            raise Failure(f"order {order}: {fetched} is not the model that the job gives")

    # What the API says.

    def get(self, path, client="client", token=None, server=None, seconds=20):
        host, port = (server or self.server).removeprefix("http://").rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token or self.token('client', client)}"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise OSError(f"GET {path}: {answer.status} {body[:300]!r}")
            return json.loads(body) if "json" in (answer.getheader("Content-Type") or "") else body
        except http.client.HTTPException as error:
            raise OSError(f"GET {path}: {error!r}") from error
        finally:
            connection.close()

    def order(self, order, **how):
        return self.get(f"/v1/orders/{order}", **how)

    def life(self, order, **how):
        """All entries of an order's life, parsed."""
        entries = []
        while True:
            page = self.get(f"/v1/orders/{order}/life?from={len(entries)}", **how)
            entries += [json.loads(entry) for entry in page["entries"]]
            if len(entries) >= page["size"]:
                return entries
            if not page["entries"]:
                raise Failure(f"order {order}: the life has {page['size']} entries and gives none from {len(entries)} on")

    def wait_for(self, what, condition, seconds=90, every=0.1):
        """As wait_until; a coordinator that does not answer gives no value."""
        def asked():
            try:
                return condition()
            except OSError:
                return None
        return wait_until(what, asked, min(seconds, self.processes.left()), every, self.meanwhile)

    def wait_for_training(self, order, worker=None, steps=1, seconds=90):
        """Until a worker has committed to some steps of the order on its disk."""
        workers = [worker] if worker else self.workers

        def begun():
            for each in workers:
                for log in each.folder.glob(f"orders/{order}/lease-*/run/log/checkpoint"):
                    lines = log.read_text().splitlines()
                    if len(lines) > 1 and lines[1].isdigit() and int(lines[1]) > steps:
                        return each
            return None
        return self.wait_for("a training to begin", begun, seconds, every=0.02)


class Proxy:
    """proxy.py as a process."""

    def __init__(self, world, name, targets, listen, namespace=None):
        self.world = world
        self.process = world.processes.start(name, ["/usr/bin/python3", HERE / "proxy.py", "--seed", str(world.setting.seed), listen, *targets],
                                             namespace=namespace)
        self.answers = 1
        self.url = f"http://127.0.0.1:{json.loads(self.line(1))['port']}"  # as it is seen from where it runs

    def line(self, count):
        def said():
            if not self.process.alive():
                raise Failure(f"{self.process.name} ended: {self.process.err()[-800:]}")
            lines = self.process.out().splitlines()
            return lines[count - 1] if len(lines) >= count else None
        return wait_until(f"{self.process.name} to answer", said, 20)

    def change(self, **wish):
        self.process.popen.stdin.write((json.dumps(wish) + "\n").encode())
        self.process.popen.stdin.flush()
        self.answers += 1
        self.line(self.answers)


def expect(condition, what):
    if not condition:
        raise Failure(what)


def expect_equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: got {got!r}, expected {wanted!r}")

"""What tests of the platform with real processes share: a coordinator, workers and clients, each in a folder of its own, all of them ended with the test."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


class Platform:
    """A coordinator and whoever talks to it. To be used with `with`."""

    def __init__(self, assay, cheat=None):
        self.assay, self.cheat = str(assay), str(cheat)
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="assay.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.processes = []
        self.tokens = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if kind is not None:
            for log in sorted(self.path.glob("*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        shutil.rmtree(self.path, ignore_errors=True)

    def environment(self, **more):
        out = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_") and name not in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
        out.update(HOME=str(self.path / "home"), NO_COLOR="1", **more)
        return out

    def start(self, name, command, **environment):
        """A process that runs until the test ends; what it says on standard error is kept."""
        log = open(self.path / f"{name}.log", "w")
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment(**environment))
        self.processes.append(process)
        return process

    def serve(self, *options):
        process = self.start("serve", [self.assay, "serve", "--store", self.path / "store", "--json", *options])
        line = process.stdout.readline()
        check(line, "serve: said nothing")
        first = json.loads(line)
        self.server = first["listening"]
        self.tokens.setdefault("admin", first.get("admin_token"))
        return process

    def token(self, role):
        if role not in self.tokens:
            made = subprocess.run([self.assay, "admin", "token", "--role", role], text=True, capture_output=True, timeout=60,
                                  env=self.environment(ASSAY_SERVER=self.server, ASSAY_TOKEN=self.tokens["admin"]))
            check(made.returncode == 0, f"admin token: {made.stderr}")
            self.tokens[role] = made.stdout.split()[-1]
        return self.tokens[role]

    def worker(self, name, cheating=None, role="provider", *options):
        command = [self.assay, "worker"] if cheating is None else [self.cheat, cheating, "--worker"]
        return self.start(name, [*command, "--work", self.path / name, *options], ASSAY_SERVER=self.server, ASSAY_TOKEN=self.token(role))

    def client(self, *words, server=None, state=None, timeout=300):
        """A command of the client: exit status, the object of its last line, standard error."""
        command = [self.assay, *[str(word) for word in words], "--json"]
        if state is not None:
            command += ["--state", str(state)]
        done = subprocess.run(command, text=True, capture_output=True, timeout=timeout,
                              env=self.environment(ASSAY_SERVER=server or self.server, ASSAY_TOKEN=self.token("client")))
        lines = done.stdout.strip().splitlines()
        return done.returncode, json.loads(lines[-1]) if lines else None, done.stderr


def wait_until(condition, seconds=60, what="something"):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"waited {seconds} s for {what}")
        time.sleep(0.1)

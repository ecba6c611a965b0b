"""Processes of a test: started, watched and ended together. Nothing outlives the test, not even where it is killed.

Only the main thread starts processes: the kernel ends them with the thread that started them.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time


# How many times longer than usual everything may take, on a machine that has much else to do.
SLOWNESS = float(os.environ.get("ASSAY_SLOWNESS", "1"))


class Failure(Exception):
    """What the test wanted to see and did not."""


class Skip(Exception):
    """What this machine lacks."""


class Finished:
    """A command that has ended."""

    def __init__(self, name, status, out, err):
        self.name, self.status, self.out, self.err = name, status, out, err

    def json(self):
        lines = self.out.strip().splitlines()
        try:
            return json.loads(lines[-1])
        except (IndexError, ValueError):
            raise Failure(f"{self.name}: expected JSON on the last line, got {self.out[-300:]!r}; it says: {self.err[-600:]}") from None

    def expect(self, *statuses):
        if self.status not in statuses:
            raise Failure(f"{self.name}: exit status {self.status}, expected {' or '.join(map(str, statuses))}: "
                          f"{self.out[-600:]} {self.err[-1200:]}")
        return self


class Process:
    """A process whose output goes to files."""

    def __init__(self, name, popen, out, err):
        self.name, self.popen, self.out_path, self.err_path = name, popen, out, err

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def out(self):
        return self.out_path.read_text(errors="replace")

    def err(self):
        return self.err_path.read_text(errors="replace")

    def signal(self, number):
        """To it and to all that it started."""
        try:
            os.killpg(self.popen.pid, number)
        except ProcessLookupError:
            pass

    def kill(self):
        """As a power cut would."""
        self.signal(signal.SIGKILL)
        self.popen.wait(30)

    def stop(self, seconds=20):
        """As an operator would; the exit status."""
        if self.alive():
            self.signal(signal.SIGTERM)
            try:
                self.popen.wait(seconds * SLOWNESS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Failure(f"{self.name}: did not end within {seconds} s of SIGTERM") from None
        return self.popen.returncode

    def finished(self, seconds):
        """Waits for its end."""
        try:
            self.popen.wait(max(0.05, seconds * SLOWNESS))
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name}: still running; it says: {self.err()[-1500:]}") from None
        return Finished(self.name, self.popen.returncode, self.out(), self.err())


class Processes:
    """All processes of one test, with their output below `folder`."""

    def __init__(self, folder, environment, deadline):
        self.folder, self.environment, self.deadline = folder, environment, deadline
        self.all = []
        folder.mkdir(parents=True)

    def left(self):
        """Seconds until the test has to be over."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Failure("the test's time is over")
        return left

    def start(self, name, command, environment=None, namespace=None, folder=None):
        count = sum(1 for process in self.all if process.name.split("#")[0] == name)
        label = name if count == 0 else f"{name}#{count + 1}"
        out, err = self.folder / f"{label}.out", self.folder / f"{label}.err"
        inside = ["ip", "netns", "exec", namespace] if namespace else []
        # Where the test itself is killed, its processes are too.
        words = [*inside, shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL", *map(str, command)]
        with open(out, "wb") as o, open(err, "wb") as e:
            popen = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=o, stderr=e, start_new_session=True, cwd=folder,
                                     env={**self.environment, **(environment or {})})
        process = Process(label, popen, out, err)
        self.all.append(process)
        return process

    def run(self, name, command, seconds=120, **how):
        process = self.start(name, command, **how)
        process.popen.stdin.close()
        try:
            return process.finished(min(seconds, self.left()))
        finally:
            if process.alive():
                process.kill()

    def end(self):
        for process in self.all:
            if process.alive():
                process.signal(signal.SIGKILL)
        for process in self.all:
            process.popen.wait(30)
            if process.popen.stdin:
                try:
                    process.popen.stdin.close()
                except BrokenPipeError:
                    pass

    def tails(self, lines=12):
        """The last lines of everybody, for whoever has to find out why the test failed."""
        text = []
        for process in self.all[-40:]:
            if process.name.split("#")[0] in ("keygen", "admin", "pg_isready", "psql"):
                continue
            for path in (process.out_path, process.err_path):
                said = path.read_text(errors="replace").splitlines()[-lines:]
                if said:
                    text.append(f"--- {path.name}\n" + "\n".join(line[:240] for line in said))
        return "\n".join(text)


def wait_until(what, condition, seconds, every=0.05, meanwhile=None):
    """The first true value of the condition."""
    deadline = time.monotonic() + seconds * SLOWNESS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"waited {seconds * SLOWNESS:.0f} s for {what}")
        if meanwhile:
            meanwhile()
        time.sleep(every)


def folder_bytes(folder):
    """Every file below a folder, with its bytes."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()

"""Types the blocks of docs/PLATFORM.md, "Three terminals", into three shells, as a reader would.

    page.py PAGE ASSAY

Each terminal is a shell of its own; the blocks are typed in the order of the page, the next one when the one before has come to its end or has said something and
gone quiet. The last terminal has to come to its end without an error. Ports are the page's own: where the system lets us, the shells have a network of their own.
"""
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

QUIET_S = 2.0
LIMIT_S = 170.0


class Terminal:
    def __init__(self, number, folder, prefix):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "XDG_"))}
        environment.update(HOME=str(folder / "home"), NO_COLOR="1")
        self.number = number
        self.shell = subprocess.Popen([*prefix, "bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
                                      env=environment, start_new_session=True)
        self.lines = queue.Queue()
        self.said = ""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.shell.stdout:
            self.lines.put(line)

    def type(self, block, end, patient):
        """The exit status of the block; none where it runs on."""
        marker = f"end of block {time.monotonic_ns()}"
        self.shell.stdin.write(f"{block}\necho '{marker}' $?\n")
        self.shell.stdin.flush()
        spoken, since = False, time.monotonic()
        while time.monotonic() < end:
            try:
                line = self.lines.get(timeout=0.1)
            except queue.Empty:
                if self.shell.poll() is not None:
                    return self.shell.returncode
                if spoken and not patient and time.monotonic() - since > QUIET_S:
                    return None
                continue
            if line.startswith(marker):
                return int(line.split()[-1])
            print(f"[{self.number}] {line}", end="", flush=True)
            self.said += line
            spoken, since = True, time.monotonic()
        return None

    def close(self):
        try:
            os.killpg(self.shell.pid, signal.SIGTERM)
            self.shell.wait(timeout=10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def own_network():
    """A prefix of commands that share a network of their own, and the process that keeps it; nothing where the system does not let us."""
    try:
        keeper = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return [], None
    if keeper.stdout.readline() != "up\n":
        keeper.kill()
        keeper.wait()
        return [], None
    prefix = ["nsenter", "--preserve-credentials", "--user", "--net", f"--target={keeper.pid}", f"--wd={os.getcwd()}"]
    if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        prefix = ["nsenter", "--user", "--net", f"--target={keeper.pid}"]
        if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            keeper.kill()
            keeper.wait()
            return [], None
    return [word for word in prefix if not word.startswith("--wd=")], keeper


def main():
    page, assay = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    blocks = re.findall(r"\*\*Terminal (\d)\*\*.*?\n```sh\n(.*?)```", page.read_text(), re.S)
    assert {number for number, _ in blocks} == {"1", "2", "3"}, f"{page}: expected blocks for three terminals"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assay."))
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(assay.parent)
    shutil.copytree("examples", folder / "examples")
    prefix, keeper = own_network()
    terminals = {}
    start = time.monotonic()
    status = None
    try:
        for number, block in blocks:
            if number not in terminals:
                terminals[number] = Terminal(number, folder, prefix)
            last = number == "3"
            status = terminals[number].type("set -e\n" + block if last else block, start + LIMIT_S, last)
            assert status in (None, 0), f"terminal {number}: ended with {status}"
        assert status == 0, "the last terminal did not come to its end"
        assert re.search(r"^verdict +verified", terminals["3"].said, re.M), "no verdict"
        assert (folder / "model/model.safetensors").is_file(), "no model"
    finally:
        for terminal in terminals.values():
            terminal.close()
        if keeper is not None:
            keeper.kill()
            keeper.wait()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"ok, {time.monotonic() - start:.0f} s")


main()

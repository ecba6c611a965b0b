#!/usr/bin/env python3
"""What a coordinator carries on two cores, which the load shares with it.

    load.py [--assay PATH] [--load PATH] [--quick] [--seconds N] [--workers N] [--viewers N] [--only crowd|list|upload] [--scratch DIR]

crowd   2,000 workers stream a sample of telemetry a second and wait for work meanwhile, 200 viewers watch, clients make 50 ordinary calls a second, for two
        minutes. Nothing may be lost, the p99 of calls must stay below 250 ms, and the coordinator's memory below 1 GiB.
list    10,000 orders are listed within 200 ms.
upload  1 GB as `assay submit` sends it, at 0.8 of the speed of `curl -T` to nginx, with the files of both in memory; and on the disk, where the coordinator
        answers when the bytes are there to stay, against nginx and a sync of its file. Best of three each, taken in turns.

Times mean something on a machine that does nothing else. --quick is a small crowd, in which only losses and memory count. Exit status 0: all targets are met;
1: one is missed; 77: only uploads were asked for, and nginx or curl is not there.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from processes import Failure, Processes, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIGABYTE = 1_000_000_000
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """Of a process that runs."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise Failure("the kernel does not say how much memory the coordinator took")


class Targets:
    """What was promised, and what was missed."""

    def __init__(self):
        self.missed = []

    def check(self, met, words):
        print(f"  {'met   ' if met else 'MISSED'} {words}", flush=True)
        if not met:
            self.missed.append(words)


class Coordinator:
    def __init__(self, processes, given, name, store=None):
        self.processes, self.load = processes, given.load
        store = store or processes.folder / name
        # Only the process itself counts its processor time, so nothing stands between.
        self.process = processes.start(name, [given.assay, "serve", "--store", store, "--json", "--log", processes.folder / f"{name}.log"])
        line = wait_until("the coordinator", lambda: self.process.out().strip() or not self.process.alive(), 30)
        if not self.process.alive():
            raise Failure(f"serve: {self.process.err()}")
        first = json.loads(line)
        self.url, self.token = first["listening"], first["admin_token"]

    def command(self, name, *words, token=None):
        return [self.load, name, self.url, token or self.token, *map(str, words)]

    def run(self, name, *words, seconds=600):
        return self.processes.run(name, self.command(name, *words), seconds).expect(0).json()

    def stop(self):
        self.process.stop(30)


def show(name, figures):
    print(f"  {name:<12} {figures['count']:>7}   p50 {figures['p50']:8.2f} ms   p99 {figures['p99']:8.2f} ms   max {figures['max']:8.2f} ms")


def crowd(processes, given, targets):
    print(f"crowd: {given.workers} workers, {given.viewers} viewers, {given.seconds} s", flush=True)
    coordinator = Coordinator(processes, given, "crowd")
    pid = coordinator.process.pid
    load = processes.start("load", coordinator.command("crowd", "--workers", given.workers, "--viewers", given.viewers, "--seconds", given.seconds,
                                                       "--calls", given.calls))
    wait_until("the crowd to gather", lambda: load.out() or not load.alive(), 400)
    before, began = cpu_seconds(pid), time.monotonic()
    while load.alive() and time.monotonic() - began < 3 * given.seconds + 60:
        time.sleep(0.1)
    wall, used = time.monotonic() - began, cpu_seconds(pid) - before
    out = load.finished(1).expect(0).json()
    peak = peak_bytes(pid)
    coordinator.stop()
    print(f"  samples: made {out['made']}, accepted {out['accepted']}; for viewers {out['to_see']}, seen {out['seen']}, out of place {out['out_of_place']}; "
          f"put off {out['put_off']}; polls {out['polls']}; failed {out['failed']} {out['first_failure']}")
    show("samples", out["samples"])
    show("calls", out["calls"])
    for name, figures in out["kinds"].items():
        show(f"  {name}", figures)
    print(f"  processor: coordinator {used:.1f} s of {wall:.1f} s, {used / max(1, out['accepted']) * 1e6:.0f} us a sample; load {out['cpu']:.1f} s")
    lost = out["made"] - out["accepted"] + out["to_see"] - out["seen"] + out["out_of_place"] + out["failed"]
    targets.check(lost == 0 and out["made"] == given.workers * given.seconds, f"nothing lost ({lost})")
    targets.check(peak < 1 << 30, f"the coordinator took at most {peak / (1 << 20):.0f} MiB, less than 1024")
    if not given.quick:
        targets.check(out["calls"]["p99"] < 250, f"p99 of calls {out['calls']['p99']:.1f} ms, less than 250")
        targets.check(out["samples"]["p99"] < 250, f"p99 of samples {out['samples']['p99']:.1f} ms, less than 250")


def listing(processes, given, targets):
    print("list: 10,000 orders", flush=True)
    coordinator = Coordinator(processes, given, "list")
    out = coordinator.run("list", 10_000)
    coordinator.stop()
    best = min(out["list_s"]) * 1000
    print(f"  submitted in {out['submit_s']:.1f} s; lists took {', '.join(f'{s * 1000:.0f}' for s in out['list_s'])} ms")
    targets.check(best < 200, f"a list of 10,000 orders in {best:.0f} ms, less than 200")


class Nginx:
    """One that takes PUT, with all its files below a folder."""

    def __init__(self, processes, folder):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        for name in ("root", "temp"):
            (folder / name).mkdir(parents=True)
        config = folder / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        config.write_text(f"""daemon off; {user} worker_processes 2; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; client_max_body_size 0; client_body_temp_path {folder}/temp; proxy_temp_path {folder}/temp;
  fastcgi_temp_path {folder}/temp; uwsgi_temp_path {folder}/temp; scgi_temp_path {folder}/temp;
  server {{ listen 127.0.0.1:{self.port}; root {folder}/root; location / {{ dav_methods PUT; }} }}
}}
""")
        binary = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = processes.start("nginx", [binary, "-e", folder / "error.log", "-c", config])
        wait_until("nginx", self.answers, 20)

    def cpu(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(cpu_seconds(pid) for pid in children)

    def answers(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=1)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True


def curl_seconds(processes, file, url):
    return float(processes.run("curl", ["curl", "-sS", "-f", "-o", "/dev/null", "-w", "%{time_total}", "-T", file, url], 300).expect(0).out)


def remove_large(folder):
    """What was sent has served its purpose. Memory that it took in the cache is used again, or each turn would wait for the machine to find more."""
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size == GIGABYTE:
            path.unlink()


def upload_at(processes, given, folder, durable):
    """Seconds of curl to nginx and of the same file to a coordinator, both below `folder`, best of three each. `durable`: until the bytes are on the disk."""
    folder.mkdir(exist_ok=True)
    file = folder / "gigabyte"
    with open(file, "wb") as f:
        piece = os.urandom(1 << 20)
        for _ in range(GIGABYTE >> 20):
            f.write(piece)
        f.write(piece[: GIGABYTE & ((1 << 20) - 1)])
    nginx = Nginx(processes, folder / "nginx")
    coordinator = Coordinator(processes, given, f"upload-{folder.name}", folder / "store")
    pid = coordinator.process.pid
    ours, theirs, bare = [], [], []
    for turn in range(3):
        os.sync()
        before = nginx.cpu()
        bare.append(curl_seconds(processes, file, f"http://127.0.0.1:{nginx.port}/{turn}"))
        nginx_used = nginx.cpu() - before
        theirs.append(bare[-1] + (sync_seconds(folder / "nginx/root" / str(turn)) if durable else 0))
        remove_large(folder / "nginx")
        # Another blob each time, or there would be nothing to send.
        with open(file, "r+b") as f:
            f.write(turn.to_bytes(8, "big"))
        os.sync()
        before = cpu_seconds(pid)
        out = coordinator.run("upload", file)
        ours.append(out["send_s"])
        remove_large(folder / "store")
        synced = f", {theirs[-1]:.2f} s with a sync" if durable else ""
        print(f"  curl to nginx {bare[-1]:.2f} s{synced}; to the coordinator {ours[-1]:.2f} s, after {out['hash_s']:.2f} s of hashing; "
              f"processor: nginx {nginx_used:.2f} s, coordinator {cpu_seconds(pid) - before:.2f} s, client {out['cpu']:.2f} s", flush=True)
    coordinator.stop()
    nginx.process.stop()
    file.unlink()
    return min(bare), min(theirs), min(ours)


def sync_seconds(path):
    begin = time.monotonic()
    with open(path, "rb") as f:
        os.fsync(f.fileno())
    return time.monotonic() - begin


def upload(processes, given, targets):
    memory = pathlib.Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 5 * GIGABYTE:
        with tempfile.TemporaryDirectory(prefix="assay-load.", dir=memory) as folder:
            print("upload: 1 GB, files in memory", flush=True)
            _, theirs, ours = upload_at(processes, given, pathlib.Path(folder), False)
        ratio, speeds = theirs / ours, f"{1 / ours:.2f} and {1 / theirs:.2f} GB/s"
        targets.check(ratio >= 0.8, f"upload at {ratio:.2f} of the speed of curl to nginx ({speeds}), at least 0.8")
    print("upload: 1 GB, files on the disk", flush=True)
    bare, theirs, ours = upload_at(processes, given, processes.folder / "disk", True)
    ratio, speeds = theirs / ours, f"{1 / ours:.2f} and {1 / theirs:.2f} GB/s"
    targets.check(ratio >= 0.8, f"durable upload at {ratio:.2f} of the speed of curl to nginx and a sync ({speeds}), at least 0.8; "
                  f"at {bare / ours:.2f} of nginx alone, which leaves the bytes in memory")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    arguments.add_argument("--load", default=str(ROOT / "build/release/tests/platform/platform_load"))
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--seconds", type=int)
    arguments.add_argument("--workers", type=int)
    arguments.add_argument("--viewers", type=int)
    arguments.add_argument("--calls", type=int, default=50)
    arguments.add_argument("--only", choices=["crowd", "list", "upload"])
    arguments.add_argument("--scratch", default=None, help="folder on the disk that is measured")
    given = arguments.parse_args()
    for name, usual, quick in (("seconds", 120, 10), ("workers", 2000, 200), ("viewers", 200, 20)):
        if getattr(given, name) is None:
            setattr(given, name, quick if given.quick else usual)
    parts = [given.only] if given.only else ["crowd"] if given.quick else ["crowd", "list", "upload"]
    lacks = [tool for tool in ("curl", "nginx") if not shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin")]
    if "upload" in parts and lacks:
        print(f"upload: left out, since this machine has no {' and no '.join(lacks)}")
        parts.remove("upload")
        if not parts:
            return 77
    targets = Targets()
    with tempfile.TemporaryDirectory(prefix="assay-load.", dir=given.scratch) as scratch:
        for part in parts:
            processes = Processes(pathlib.Path(scratch) / part, dict(os.environ), time.monotonic() + 1800)
            try:
                {"crowd": crowd, "list": listing, "upload": upload}[part](processes, given, targets)
            except Failure as failure:
                targets.check(False, f"{part}: {failure}\n{processes.tails()}")
            finally:
                processes.end()
    for words in targets.missed:
        print(f"missed: {words}")
    return 1 if targets.missed else 0


if __name__ == "__main__":
    sys.exit(main())

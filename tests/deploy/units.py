#!/usr/bin/python3
"""deploy/systemd: systemd accepts the units, they leave a process little to do harm with, and their command lines, as they stand, serve, train and back up.

    units.py [--assay PATH] [--keep] [NAME ...]

Exit status: 0 passed, 1 failed, 77 this machine has no systemd-analyze.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "platform")]

from processes import Failure, Skip, wait_until  # noqa: E402
from world import Setting, World, expect, expect_equal  # noqa: E402

UNITS = ROOT / "deploy" / "systemd"
SERVICES = ["assay-serve.service", "assay-worker@.service", "assay-backup.service"]
MOST_EXPOSED = 20  # tenths, of 100: systemd's own judgement


def analyze(*words):
    program = shutil.which("systemd-analyze")
    if program is None:
        raise Skip("there is no systemd-analyze here (apt-get install systemd)")
    done = subprocess.run([program, *map(str, words)], text=True, capture_output=True, timeout=60, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def copy_units(setting, folder, drop_ins=True):
    """The units with the programs of this build in the place of installed ones. systemd-analyze wants a name for an instance."""
    for source in UNITS.rglob("*"):
        if source.suffix not in (".service", ".timer", ".conf") or (source.suffix == ".conf" and not drop_ins):
            continue
        text = source.read_text().replace("/usr/local/bin/assay-backup", str(ROOT / "deploy" / "backup" / "assay-backup"))
        text = text.replace("/usr/local/bin/assay ", f"{setting.assay} ")
        target = folder / source.relative_to(UNITS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return [folder / name.replace("@.", "@one.") for name in SERVICES]


def accepted(setting):
    """systemd-analyze verify has nothing to say, with and without the drop-ins; an unknown setting would be noticed."""
    for drop_ins in (True, False):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            services = copy_units(setting, folder, drop_ins)
            status, said = analyze("verify", "--man=no", *services, folder / "assay-backup.timer")
            expect(status == 0 and not said, f"systemd-analyze verify (drop-ins: {drop_ins}): {said}")
            # A GPU is reached through devices, which costs a little.
            most = {service: MOST_EXPOSED + 10 * (drop_ins and "worker" in service.name) for service in services}
            for service in services:
                status, said = analyze("security", "--offline=yes", "--no-pager", f"--threshold={most[service]}", service)
                expect(status == 0, f"{service.name} is exposed more than {most[service] / 10}: {said[-200:]}")
            broken = folder / "assay-serve.service"
            broken.write_text(broken.read_text().replace("ProtectSystem=strict", "ProtectSytem=strict"))
            expect(analyze("verify", "--man=no", broken)[1], "a setting that is written wrong goes unnoticed")


def prepared(setting):
    """The user and the folder for backups, as systemd makes them in an empty root."""
    for name in ("systemd-sysusers", "systemd-tmpfiles"):
        if shutil.which(name) is None:
            raise Skip(f"there is no {name} here (apt-get install systemd)")
    if os.geteuid() != 0:
        raise Skip("users are made by root alone")
    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "etc").mkdir()
        for words in (["systemd-sysusers", f"--root={root}", UNITS / "assay.sysusers"],
                      ["systemd-tmpfiles", f"--root={root}", "--create", UNITS / "assay.tmpfiles"]):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            expect(done.returncode == 0, f"{words[0]}: {done.stderr}")
        user = (pathlib.Path(root) / "etc" / "passwd").read_text().split(":")
        expect_equal((user[0], user[5]), ("assay", "/var/lib/assay"), "the user and its home")
        made = (pathlib.Path(root) / "var" / "backups" / "assay").stat()
        expect_equal((made.st_uid, made.st_mode & 0o777), (int(user[2]), 0o700), "owner and mode of the folder for backups")


def settings_of(*paths):
    """What the last assignment of each key says; an empty one takes back those before."""
    found = {}
    for path in paths:
        for line in path.read_text().splitlines():
            if match := re.fullmatch(r"([A-Za-z]+)=(.*)", line.strip()):
                found[match.group(1)] = match.group(2)
    return found


def command_of(setting, folder, instance, environment, *names):
    """The words of ExecStart, as systemd would make them."""
    line = settings_of(*[UNITS / name for name in names])["ExecStart"]
    line = line.replace("/usr/local/bin/assay-backup", str(ROOT / "deploy" / "backup" / "assay-backup")).replace("/usr/local/bin/assay ", f"{setting.assay} ")
    for specifier, value in {"%S": folder / "lib", "%d": folder / "credentials", "%i": instance, "/var/backups": folder / "backups"}.items():
        line = line.replace(specifier, str(value))
    words = []
    for word in shlex.split(line):
        if word.startswith("$") and not word.startswith("${"):
            words += shlex.split(environment.get(word[1:], ""))
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda name: environment[name.group(1)], word))
    return words


def certificate(folder):
    folder.mkdir(parents=True)
    program = shutil.which("openssl")
    if program is None:
        raise Skip("there is no openssl here to make a certificate with")
    subprocess.run([program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=assay test", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "tls.key", "-out", folder / "tls.crt"], check=True, capture_output=True)
    return folder / "tls.crt"


def lived(setting):
    """The units' own command lines: a coordinator with TLS, two workers, a client, a backup."""
    with World(setting) as world:
        folder = world.folder / "root"
        trusted = certificate(folder / "credentials")
        environment = {"ASSAY_LISTEN": "127.0.0.1:0", "ASSAY_WORKER_OPTIONS": f"--threads 1 --ca {trusted}"}
        serve = world.processes.start("serve", command_of(setting, folder, "", environment, "assay-serve.service", "assay-serve.service.d/tls.conf"))
        line = wait_until("the coordinator to listen", lambda: serve.out().partition("\n")[0] if "\n" in serve.out() else None, 30)
        world.server = line.split()[-1]
        expect(world.server.startswith("https://"), f"it speaks TLS: {line}")
        # As docs/OPERATIONS.md has it: the token that was printed is thrown away.
        store = folder / "lib" / "assay"

        def token(role):
            return world.processes.run("admin", [setting.assay, "admin", "token", "--role", role, "--store", store]).expect(0).out.split()[-1]
        for instance in ("1", "2"):
            world.processes.start(f"worker-{instance}", command_of(setting, folder, instance, environment, "assay-worker@.service"),
                                  environment={"ASSAY_SERVER": world.server, "ASSAY_TOKEN": token("provider")})
        client = {"ASSAY_SERVER": world.server, "ASSAY_TOKEN": token("client"), "ASSAY_KEY": str(world.key("client"))}
        submit = [setting.assay, "submit", world.job(), "--replicas", "2", "--wait", "--json", "--quiet"]
        refused = world.processes.run("submit", [*submit, "--patience", "3"], environment=client)
        expect(refused.status == 2 and "certificate" in refused.err + refused.out, f"a certificate that nobody vouches for: {refused.out} {refused.err}")
        done = world.processes.run("submit", [*submit, "--ca", trusted], environment=client).expect(0).json()
        expect_equal(done["verdict"], "verified", "the verdict")
        for instance in ("1", "2"):
            expect((folder / "lib" / "assay-worker" / instance / "key").is_file(), f"worker {instance} has a folder of its own")
        saved = world.processes.run("assay-backup", command_of(setting, folder, "", environment, "assay-backup.service")).expect(0).json()
        expect(saved["blobs"] > 0, f"the backup: {saved}")
        expect_equal(serve.stop(), 0, "the coordinator's exit status after systemctl stop")


TESTS = [accepted, prepared, lived]


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    arguments.add_argument("--keep", action="store_true", help="keep what passed tests wrote")
    arguments.add_argument("names", nargs="*")
    given = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setting = Setting(given.assay, given.assay, keep=given.keep, seconds=120)
    ends = []
    for test in TESTS:
        if given.names and test.__name__ not in given.names:
            continue
        print(f"{test.__name__}: {test.__doc__}", flush=True)
        try:
            test(setting)
            ends.append(0)
        except Skip as reason:
            print(f"skipped: {reason}", flush=True)
            ends.append(77)
        except Failure as failure:
            print(f"failed: {failure}", flush=True)
            ends.append(1)
    return 1 if 1 in ends else 77 if set(ends) == {77} else 0


if __name__ == "__main__":
    sys.exit(main())

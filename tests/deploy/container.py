#!/usr/bin/python3
"""deploy/container/Containerfile: its instructions are ones, what it copies is there, and its runtime packages are those that the program needs.

    container.py [--assay PATH]

The image itself is not built: that takes a registry. Exit status: 0 passed, 1 failed, 77 this machine has no dpkg.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "deploy" / "container" / "Containerfile"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
# Not linked with, but used: OpenBLAS is loaded by name, certificates are read.
LOADED = {"libopenblas0-pthread", "ca-certificates"}


class Failure(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failure(f"{FILE.relative_to(ROOT)}: {words}")


def instructions():
    """(instruction, rest) of each, with continued lines joined."""
    text = "\n".join(line for line in FILE.read_text().splitlines() if not line.lstrip().startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def check_syntax(lines):
    stages = set()
    for word, rest in lines:
        expect(word in INSTRUCTIONS, f"{word}: is no instruction that this test knows")
        if word == "FROM":
            image, *name = re.split(r"\s+AS\s+", rest)
            expect(image == "docker.io/library/debian:12-slim", f"FROM {image}: expected Debian 12")
            stages.update(name)
        elif word == "RUN":
            done = subprocess.run(["/bin/sh", "-n", "-c", rest], capture_output=True, text=True, check=False)
            expect(done.returncode == 0, f"RUN {rest[:60]}: {done.stderr.strip()}")
        elif word in ("ENTRYPOINT", "CMD"):
            expect(isinstance(json.loads(rest), list), f"{word}: expected a list, so that signals reach the program")
        elif word == "COPY" and rest.startswith("--from="):
            stage, source, _ = rest.removeprefix("--from=").split()
            expect(stage in stages, f"COPY {rest}: there is no stage {stage}")
            expect(source == "/src/build/release/assay" or (ROOT / source.removeprefix("/src/")).exists(), f"COPY {rest}: {source} is not in the repository")
        elif word == "COPY":
            for source in rest.split()[:-1]:
                expect((ROOT / source).exists(), f"COPY {rest}: {source} is not in the repository")
    words = dict(lines)
    expect(words["USER"] not in ("root", "0", "0:0"), "the program runs as root")
    expect(words["VOLUME"] == "/var/lib/assay", "the store is no volume")
    expect(any(word == "RUN" and "scripts/bootstrap.sh build" in rest for word, rest in lines), "bootstrap.sh does not install what the build needs")


def check_commands(lines, assay):
    """The program knows the options of the default command."""
    words = dict(lines)
    command = json.loads(words["CMD"])
    helped = subprocess.run([assay, command[0], "--help"], capture_output=True, text=True, check=False)
    expect(helped.returncode == 0, f"CMD: {command[0]} is no command of the program")
    for word in command:
        expect(not word.startswith("--") or word in helped.stdout, f"CMD: {word} is no option of {command[0]}")


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def package_of(library):
    """dpkg knows a file by the name that its package gave it, /lib/… or /usr/lib/…"""
    real = os.path.realpath(library)
    for name in (library, real, real.removeprefix("/usr"), "/usr" + library):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise Failure(f"{library}: belongs to no package of Debian")


def with_dependencies(packages):
    """All that is installed along with them."""
    known, left = set(), list(packages)
    while left:
        package = left.pop()
        if package in known:
            continue
        known.add(package)
        listed = subprocess.run(["dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}\n", package], capture_output=True, text=True, check=False).stdout
        for wish in re.split(r"[,\n]", listed):
            left += [re.split(r"[ (:]", choice.strip())[0] for choice in wish.split("|")[:1] if choice.strip()]
    return known


def check_packages(lines, assay):
    runtime = [rest for word, rest in lines if word == "RUN" and "apt-get install" in rest]
    expect(len(runtime) == 1, "expected one list of runtime packages")
    listed = set(re.search(r"--no-install-recommends\s+(.*?)&&", runtime[0]).group(1).split())
    libraries = dict(re.findall(r"^\s*(\S+) => (\S+)", output("ldd", assay), re.MULTILINE))
    direct = {name for name in re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", assay)) if name in libraries}
    needed = {package_of(libraries[name]) for name in direct}
    expect(needed <= listed, f"the program is linked with {', '.join(sorted(needed - listed))}, which the image lacks")
    expect(listed <= needed | LOADED, f"{', '.join(sorted(listed - needed - LOADED))}: is in the image, and the program does not need it")
    installed = with_dependencies(listed)
    everything = {package_of(path) for path in libraries.values()}
    expect(everything <= installed, f"{', '.join(sorted(everything - installed))}: is loaded, and no package of the image brings it")
    build = (ROOT / "scripts" / "bootstrap.sh").read_text()
    for package in LOADED - {"ca-certificates"}:
        expect(package in build, f"{package}: scripts/bootstrap.sh has another one")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    given = arguments.parse_args()
    missing = [name for name in ("dpkg-query", "ldd", "objdump") if shutil.which(name) is None]
    if missing:
        print(f"skipped: there is no {', '.join(missing)} here", flush=True)
        return 77
    try:
        lines = list(instructions())
        check_syntax(lines)
        check_commands(lines, given.assay)
        check_packages(lines, given.assay)
    except Failure as failure:
        print(f"failed: {failure}", flush=True)
        return 1
    print("passed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""docs/PLATFORM.md, tried as it is written.

A fenced block belongs to the terminal that the text before it or its own first line names ("terminal 2"), and else to that of the block before; a new chapter
(##) that names none is not run. Each terminal is a shell that is given its blocks in the order of the page. A command that stays (`assay serve`, `assay worker`)
holds its terminal; the page goes on once it has said something.
"""

import os
import re
import time

from processes import Skip, wait_until
from world import ROOT, World, expect

PAGE = ROOT / "docs" / "PLATFORM.md"
LIMIT_S = 180
STAYS = re.compile(r"^\s*([A-Z_]+=\S+ )*(\S*/)?assay\s+(serve|worker)\b(?!.*(&\s*$|--once|--help))", re.MULTILINE)
TERMINAL = re.compile(r"terminal\s+(\w+)", re.IGNORECASE)


def blocks(text):
    """Pairs of terminal and commands, in the order of the page; only of blocks that follow the mention of a terminal."""
    found, terminal, body = [], None, None
    for line in text.splitlines():
        if body is None and line.startswith("```"):
            body = []
        elif body is not None and line.startswith("```"):
            if terminal:
                found.append((terminal, "\n".join(body)))
            body = None
        elif body is not None:
            named = TERMINAL.search(line) if line.startswith("#") and not body else None
            terminal = named.group(1).lower() if named else terminal
            body.append(line)
        elif named := TERMINAL.search(line):
            terminal = named.group(1).lower()
        elif line.startswith("## "):
            terminal = None  # another chapter
    return found


class Terminal:
    """A shell; what is typed is what stands on the page."""

    def __init__(self, world, name, folder, environment):
        self.process = world.processes.start(f"terminal-{name}", ["bash", "--norc", "--noprofile"], environment=environment, folder=folder)
        self.typed = 0
        self.held = False

    def type(self, commands):
        expect(not self.held, f"{self.process.name} is held by a command that does not end; the page types into it: {commands}")
        before = len(self.process.out()) + len(self.process.err())
        self.typed += 1
        mark = f"typed-{os.getpid()}-{self.typed}"
        self.process.popen.stdin.write(f"{commands}\necho {mark} $?\n".encode())
        self.process.popen.stdin.flush()
        self.held = bool(STAYS.search(commands))
        if self.held:
            wait_until(f"{self.process.name} to say something", lambda: len(self.process.out()) + len(self.process.err()) > before, 60)
            time.sleep(0.5)
            expect(mark not in self.process.out(), f"a command that should stay has ended: {commands}: {self.process.err()[-800:]}")
            return
        ended = re.compile(rf"^{mark} (\d+)$", re.MULTILINE)
        found = wait_until(f"the commands to end: {commands}", lambda: ended.search(self.process.out()), LIMIT_S)
        expect(found.group(1) == "0", f"{commands}: exit status {found.group(1)}: {self.process.out()[-800:]} {self.process.err()[-1500:]}")


def page(setting):
    """Three terminals, from nothing to a verified model, in less than three minutes."""
    if not PAGE.exists():
        raise Skip("docs/PLATFORM.md is not written yet")
    wanted = blocks(PAGE.read_text())
    expect(len({terminal for terminal, _ in wanted}) >= 3, f"the page has blocks for {len({t for t, _ in wanted})} terminals, expected three")
    with World(setting) as world:
        folder = world.folder / "home"
        folder.mkdir()
        for name in ("examples", "build"):
            if (ROOT / name).exists():
                os.symlink(ROOT / name, folder / name)
        programs = world.folder / "programs"
        programs.mkdir()
        os.symlink(setting.assay, programs / "assay")
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder)}
        began = time.monotonic()
        terminals = {}
        for name, commands in wanted:
            if name not in terminals:
                terminals[name] = Terminal(world, name, folder, environment)
            terminals[name].type(commands)
        took = time.monotonic() - began
        said = "".join(terminal.process.out() for terminal in terminals.values())
        expect("verified" in said, f"nothing on the page ends verified: {said[-1500:]}")
        expect(list(folder.rglob("model.safetensors")), "no model is left")
        expect(took < LIMIT_S, f"the page takes {took:.0f} s, expected less than {LIMIT_S}")
        print(f"  {len(wanted)} blocks in {len(terminals)} terminals, {took:.0f} s", flush=True)


TESTS = [page]

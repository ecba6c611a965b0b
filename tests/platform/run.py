#!/usr/bin/python3
"""Tests of the platform with real processes on loopback.

    run.py [--assay PATH] [--cheat PATH] [--full] [--database sqlite|postgres] [--seed N] [--keep] [--list] [NAME ...]

Without names all tests are run. Exit status: 0 all passed, 1 some failed, 77 nothing was tried because this machine lacks what it takes.
"""

import argparse
import os
import random
import signal
import sys
import time
import traceback

import audits
import backup
import cheats
import full_disks
import honest
import killed_coordinators
import killed_workers
import networks
import sealed
import speakers
from processes import Failure, Skip
from world import ROOT, Setting

MODULES = [honest, cheats, speakers, audits, killed_workers, killed_coordinators, networks, sealed, full_disks, backup]
TESTS = {test.__name__: test for module in MODULES for test in module.TESTS}


def attempt(name, setting):
    """"passed", "skipped" or "failed"."""
    began = time.monotonic()
    print(f"{name} ({setting.database}, seed {setting.seed})", flush=True)
    try:
        TESTS[name](setting)
        how = "passed"
    except Skip as reason:
        how = "skipped"
        print(f"  {reason}", flush=True)
    except Failure as failure:
        how = "failed"
        print(f"  {failure}", flush=True)
    except Exception:  # a test that breaks has failed, and the next one is run
        how = "failed"
        traceback.print_exc()
    print(f"{name}: {how} after {time.monotonic() - began:.1f} s", flush=True)
    return how


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    arguments.add_argument("--cheat", default=str(ROOT / "build/release/cheat"))
    arguments.add_argument("--full", action="store_true", help="the numbers that are promised, not those that fit into minutes")
    arguments.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    arguments.add_argument("--seed", type=int, default=int(os.environ.get("ASSAY_SEED", 0)) or random.randrange(1, 1 << 31))
    arguments.add_argument("--seconds", type=float, default=600, help="after which a test has failed")
    arguments.add_argument("--scratch", default=None, help="folder for what tests write")
    arguments.add_argument("--keep", action="store_true", help="keep what passed tests wrote")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("names", nargs="*")
    given = arguments.parse_args()
    if given.list:
        for name, test in TESTS.items():
            print(f"{name:<24} {test.__doc__.splitlines()[0]}")
        return 0
    unknown = [name for name in given.names if name not in TESTS]
    if unknown:
        arguments.error(f"unknown tests: {', '.join(unknown)}")
    # Contexts end what they started also where the test is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setting = Setting(given.assay, given.cheat, given.seed, given.full, given.database, given.keep, given.seconds, given.scratch)
    ends = [attempt(name, setting) for name in given.names or TESTS]
    if "failed" in ends:
        return 1
    return 77 if set(ends) == {"skipped"} else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""The page in a real browser, against a real coordinator with honest and cheating workers.

    run.py [--assay PATH] [--cheat PATH] [--load PATH] [--lies PATH] [--pictures DIR] [--but NAME] [--list] [NAME ...]

Without names all tests are run. Exit status: 0 all passed, 1 some failed, 77 nothing was tried because this machine lacks what it takes (scripts/bootstrap.sh
browser installs it).
"""

import argparse
import pathlib
import signal
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "platform"))

import checks  # noqa: E402
import visits  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402
from processes import Failure as PlatformFailure, Skip  # noqa: E402
from stage import Stage  # noqa: E402
from browser import Failure  # noqa: E402
from world import Setting  # noqa: E402

TESTS = {test.__name__: test for module in (visits, checks) for test in module.TESTS}


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    build = ROOT / "build" / "release"
    arguments.add_argument("--assay", default=str(build / "assay"))
    arguments.add_argument("--cheat", default=str(build / "cheat"))
    arguments.add_argument("--load", default=str(build / "tests" / "platform" / "platform_load"))
    arguments.add_argument("--lies", default=str(build / "tests" / "dispute" / "dispute_lies_test"), help="a test of disputes that keeps its evidence")
    arguments.add_argument("--pictures", default=None, help="folder that pictures for the documents are written to")
    arguments.add_argument("--but", action="append", default=[], help="a test that is left out")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("names", nargs="*")
    given = arguments.parse_args()
    if given.list:
        for name, test in TESTS.items():
            print(f"{name:<20} {test.__doc__.splitlines()[0]}")
        return 0
    unknown = [name for name in given.names if name not in TESTS]
    if unknown:
        arguments.error(f"unknown tests: {', '.join(unknown)}")
    program = find_chromium()
    if program is None:
        print("skipped: there is no chromium here; scripts/bootstrap.sh browser installs it")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    ends = {}
    setting = Setting(given.assay, given.cheat, seed=4711, seconds=500)
    with Browser(program) as browser, Stage(setting, given.load, given.lies, browser, given.pictures) as stage:
        for name in [name for name in given.names or TESTS if name not in given.but]:
            began = time.monotonic()
            try:
                TESTS[name](stage)
                stage.check_pages()
                how = "passed"
            except Skip as reason:
                how = f"skipped: {reason}"
            except (Failure, PlatformFailure) as failure:
                how = f"FAILED: {failure}"
            except Exception:  # a test that breaks has failed, and the next one is run
                how = "FAILED: " + traceback.format_exc()
            finally:
                stage.drop_pages()
            ends[name] = how.split(":")[0]
            print(f"{name:<20} {time.monotonic() - began:5.1f} s  {how}", flush=True)
    failed = [name for name, end in ends.items() if end == "FAILED"]
    if failed:
        print("failed: " + ", ".join(failed))
        return 1
    return 77 if set(ends.values()) == {"skipped"} else 0


if __name__ == "__main__":
    sys.exit(main())

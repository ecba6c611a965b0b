"""What a run's TensorBoard events hold, read by a reader of our own (event_files.py): tags, steps and times, of a whole run and of one that was killed and resumed.

    events_of_runs.py ASSAY
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import event_files

ASSAY = os.path.abspath(sys.argv[1])


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAIL: {message}")


def expect_whole(assay, run, steps, began):
    tags = event_files.read(run / "events")
    check({"loss", "lr", "cpu_util", "memory_bytes"} <= set(tags), f"tags: {sorted(tags)}")
    [rate] = [tag for tag in tags if tag.endswith("_per_s")]
    for tag in ("loss", "lr", rate):
        check([point.step for point in tags[tag]] == list(range(1, steps + 1)), f"{tag}: {len(tags[tag])} points for {steps} steps")
    for tag, points in tags.items():
        walls = [point.wall_time for point in points]
        check(walls == sorted(walls) and began - 1 <= walls[0] and walls[-1] <= time.time() + 1, f"{tag}: times {walls[0]} to {walls[-1]}")
        check([point.step for point in points] == sorted(point.step for point in points), f"{tag}: steps go back")
        check(all(math.isfinite(point.value) for point in points), f"{tag}: a value that is no number")
    check(all(point.value > 0 for point in tags["memory_bytes"] + tags[rate]), "memory or throughput of 0")
    check(len(tags["cpu_util"]) >= 2 and any(point.value > 0.1 for point in tags["cpu_util"]), f"utilisation: {tags['cpu_util']}")
    check([point.step for point in tags["cpu_util"]] == [point.step for point in tags["memory_bytes"]], "samples of utilisation and memory")
    losses = {point.step: point.value for point in tags["loss"]}
    for entry in json.loads(assay("log", run, "--json").stdout)["entries"]:
        check(entry["step"] == 0 or abs(losses[entry["step"]] - entry["loss"]) < 1e-6, f"the loss of step {entry['step']}")
    return tags


def main():
    with tempfile.TemporaryDirectory(prefix="assay-events.") as folder:
        folder = pathlib.Path(folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "XDG_"))}
        environment["HOME"] = str(folder)

        def assay(*words):
            done = subprocess.run([ASSAY, *map(str, words)], capture_output=True, text=True, timeout=300, env=environment)
            check(done.returncode == 0, f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
            return done

        text = pathlib.Path("examples/mlp.toml").read_text().split("[snapshot]")[0] + "[snapshot]\nevery = 500\n"
        job = folder / "job.toml"
        job.write_text(re.sub(r"(?m)^steps = .*", "steps = 20000", text))
        began = time.time()
        assay("train", job, "--out", folder / "whole", "--steps", 1500, "--sample-ms", 20, "--quiet")
        expect_whole(assay, folder / "whole", 1500, began)

        # Killed in the middle, twice, once with half a record at the end of its file.
        began = time.time()
        for torn in (False, True):
            training = subprocess.Popen([ASSAY, "train", job, "--out", folder / "killed", "--sample-ms", "20", "--quiet"], env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            snapshots = len(list((folder / "killed" / "snapshots").glob("*.safetensors")))
            end = time.monotonic() + 60
            while time.monotonic() < end and len(list((folder / "killed" / "snapshots").glob("*.safetensors"))) <= snapshots:
                time.sleep(0.02)
            time.sleep(0.2)
            training.kill()
            training.communicate()
            check(training.returncode != 0, "it was to be killed while it trained")
            event_files.read(folder / "killed" / "events")  # readable as it was left
            if torn:
                newest = sorted((folder / "killed" / "events").glob("*tfevents*"))[-1]
                newest.write_bytes(newest.read_bytes()[:-7])
                event_files.read(folder / "killed" / "events")
        assay("resume", folder / "killed", "--quiet")
        expect_whole(assay, folder / "killed", 20000, began)
        files = sorted((folder / "killed" / "events").glob("*tfevents*"))
        check(len(files) == 3, f"{len(files)} event files of three sessions")
        for path in files:
            check(len(b"".join(event_files.frames(path.read_bytes()))) > 0, f"{path.name} has no records")
    print("passed")


if __name__ == "__main__":
    main()

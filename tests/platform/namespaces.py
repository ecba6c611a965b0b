"""Network namespaces: each party on a machine of its own, as far as the network can tell. A star: every party has a link to the middle."""

import os
import shutil
import subprocess

from processes import Failure, Skip


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise Failure(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Star:
    """`middle` and one namespace for each name; 10.77.N.1 is the middle's end of link N, 10.77.N.2 the party's."""

    def __init__(self, names):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise Skip("network namespaces need root and iproute2")
        self.prefix = f"assay{os.getpid()}"
        self.made, self.links = [], {}
        try:
            self.middle = self.add("m")
            for number, name in enumerate(names, 1):
                self.connect(number, name)
        except Failure as failure:
            self.end()
            raise Skip(f"no network namespaces here: {failure}") from None

    def add(self, name):
        full = f"{self.prefix}{name}"
        ip("netns", "add", full)
        self.made.append(full)
        ip("-n", full, "link", "set", "lo", "up")
        return full

    def connect(self, number, name):
        space = self.add(f"p{number}")
        ip("link", "add", f"m{number}", "netns", self.middle, "type", "veth", "peer", "name", "out", "netns", space)
        ip("-n", self.middle, "addr", "add", f"10.77.{number}.1/24", "dev", f"m{number}")
        ip("-n", space, "addr", "add", f"10.77.{number}.2/24", "dev", "out")
        ip("-n", self.middle, "link", "set", f"m{number}", "up")
        ip("-n", space, "link", "set", "out", "up")
        self.links[name] = (space, number)

    def space(self, name):
        return self.links[name][0]

    def middle_address(self, name):
        """The middle as this party sees it."""
        return f"10.77.{self.links[name][1]}.1"

    def cut(self, name):
        ip("-n", self.middle, "link", "set", f"m{self.links[name][1]}", "down")

    def mend(self, name):
        ip("-n", self.middle, "link", "set", f"m{self.links[name][1]}", "up")

    def limit(self, name, rate):
        """Both directions of the link, such as 2mbit."""
        space, number = self.links[name]
        for where, device in ((self.middle, f"m{number}"), (space, "out")):
            done = subprocess.run(["tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "32k", "latency", "200ms"],
                                  capture_output=True, text=True, timeout=30)
            if done.returncode != 0:
                raise Failure(f"tc: {done.stderr.strip()}")

    def end(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=30)

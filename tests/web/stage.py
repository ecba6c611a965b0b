"""What tests of the page share: a platform with workers, orders that are made once, and visitors who are signed in."""

import json
import os
import re
import shutil
import subprocess
import urllib.request

from browser import Failure
from world import ROOT, World


class Stage:
    def __init__(self, setting, load, lies, browser, pictures):
        self.world, self.load, self.lies, self.browser, self.pictures = World(setting), load, lies, browser, pictures
        self.pages, self.kept = [], {}

    def __enter__(self):
        self.world.__enter__()
        self.world.serve(flags=["--patience", "15", "--rerun", "5", "--log", str(self.world.folder / "requests.log")])
        self.anna, self.ben = self.world.worker("anna"), self.world.worker("ben")
        return self

    def __exit__(self, *how):
        return self.world.__exit__(*how)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.world.coordinators[0].port}"

    def token(self, role="client"):
        return self.world.coordinators[0].admin if role == "admin" else self.world.token(role, "client" if role == "client" else "anna")

    # Visitors

    def visit(self, path="", token=None, url=None, **size):
        """A page that is signed in and shows `path`."""
        url = url or self.url
        page = self.browser.page(**size)
        self.pages.append((page, url))
        page.go(url + "/")
        page.until("document.querySelector('#token')", "the field for the token")
        page.run(f"sessionStorage.setItem('assay.token', {json.dumps(token or self.token())})")
        page.go("about:blank")
        page.go(f"{url}/#/{path}")
        page.until("document.querySelector('#leave') && !document.querySelector('#leave').hidden && document.querySelector('main h1')", "the page")
        return page

    def check_pages(self):
        """Pages ask nothing of anybody else, and complain of nothing."""
        for page, url in self.pages:
            strangers = [request for request in page.requests if not request.startswith((url + "/", "blob:" + url, "data:", "about:"))]
            if strangers or page.errors:
                raise Failure(f"a page asked elsewhere: {strangers[:3]}; errors: {page.errors[:3]}")

    def drop_pages(self):
        for page, _ in self.pages:
            page.close()
        self.pages = []

    def evidence_files(self):
        """Evidence of every lie that the tests of disputes know, and one file that is kept with the source."""
        folder = self.world.folder / "evidence"
        folder.mkdir()
        subprocess.run([self.lies, "--gtest_brief=1"], env={**os.environ, "ASSAY_KEEP_EVIDENCE": str(folder)}, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(ROOT / "tests" / "golden" / "dispute.evidence", folder)
        return sorted(folder.iterdir())

    # Orders

    def job(self, name, steps, example="mlp", every=None):
        text = (ROOT / "examples" / f"{example}.toml").read_text()
        text = re.sub(r"(?m)^steps = .*", f"steps = {steps}", text)
        text = re.sub(r"(?m)^name = .*", f'name = "{name}"', text)
        path = self.world.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def submit(self, job, *flags):
        return self.world.submit(job, *flags)

    def once(self, name, make):
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def get(self, path):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.token()}"})
        return json.load(urllib.request.urlopen(request, timeout=30))

    def entries(self, order):
        return [json.loads(text) for text in self.get(f"/v1/orders/{order}/life")["entries"]]

    def disputed(self):
        """An order in which a worker flipped a bit, and was found out: its id, the hash of the evidence, the liar's key."""
        def make():
            self.ben.stop()
            liar = self.world.worker("mallory", cheat="flipped-bit")
            order = self.submit(self.job("gpt2-disputed", 48, "gpt2-tiny"), "--replicas", "2")
            outcome = self.world.decided(order)
            liar.stop()
            self.ben.start()
            if outcome["convicted"] != [liar.key]:
                raise Failure(f"expected a conviction of the liar: {outcome}")
            judged = next(entry for entry in self.entries(order) if entry["kind"] == "judged")
            return order, judged["evidence"][0], liar.key
        return self.once("disputed", make)

    def thousand(self):
        """A coordinator without workers that has a thousand orders: its address, and its administrator's token."""
        def make():
            world = self.world
            process = world.processes.start("many", [world.setting.assay, "serve", "--store", world.folder / "many", "--listen", "127.0.0.1:0", "--json", "--log", "-"])
            said = json.loads(world.wait_for("a coordinator for many orders", lambda: process.out().splitlines()[0] if process.out().endswith("\n") else None))
            subprocess.run([self.load, "list", said["listening"], said["admin_token"], "1000"], check=True, timeout=60, stdout=subprocess.DEVNULL)
            return said["listening"].rstrip("/"), said["admin_token"]
        return self.once("thousand", make)

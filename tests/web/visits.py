"""What visitors do: sign in, watch, follow a dispute, take evidence away, cancel, come back after the server was gone."""

import hashlib
import json

from browser import Failure


def expect(condition, words):
    if not condition:
        raise Failure(words)


def sign_in(stage):
    """A token is asked for, a wrong one is refused in words, and the keyboard is enough."""
    page = stage.browser.page()
    stage.pages.append((page, stage.url))
    page.go(stage.url + "/")
    page.until("document.activeElement && document.activeElement.id === 'token'", "the field to have the focus")
    page.type("assay_" + "0" * 64)
    page.press("Enter")
    page.until("document.body.innerText.includes('This token is not known here')", "words about the wrong token")
    page.run("document.querySelector('#token').select()")
    page.type(stage.token())
    page.press("Enter")
    page.until("document.querySelector('h1')?.innerText === 'Jobs'", "the list of jobs")
    expect(page.run("localStorage.getItem('assay.token')") is None, "the token is kept beyond the tab")
    expect(stage.token() not in page.run("location.href"), "the token stands in the address")
    # The first stop of the keyboard leads past the navigation, and is seen.
    page.reload()
    page.until("document.querySelector('h1')?.innerText === 'Jobs'", "the list of jobs again")
    page.press("Tab")
    expect(page.run("document.activeElement.className") == "skip", "the first stop is not the link to the content")
    expect(page.run("document.activeElement.getBoundingClientRect().top >= 0"), "the link to the content is not seen when it has the focus")
    page.press("Enter")
    expect(page.run("document.activeElement.id") == "main", "the link does not lead to the content")
    page.click("#leave")
    page.until("document.querySelector('#token')", "the field for the token again")
    expect(page.run("sessionStorage.length") == 0, "something is left after signing out")


def roles(stage):
    """What a token may not see is said in words."""
    page = stage.visit(token=stage.token("provider"))
    page.until("document.body.innerText.includes('may not see their orders')", "words about what a provider may see")
    page.run("location.hash = '#/workers'")
    page.until("document.querySelectorAll('tbody tr').length === 1", "the one worker of the account")
    page.click("tbody a")
    page.until("document.querySelector('h1')?.innerText === 'anna'", "the worker's record")
    page.until("document.body.innerText.includes('Gflop/s')", "what the worker measured")


def live(stage):
    """A training is watched while it goes on: the charts grow, and the verdict comes by itself."""
    steps = 600 if stage.pictures else 900  # some seconds on an idle machine
    order = stage.submit(stage.job("watched", steps, "resnet18-tiny"), "--replicas", "2")
    page = stage.visit(f"orders/{order}")
    points = "[...document.querySelectorAll('.chart canvas')].map(c => Number(/(\\d+) points/.exec(c.getAttribute('aria-label'))?.[1] ?? 0))[0]"
    page.until(f"{points} > 0", "the first points of the loss")
    shown = page.until("document.querySelector('.chart .now').innerText !== '–' && document.querySelector('.chart .now').innerText", "a loss")
    page.until(f"document.querySelector('.chart .now').innerText !== {json.dumps(shown)}", "the loss to change")
    expect("trains" in page.text(), "the life of the order does not say who trains")
    if stage.pictures:
        page.until("Number(/step (\\d+)/.exec(document.querySelector('.lead').innerText)?.[1] ?? 0) > 420", "most of it", 60)
        page.picture(f"{stage.pictures}/web-job.png", 1280)
    page.until("document.querySelector('.head .badge').innerText.includes('verified')", "the verdict", 60)
    page.until("document.body.innerText.includes('Download the model')", "the delivery")
    # The record of the run took the place of what was seen: every step is there.
    page.until("/\\b%d points/.test([...document.querySelectorAll('.chart canvas')][0].getAttribute('aria-label'))" % steps, "all steps of the record")
    stage.kept["verified"] = order


def reconnect(stage):
    """The server is killed and started again: the page says so, comes back by itself, and misses nothing."""
    order = stage.submit(stage.job("outlived", 200, "gpt2-tiny"), "--replicas", "2")
    page = stage.visit(f"orders/{order}")
    page.until("document.querySelector('.live').innerText.includes('live')", "the stream")
    page.until("document.querySelectorAll('.event').length >= 2", "a lease")
    coordinator = stage.world.coordinators[0]
    coordinator.kill()
    page.until("document.querySelector('#link').innerText.includes('offline')", "the page to say that it is offline")
    coordinator.start()
    page.until("document.querySelector('#link').innerText === ''", "the page to find the server again", 30)
    page.until("document.querySelector('.head .badge').innerText.includes('verified')", "the verdict after the restart", 90)
    kinds = [entry["kind"] for entry in stage.entries(order) if entry["kind"] != "committed"]
    expect(page.run("document.querySelectorAll('.event').length") == len(kinds), f"the page shows another number of events than {len(kinds)}")


def cancel(stage):
    """An order is cancelled from the page, after a question."""
    order = stage.submit(stage.job("unwanted", 100000, "gpt2-tiny"), "--replicas", "2")
    page = stage.visit(f"orders/{order}")
    page.click(".actions button")
    expect("What has been trained is lost" in page.text(), "there was no question")
    page.click(".actions button.danger")
    page.until("document.querySelector('.head .badge').innerText.includes('failed')", "the verdict of a cancelled order")
    page.until("document.body.innerText.includes('Cancelled by the client')", "the entry of the life")
    expect(stage.get(f"/v1/orders/{order}")["verdict"] == "failed", "the order is not cancelled")


def dispute(stage):
    """From the list to the job, to the dispute, to the very bits; the evidence is taken away and convicts."""
    order, evidence, liar = stage.disputed()
    page = stage.visit()
    page.until(f"document.querySelector('a[href=\"#/orders/{order}\"]')", "the order in the list")
    page.click(f"a[href='#/orders/{order}']")
    page.until("document.body.innerText.includes('The runs differed')", "the dispute on the page of the job")
    page.click(f".dispute a[href='#/orders/{order}/dispute/{evidence}']")
    page.until("document.querySelector('.rounds svg .left')", "the picture of the rounds")
    told = stage.get(f"/v1/orders/{order}/evidence/{evidence}")
    expect(told["finding"]["cause"] == "output" and told["convicts"], f"the dispute is about something else: {told['finding']}")
    text = page.text()
    for words in (f"lied at step {told['finding']['step']}", told["graph"]["name"], "≠ they differ here", "≠ decided", "computed again"):
        expect(words in text, f"the page does not say {words!r}")
    # One bit was flipped: it is marked on both sides, and nothing else is.
    expect(page.run("document.querySelectorAll('.bits mark').length") == 2, "not exactly the one bit is marked")
    expect(page.run("document.querySelectorAll('.rounds svg .left').length") >= 5, "the picture has too few stages")
    if stage.pictures:
        page.picture(f"{stage.pictures}/web-dispute.png", 1900)
    folder = stage.world.folder / "downloads"
    folder.mkdir(exist_ok=True)
    page.downloads(folder)
    page.click(".actions button.main")
    saved = folder / f"{evidence[:8]}.evidence"
    stage.world.wait_for("the download", saved.exists)
    expect(hashlib.sha256(saved.read_bytes()).hexdigest() == evidence, "the evidence that was saved is another")
    stage.world.assay("judge", saved, "--job", told["job"], "--signer", liar, "--json").expect(0)
    page.click(".actions div button")
    page.until("/judged here|no judge for browsers/.test(document.querySelector('.actions').innerText)", "what the browser's own judge says")
    # The record of whoever lied.
    page.run("location.hash = '#/workers'")
    mallory = "[...document.querySelectorAll('tbody a')].find(a => a.innerText.startsWith('mallory'))"
    page.until(f"{mallory}?.closest('tr').innerText.includes('convicted')", "the convicted worker in the list")
    page.run(f"{mallory}.click()")
    page.until("document.body.innerText.includes('It gets no more work here')", "the conviction in the record")
    expect(page.run(f"!!document.querySelector('a[href=\"#/orders/{order}/dispute/{evidence}\"]')"), "the record does not lead to the dispute")


def download(stage):
    """The model is taken away, and its hash is checked on the way."""
    order = stage.kept.get("verified") or stage.disputed()[0]
    page = stage.visit(f"orders/{order}")
    page.until("document.body.innerText.includes('Download the model')", "the delivery")
    folder = stage.world.folder / "models"
    folder.mkdir(exist_ok=True)
    page.downloads(folder)
    page.run("[...document.querySelectorAll('button')].find(b => b.innerText.startsWith('Download the model')).click()")
    page.until("document.body.innerText.includes('its SHA-256 is right')", "the hash to be right")
    stage.world.wait_for("the model", lambda: (folder / f"{order[:8]}.safetensors").exists())


TESTS = [sign_in, roles, live, reconnect, cancel, dispute, download]

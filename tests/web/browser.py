"""Chromium, driven through its own protocol over a pipe: no driver, no package. One browser, many pages; what a test needs of them and no more."""

import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--lang=en-GB"]


class Failure(Exception):
    pass


def find_chromium():
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Browser:
    """To be used with `with`. Messages are JSON that end with a zero byte: the browser reads them from descriptor 3 and writes to 4."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="assay-browser.")
        to_browser, self.ours_out = os.pipe()
        self.ours_in, from_browser = os.pipe()

        def place():
            # Out of the way first: either may have the other's number.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)
        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"], pass_fds=(3, 4, to_browser, from_browser), preexec_fn=place,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC"})
        os.close(to_browser)
        os.close(from_browser)
        self.lock, self.next, self.waiting, self.listeners = threading.Lock(), 0, {}, {}
        threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.ours_out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self):
        rest = b""
        while True:
            try:
                piece = os.read(self.ours_in, 1 << 20)
            except OSError:
                return
            if not piece:
                return
            *messages, rest = (rest + piece).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if "id" in message:
                    self.waiting.pop(message["id"]).put(message)
                elif message.get("sessionId") in self.listeners:
                    self.listeners[message["sessionId"]](message["method"], message["params"])

    def call(self, method, params=None, session=None, seconds=30):
        answer = queue.Queue()
        with self.lock:
            self.next += 1
            self.waiting[self.next] = answer
            message = {"id": self.next, "method": method, "params": params or {}, **({"sessionId": session} if session else {})}
            os.write(self.ours_out, json.dumps(message).encode() + b"\0")
        try:
            said = answer.get(timeout=seconds)
        except queue.Empty:
            raise Failure(f"the browser did not answer {method} within {seconds} s") from None
        if "error" in said:
            raise Failure(f"{method}: {said['error']['message']}")
        return said["result"]

    def page(self, **size):
        return Page(self, **size)


class Page:
    def __init__(self, browser, width=1280, height=900, mobile=False, theme="light"):
        self.browser, self.errors, self.requests = browser, [], []
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.target, self.session = target, browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        browser.listeners[self.session] = self.heard
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.size(width, height, mobile)
        self.theme(theme)

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def heard(self, method, params):
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error" and params["entry"]["source"] != "network":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, params=None, seconds=30):
        return self.browser.call(method, params, self.session, seconds)

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 2 if mobile else 1, "mobile": mobile})

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def throttle(self, times):
        self.call("Emulation.setCPUThrottlingRate", {"rate": times})

    def go(self, url):
        self.call("Page.navigate", {"url": url})

    def reload(self):
        self.run("window.before = true")
        self.call("Page.reload")
        self.until("!window.before && document.readyState === 'complete'", "the page to be loaded again")

    def run(self, code, seconds=30):
        """The value of an expression; promises are waited for."""
        said = self.call("Runtime.evaluate", {"expression": code, "awaitPromise": True, "returnByValue": True, "userGesture": True}, seconds)
        if "exceptionDetails" in said:
            details = said["exceptionDetails"]
            raise Failure(f"{code[:200]}: {details.get('exception', {}).get('description') or details['text']}")
        return said["result"].get("value")

    def until(self, code, what=None, seconds=30):
        """Waits until the expression is true, and gives its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(f"(value => value instanceof Node ? true : value)({code})")
            except Failure as failure:
                value = None
                # A page that is on its way has neither a context nor elements.
                if not any(words in str(failure) for words in ("context", "navigated", "Cannot read", "null")):
                    raise
            if value:
                return value
            if time.monotonic() > end:
                raise Failure(f"waited {seconds} s for {what or code}; the page says: {self.run('document.body.innerText')[:600]!r}")
            time.sleep(0.05)

    def text(self):
        return self.run("document.body.innerText")

    def click(self, selector):
        """As a visitor does: at the middle of what is seen."""
        place = self.until(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null; e.scrollIntoView({{block: 'center'}});
            const r = e.getBoundingClientRect(); return r.width && r.height ? {{x: r.x + r.width / 2, y: r.y + r.height / 2}} : null; }})()""", f"{selector} to click on")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {"type": kind, "button": "left", "clickCount": 1, **place})

    def press(self, key):
        codes = {"Tab": 9, "Enter": 13, "Space": 32}
        text = {"Enter": "\r", "Space": " "}.get(key)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, "key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": codes[key],
                                                 **({"text": text} if text and kind == "keyDown" else {})})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def picture(self, path, height=None, scale=0.75):
        """Of the page from its top on: so many pixels, or all of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        params = {"format": "png", "captureBeyondViewport": True,
                  "clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height or size["height"]), "scale": scale}}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", params)["data"]))

    def downloads(self, folder):
        self.browser.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

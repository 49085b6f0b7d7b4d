"""A real browser without a window, driven through the pipe of Chromium's developer tools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


class Page:
    """One page; a context manager that ends the browser."""

    def __init__(self, folder, *, width=1100, height=800, dark=False):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        options = [*_OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', CHROMIUM, *options, "about:blank"],
            pass_fds=(to_read, to_write),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session, self.requests, self.errors = b"", 0, None, [], []
        targets = self("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        if dark:
            features = [{"name": "prefers-color-scheme", "value": "dark"}]
            self("Emulation.setEmulatedMedia", features=features)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # All of its processes end before the pipe closes, or they would write to the folder still.
        self._session = None
        self("Browser.close")
        self._process.wait(timeout=20)
        os.close(self._read)
        os.close(self._write)

    def __call__(self, method, **parameters):
        """Send a command and return its result; events that come before are looked through."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self._event(answer)

    def _message(self):
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def _event(self, event):
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        if event["method"] == "Runtime.exceptionThrown":
            self.errors.append(event["params"]["exceptionDetails"])
        if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.errors.append(event["params"]["entry"]["text"])

    def open(self, path, until):
        """Go to a file, or to an address, and wait until an expression is true."""
        self("Page.navigate", url=path if "://" in str(path) else f"file://{path}")
        self.wait(until)

    def wait(self, expression, seconds=20):
        """Wait until an expression is true: looked at once a picture of the screen, in the page."""
        script = (
            f"new Promise((done) => {{ const end = performance.now() + {1000 * seconds};"
            "const look = () => { let there = false; try { there = Boolean(" + expression + "); } catch {}"
            "there || performance.now() > end ? done(there) : setTimeout(look, 5); }; look(); })"
        )
        deadline = time.monotonic() + seconds
        while not self.evaluate(script):
            assert time.monotonic() < deadline, (expression, self.errors)

    def evaluate(self, expression):
        """The value of an expression, of a promise when it is kept."""
        found = self("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, x, y):
        """Press and release the mouse, at pixels of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "End": 35, " ": 32}
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self("Page.captureScreenshot")["data"]))

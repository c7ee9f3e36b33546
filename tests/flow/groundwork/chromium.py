"""A headless Chromium, driven over a pipe by its DevTools protocol."""
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Chromium:
    """Runs the machine's `chromium`; Chromium.path() is None when the machine has none."""

    @staticmethod
    def path():
        return shutil.which("chromium") or shutil.which("chromium-browser")

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="chromium.")
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()

        def pipes():  # Chromium reads from 3 and writes to 4
            high = [os.dup2(theirs_in, 60), os.dup2(theirs_out, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [self.path(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pipes, close_fds=False)
        os.close(theirs_in)
        os.close(theirs_out)
        self.numbers, self.buffer, self.events = itertools.count(1), b"", []

    def close(self):
        self.process.kill()
        self.process.wait(60)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self, end):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, end - time.monotonic()))
            part = os.read(self.into, 65536) if ready else b""
            if not part:
                raise TimeoutError("Chromium says nothing")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, within=60, **params):
        """Returns the result of a command; stores the events that arrive before it in `events`."""
        number, end = next(self.numbers), time.monotonic() + within
        command = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while (message := self._message(end)).get("id") != number:
            self.events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def event(self, method, wanted, within=60):
        """Returns the parameters of the first event, past or future, for which `wanted` is true."""
        end = time.monotonic() + within
        while True:
            for each in self.events:
                if each.get("method") == method and wanted(each["params"]):
                    return each["params"]
            self.events.append(self._message(end))

    def page(self, url):
        """Opens a page and returns the session attached to it."""
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        self.call("Page.navigate", session, url=url)
        self.event("Page.loadEventFired", lambda _: True)
        return session

    def run(self, session, script):
        """Returns the value with which the script's promise is fulfilled."""
        done = self.call("Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"].get("exception", done))[:2000])
        return done["result"].get("value")

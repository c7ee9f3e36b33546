"""Clients that log each request before they send it, and its answer, one line each."""
import json
import random
import threading
import time
import uuid

import requests


class Log:
    """JSON lines: {"what", "mark", "state": asked|acked|refused|unknown}."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1, encoding="utf-8")
        self.lock = threading.Lock()

    def write(self, what, mark, state, **more):
        with self.lock:
            self.file.write(json.dumps({"what": what, "mark": mark, "state": state, "at": time.time(), **more}) + "\n")


class LoggingClient(threading.Thread):
    """A thread that calls step() about `rate` times a second and logs each call."""

    def __init__(self, world, log, stop, seed, rate):
        super().__init__(daemon=True)
        self.world, self.log, self.stop, self.rate = world, log, stop, rate
        self.random = random.Random(seed)
        self.session = requests.Session()
        self.session.trust_env = False

    def call(self, what, mark, method, path, body=None, token=None):
        """The document of the answer; None when the outcome is unknown or the request was refused."""
        self.log.write(what, mark, "asked")
        try:
            answer = self.session.request(method, self.world.project.base_url + path, json=body, timeout=10,
                                          headers={"Authorization": f"Bearer {token or self.world.project.admin.token}"})
        except requests.RequestException:
            self.log.write(what, mark, "unknown")
            return None
        if answer.status_code in (200, 201, 202, 204):
            made = answer.json() if answer.content else {}
            self.log.write(what, mark, "acked", id=made.get("id"))
            return made
        state = "unknown" if answer.status_code in (404, 409, 503, 504) else "wrong"
        self.log.write(what, mark, state, status=answer.status_code, text=answer.text[:300])
        return None

    def run(self):
        while not self.stop.is_set():
            self.step()
            self.stop.wait(self.random.expovariate(self.rate))


def events(answer):
    """Yields (kind, data, id) of each complete event of a stream."""
    kind, data, position = None, None, None
    for line in iter(answer.readline, b""):
        name, _, value = line.decode().rstrip("\n").partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            position = value
        elif name == "event":
            kind = value
        elif name == "data":
            data = value
        elif line == b"\n":
            yield kind, data, position
            kind, data, position = None, None, None


class Caller(LoggingClient):
    """One client: creates orders, sometimes a bulk job, a branch or an echo; about `rate` calls a second."""

    def call(self, what, path, body):
        mark = uuid.uuid4().hex
        self.log.write(what, mark, "asked", n=body.get("n"))
        try:
            answer = self.session.post(
                self.world.project.base_url + path, json={**body, "mark": mark}, timeout=10,
                headers={"Authorization": f"Bearer {self.world.project.admin.token}"})
        except requests.RequestException:
            self.log.write(what, mark, "unknown")
            return
        if answer.status_code in (201, 202, 204):
            self.log.write(what, mark, "acked")
        elif answer.status_code == 503 and "outcome_unknown" in answer.text:
            self.log.write(what, mark, "unknown")
        elif answer.status_code in (503, 504):
            # The gateway refused the request, but after a timeout the work may already have begun.
            self.log.write(what, mark, "unknown")
        else:
            self.log.write(what, mark, "wrong", status=answer.status_code, text=answer.text[:300])

    def run(self):
        while not self.stop.is_set():
            dice = self.random.random()
            if dice < 0.8:
                self.call("order", "/entities/orders/items", {"n": self.random.randrange(10)})
            elif dice < 0.9:
                self.call("bulk", "/workflows/api/bulk", {})
            elif dice < 0.99:
                self.call("branch", f"/workflows/{self.world.flows['branch']}/trigger", {"n": self.random.randrange(12)})
            else:
                self.call("echo", "/entities/echoes/items", {})
            self.stop.wait(self.random.expovariate(self.rate))

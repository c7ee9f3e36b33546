"""Well-behaved projects during an attack: a separate process calls them as their users do, and reports what they saw.

    seen = Neighbours([neighbour(project), ...], calls={"read": 4, "list": 1}); seen.phase("alone"); ...; seen.report()

For each phase and kind of call a report has the number of calls, p50 and p99 in seconds, and the number of unexpected answers
by status (0: no answer at all). A call counts in the phase in which it began, except that a call that overlaps the phase
"during" counts in that phase.
"""
import json
import random
import sys
import threading
import time

from .child import Child


class Neighbours(Child):
    """`projects`: results of neighbour(); `calls`: kind -> relative frequency. Each project has `threads` callers, and each
    caller pauses for `pause` seconds between its calls."""

    def __init__(self, projects, calls, threads=2, pause=0.02):
        super().__init__("groundwork.neighbour", start_new_session=True)
        self.say(json.dumps({"projects": projects, "calls": calls, "threads": threads, "pause": pause}))

    def phase(self, name, seconds=0):
        """Counts calls in this phase from now on; returns after `seconds`."""
        self.say(name)
        time.sleep(seconds)

    def report(self):
        said, _ = self.process.communicate(timeout=120)
        return json.loads(said)


def neighbour(project, email=None, password=None, **more):
    """Returns what the other process needs to know of a project with the entity "things". `more`: for `job`, workflow=its id."""
    from .project import ADMIN_EMAIL, PASSWORD

    ids = [project.item("things", name=f"thing {n}", n=n)["id"] for n in range(20)]
    address = project.base_url.split("//")[1]
    host, path = address.split("/", 1)
    return {"host": host, "path": f"/{path}", "token": project.admin.token, "ids": ids,
            "email": email or ADMIN_EMAIL, "password": password or PASSWORD, **more}


# --- the process ---


class UnexpectedAnswer(Exception):
    """An answer that was not expected."""


class Caller(threading.Thread):
    def __init__(self, project, config, world):
        super().__init__(daemon=True)
        self.project, self.config, self.world = project, config, world
        self.connection = None

    def call(self, method, path, body=None, expect=200, anonymous=False):
        import http.client

        headers = {} if anonymous else {"Authorization": f"Bearer {self.project['token']}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.project["host"], timeout=60)
        try:
            self.connection.request(method, self.project["path"] + path, json.dumps(body) if body is not None else None, headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise UnexpectedAnswer(0, "") from None
        if answer.will_close:
            self.connection.close()
            self.connection = None
        if answer.status != expect:
            raise UnexpectedAnswer(answer.status, text.decode(errors="replace")[:300])
        return json.loads(text) if text else None

    # kinds of calls

    def read(self):
        self.call("GET", f"/entities/things/items/{random.choice(self.project['ids'])}")

    def list(self):
        self.call("GET", "/entities/things/items?limit=20&sort=-id")

    def me(self):
        self.call("GET", "/users/me")

    def create(self):
        self.call("POST", "/entities/things/items", {"name": "another thing", "n": random.randrange(1000)}, 201)

    def update(self):
        self.call("PUT", f"/entities/things/items/{random.choice(self.project['ids'])}", {"n": random.randrange(1000)})

    def sign_in(self):
        who = {"email": self.project["email"], "password": self.project["password"]}
        self.call("POST", "/auth/v1/token", who, anonymous=True)

    def docs(self):
        self.call("GET", "/docs")

    def pay(self):
        self.call("POST", "/integrations/svcpay/payments",
                  {"type": "one_off", "amount": 1.5, "currency": "USD", "description": "A thing"}, 201)

    def provider(self):
        self.call("GET", "/auth/v1/google/authorize?redirect_to=https%3A%2F%2Fapp.example.org%2Fsigned-in", expect=302,
                  anonymous=True)

    def job(self):
        """Runs a job from its start to its end."""
        job = self.call("POST", f"/workflows/{self.project['workflow']}/trigger", {}, 202)["job_id"]
        end = time.monotonic() + 60
        while True:
            found = self.call("GET", f"/workflows/jobs/{job}")
            if found["status"] in ("failed", "cancelled", "skipped"):
                raise UnexpectedAnswer(1, json.dumps(found)[:300])
            if found["status"] == "succeeded":
                if found.get("attempt", 1) > 1:
                    raise UnexpectedAnswer(2, json.dumps(found)[:300])
                return
            if time.monotonic() > end:
                raise UnexpectedAnswer(3, json.dumps(found)[:300])
            time.sleep(0.02)

    def run(self):
        kinds, weights = list(self.config["calls"]), list(self.config["calls"].values())
        while not self.world.stop.is_set():
            (kind,) = random.choices(kinds, weights)
            phase, begun, wrong = self.world.phase, time.monotonic(), None
            try:
                getattr(self, kind)()
            except UnexpectedAnswer as error:
                wrong = error.args
            taken = time.monotonic() - begun
            if "during" in (phase, self.world.phase):
                phase = "during"
            if phase is not None:
                self.world.add(phase, kind, taken, wrong)
            if wrong:
                time.sleep(0.2)
            self.world.stop.wait(self.config["pause"])


class World:
    def __init__(self):
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.phase, self.seen, self.examples = None, {}, {}

    def add(self, phase, kind, taken, wrong):
        with self.lock:
            times, errors = self.seen.setdefault(phase, {}).setdefault(kind, ([], {}))
            times.append(taken)
            if wrong:
                errors[wrong[0]] = errors.get(wrong[0], 0) + 1
                self.examples.setdefault(f"{phase} {kind} {wrong[0]}", wrong[1])

    def report(self):
        def at(times, share):
            return times[min(len(times) - 1, int(len(times) * share))]

        phases = {}
        for phase, kinds in self.seen.items():
            found = phases[phase] = {}
            for kind, (times, errors) in kinds.items():
                times.sort()
                found[kind] = {"count": len(times), "p50": at(times, 0.5), "p99": at(times, 0.99), "max": times[-1],
                               "errors": errors}
        return {"phases": phases, "examples": self.examples}


def main():
    config = json.loads(sys.stdin.readline())
    world = World()
    callers = [Caller(project, config, world) for project in config["projects"] for _ in range(config["threads"])]
    for caller in callers:
        caller.start()
    for line in sys.stdin:
        world.phase = line.strip()
    world.stop.set()
    for caller in callers:
        caller.join(70)
    with world.lock:
        print(json.dumps(world.report()))


if __name__ == "__main__":
    main()

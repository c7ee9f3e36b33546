"""The offline check of notifications: compares the answers to callers, the messages at the providers and the rows of the project.

N1 every acknowledged send exists, and every send has ended; N2 a send has a final row for every device, and its counters match the rows; N3 a
message that is recorded as delivered has arrived, and all messages of a send have one id; N4 a tap starts its workflow once; N5 no request
was sent that a provider does not accept.
"""
import collections
import json
import pathlib


class PushCheck:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.data = json.loads((folder / "pushes.json").read_text())
        self.db = json.loads((folder / "database.json").read_text())
        self.states = collections.defaultdict(set)
        for line in (folder / "clients.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["what"] in ("notify", "tap"):
                self.states[entry["what"], entry["mark"]].add(entry["state"])
        self.arrived = collections.defaultdict(set)  # (device's token, mark) -> ids
        for token, mark, number in self.data["arrived"]:
            self.arrived[token, mark].add(number)
        self.found = []

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    def sends(self):
        """N1"""
        by_mark = collections.Counter(each["mark"] for each in self.data["sends"])
        for (what, mark), states in self.states.items():
            if "wrong" in states:
                self.say("N1", f"{what} {mark} was answered wrong")
            if what == "notify" and (by_mark[mark] > 1 or "acked" in states and by_mark[mark] != 1):
                self.say("N1", f"{mark} was acknowledged and is there {by_mark[mark]} times")
        for each in self.data["sends"]:
            if not each["ended"]:
                self.say("N1", f"send {each['id']} has not ended: {each['status']}")

    def rows(self):
        """N2"""
        states = collections.defaultdict(collections.Counter)
        for each in self.data["deliveries"]:
            states[each["send_id"]][each["status"]] += 1
        for each in self.data["sends"]:
            seen = states[each["id"]]
            if sum(seen.values()) != len(self.data["devices"]) or each["targets"] != len(self.data["devices"]):
                self.say("N2", f"send {each['id']} has {sum(seen.values())} rows and {each['targets']} targets of "
                               f"{len(self.data['devices'])} devices")
            if seen["pending"]:
                self.say("N2", f"send {each['id']} has {seen['pending']} pending rows")
            for state in ("delivered", "failed", "unregistered"):
                if seen[state] != each[state]:
                    self.say("N2", f"send {each['id']} counts {each[state]} {state}, {seen[state]} rows say so")

    def arrivals(self):
        """N3"""
        marks = {each["id"]: each["mark"] for each in self.data["sends"]}
        for each in self.data["deliveries"]:
            token, mark = self.data["devices"].get(str(each["target_id"])), marks.get(each["send_id"])
            if each["status"] == "delivered" and not self.arrived[token, mark]:
                self.say("N3", f"send {each['send_id']} was not delivered to {token} as it says")
        numbers = collections.defaultdict(set)
        for (_, mark), ids in self.arrived.items():
            numbers[mark] |= ids
        for mark, ids in numbers.items():
            if len(ids) > 1:
                self.say("N3", f"{mark} arrived with {len(ids)} ids")
        for mark in numbers.keys() - set(marks.values()):
            self.say("N3", f"{mark} arrived and was not sent")

    def taps(self):
        """N4"""
        jobs = collections.Counter(f"{job['trigger_data']['notification_id']}:{job['trigger_data']['action_id']}"
                                   for job in self.db["jobs"] if job["workflow_id"] == self.db["flows"]["tapped"])
        for (what, mark), states in self.states.items():
            if what == "tap" and (jobs[mark] > 1 or "acked" in states and jobs[mark] != 1):
                self.say("N4", f"tap {mark} was acknowledged and started {jobs[mark]} jobs")
        for mark in jobs.keys() - {mark for what, mark in self.states if what == "tap"}:
            self.say("N4", f"nobody tapped {mark}, which started a job")

    def check(self):
        self.sends()
        self.rows()
        self.arrivals()
        self.taps()
        for violation in self.data["violations"]:
            self.say("N5", str(violation)[:300])
        return self.found


def check(folder):
    return PushCheck(folder).check()

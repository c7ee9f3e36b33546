"""The offline check: compares the answers that clients received with the database and with the calls that the sink received.

    check(folder) -> list of violations; reads clients.jsonl, database.json and sink.json of a finished run.

I1 an acknowledged write is in the database, and there is no write that no client sent; I2 one job per event and workflow, and per
minute; I3 a CreateData step that succeeded created one record, any other at most one, a bulk create all or none; I5 no call was sent
twice, and the call of a successful step was sent; every job ended, with an outcome; a chain of workflows was stopped.
"""
import collections
import datetime
import json
import pathlib

BULK = 20
FINAL = {"succeeded", "failed", "cancelled", "skipped"}
DEPTH_MAX = 8


def load(folder):
    folder = pathlib.Path(folder)
    lines = [json.loads(line) for line in (folder / "clients.jsonl").read_text().splitlines()]
    return lines, json.loads((folder / "database.json").read_text()), json.loads((folder / "sink.json").read_text())


class Check:
    def __init__(self, folder):
        self.lines, self.db, self.sink = load(folder)
        self.found = []
        self.states = collections.defaultdict(set)  # (what, mark) -> states
        for line in self.lines:
            self.states[line["what"], line["mark"]].add(line["state"])
            if line["state"] == "wrong":
                self.say("client", f"{line['what']}: status {line['status']}: {line['text']}")
        self.jobs = collections.defaultdict(list)  # workflow name -> jobs
        names = {number: name for name, number in self.db["flows"].items()}
        for job in self.db["jobs"]:
            job["flow"] = names[job["workflow_id"]]
            self.jobs[job["flow"]].append(job)
        self.steps = {(step["job_id"], step["key"]): step for step in self.db["steps"]}
        self.step_counts = collections.Counter((step["job_id"], step["key"]) for step in self.db["steps"])
        self.calls = collections.Counter((call["job"]) for call in self.sink)

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    def marks_of(self, what, state=None):
        return {mark for (kind, mark), states in self.states.items() if kind == what and (state is None or state in states)}

    # --- I1 ---

    def check_writes(self):
        for what, entity in (("order", "orders"), ("echo", "echoes")):
            there = collections.Counter(row["mark"] for row in self.db[entity])
            for mark in self.marks_of(what, "acked"):
                if not there[mark]:
                    self.say("I1", f"{entity}: {mark} was acknowledged and is not there")
            for mark in there.keys() - self.marks_of(what):
                self.say("I1", f"{entity}: {mark} is there and nobody asked for it")
        for mark, count in collections.Counter(row["mark"] for row in self.db["orders"]).items():
            if count > 1:
                self.say("I1", f"orders: {mark} is there {count} times")
        for what in ("bulk", "branch"):
            started = collections.Counter((job["trigger_data"] or {}).get("mark") for job in self.jobs[what])
            for mark in self.marks_of(what, "acked"):
                if started[mark] != 1:
                    self.say("I1", f"{what}: {mark} was acknowledged and has {started[mark]} jobs")
            for mark, count in started.items():
                if count > 1 or mark not in self.marks_of(what):
                    self.say("I1", f"{what}: {mark} has {count} jobs, asked for {int(mark in self.marks_of(what))}")

    # --- I2 ---

    def check_jobs(self):
        for flow, entity in (("order", "orders"), ("echo", "echoes")):
            started = collections.Counter(job["trigger_id"] for job in self.jobs[flow])
            for row in self.db[entity]:
                if started[row["id"]] != 1:
                    self.say("I2", f"{entity} {row['id']} started {started[row['id']]} jobs of '{flow}'")
            for number in started.keys() - {row["id"] for row in self.db[entity]}:
                self.say("I2", f"a job of '{flow}' was started by {number}, which is not there")
        ticks = collections.Counter(job["trigger_at"] for job in self.jobs["tick"])
        for trigger_at, count in ticks.items():
            if count != 1:
                self.say("I2", f"tick {trigger_at} started {count} jobs")
        self.check_ticks(sorted(ticks))
        if self.db["pending"]:
            self.say("I2", f"{self.db['pending']} events were never taken")

    def check_ticks(self, ticks):
        """Each minute has a tick: ticks are skipped only after five minutes, and every fault is shorter."""
        moments = [datetime.datetime.fromisoformat(text.replace("+00", "+00:00")) for text in ticks]
        for at, text in zip(moments, ticks):
            if at.second or at.microsecond:
                self.say("I2", f"tick {text} is no full minute")
        for before, after in zip(moments, moments[1:]):
            if after - before > datetime.timedelta(minutes=1):
                self.say("I2", f"between the ticks {before} and {after} there are none")

    # --- I3 ---

    def check_effects(self):
        made = collections.Counter(row["job"] for row in self.db["results"])
        for job in self.jobs["order"]:
            saved = self.steps.get((job["id"], "save"))
            if saved and saved["status"] == "succeeded" and made[job["id"]] != 1:
                self.say("I3", f"job {job['id']}: its CreateData succeeded and made {made[job['id']]} records")
            if made[job["id"]] > 1 or (made[job["id"]] and (not saved or saved["status"] != "succeeded")):
                self.say("I3", f"job {job['id']}: made {made[job['id']]} records, step {saved and saved['status']}")
        for number in made.keys() - {job["id"] for job in self.jobs["order"]}:
            self.say("I3", f"job {number}: made {made[number]} records and is not there")
        rows = collections.Counter(row["mark"] for row in self.db["rows"])
        for job in self.jobs["bulk"]:
            saved = self.steps.get((job["id"], "save"))
            count = rows[job["trigger_data"]["mark"]]
            wanted = BULK if saved and saved["status"] == "succeeded" else 0
            if count != wanted:
                self.say("I3", f"job {job['id']}: bulk made {count} of {wanted} rows (step {saved and saved['status']})")
        for mark in rows.keys() - {job["trigger_data"]["mark"] for job in self.jobs["bulk"]}:
            self.say("I3", f"bulk {mark}: rows without a job")

    # --- I5 ---

    def check_calls(self):
        for job, count in self.calls.items():
            if count > 1:
                self.say("I5", f"job {job}: the sink was called {count} times")
        for flow, key in (("order", "call"), ("branch", "high")):
            for job in self.jobs[flow]:
                step = self.steps.get((job["id"], key))
                if step and step["status"] == "succeeded" and self.calls[job["id"]] != 1:
                    self.say("I5", f"job {job['id']}: its call succeeded and the sink saw {self.calls[job['id']]}")
                if not step and self.calls[job["id"]]:
                    self.say("I5", f"job {job['id']}: the sink was called and the history does not say so")
        for number in self.calls.keys() - {job["id"] for job in self.db["jobs"]}:
            self.say("I5", f"job {number}: the sink was called and there is no such job")

    # --- ends ---

    def check_ends(self):
        for job in self.db["jobs"]:
            if job["status"] not in FINAL or job["status"] == "cancelled":
                self.say("end", f"job {job['id']} of '{job['flow']}' is {job['status']}")
            if job["status"] in FINAL and job["leased"]:
                self.say("end", f"job {job['id']} of '{job['flow']}' is {job['status']} and has a lease")
            if job["status"] == "failed":
                self.explain_failure(job)
            if job["flow"] == "order" and job["status"] == "succeeded":
                for key in ("save", "call", "note"):
                    step = self.steps.get((job["id"], key))
                    if not step or step["status"] != "succeeded":
                        self.say("end", f"job {job['id']} succeeded, its step {key} is {step and step['status']}")
        for (number, key), count in self.step_counts.items():
            if count > 1:
                self.say("end", f"job {number}: step {key} is there {count} times")
        ended = {job["id"] for job in self.db["jobs"] if job["status"] in FINAL}
        for step in self.db["steps"]:
            if step["status"] == "sent" and step["job_id"] in ended:
                self.say("end", f"job {step['job_id']}: step {step['key']} is sent, and the job has ended")
        for job in self.jobs["echo"]:
            if job["depth"] >= DEPTH_MAX and (job["status"], job["reason"]) != ("skipped", "loop_guard"):
                self.say("L10", f"job {job['id']} at depth {job['depth']} is {job['status']}, {job['reason']}")
            if job["depth"] < DEPTH_MAX and job["status"] == "skipped":
                self.say("L10", f"job {job['id']} at depth {job['depth']} was skipped")

    def explain_failure(self, job):
        """A violation if a job failed for another reason than a killed or disconnected runner that could not know an outcome."""
        code = (job["error"] or {}).get("code")
        if code not in ("interrupted", "quarantined", "unreachable", "timeout"):
            self.say("end", f"job {job['id']} of '{job['flow']}' failed: {job['error']}")

    def run(self):
        self.check_writes()
        self.check_jobs()
        self.check_effects()
        self.check_calls()
        self.check_ends()
        return self.found


def check(folder):
    return Check(folder).run()


if __name__ == "__main__":
    import sys

    violations = check(sys.argv[1])
    print("\n".join(violations) or "no violation")
    sys.exit(1 if violations else 0)

"""The offline check of payments: compares the answers to payers, the charges of the processor, the rows of the project and the emitted events.

P1 no payer is charged twice; P2 the answer to a payer matches the charge; P3 every payment and subscription has the same state here as
at the processor; P4 each fact started each workflow that waits for it once; P5 every event was applied; P6 no request was sent that the
processor does not accept.
"""
import collections
import json
import pathlib

EVENT_CONDITIONS = {"opened": lambda status: True, "paid": lambda status: status == "succeeded", "unpaid": lambda status: status == "failed"}


class PaymentCheck:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        lines = [json.loads(line) for line in (folder / "clients.jsonl").read_text().splitlines()]
        self.db = json.loads((folder / "database.json").read_text())
        self.data = json.loads((folder / "payments.json").read_text())
        self.states = collections.defaultdict(set)
        for line in lines:
            if line["what"] in ("charge", "subscribe"):
                self.states[line["what"], line["mark"]].add(line["state"])
        self.found = []

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    def check_charges(self):
        """P1, P2"""
        by_mark = collections.Counter(each["metadata"]["mark"] for each in self.data["charges"] if "mark" in each["metadata"])
        for name in ("payment_intent", "key", "invoice"):
            for value, count in collections.Counter(each[name] for each in self.data["charges"] if each[name]).items():
                if count > 1:
                    self.say("P1", f"{name} {value} was charged {count} times")
        for (what, mark), states in self.states.items():
            count = by_mark[mark]
            if what != "charge":
                continue
            if count > 1:
                self.say("P1", f"{mark} was charged {count} times")
            if "acked" in states and count != 1:
                self.say("P2", f"{mark} was answered that it paid, and was charged {count} times")
            if "refused" in states and count:
                self.say("P2", f"{mark} was refused and charged")
            if "open" in states:
                self.say("P2", f"{mark} never learned how it ended")
        for mark in by_mark.keys() - {mark for _, mark in self.states}:
            self.say("P1", f"{mark} was charged and nobody asked for it")

    def check_states(self):
        """P3"""
        intents = collections.Counter(each["intent_id"] for each in self.data["payments"] if each["intent_id"])
        for each in self.data["charges"]:
            if intents[each["payment_intent"]] != 1:
                self.say("P3", f"{each['payment_intent']} was charged and has {intents[each['payment_intent']]} payments here")
        for each in self.data["payments"]:
            there = self.data["intents"].get(each["intent_id"])
            ended = {"succeeded": "succeeded", "requires_payment_method": "failed"}.get(there)
            if each["call_key"]:
                self.say("P3", f"payment {each['id']}: what became of its call is not known")
            if ended and each["status"] != ended:
                self.say("P3", f"payment {each['id']} is {each['status']} here and {there} there")
            if each["status"] == "succeeded" and there != "succeeded":
                self.say("P3", f"payment {each['id']} succeeded here and is {there} there")
        rows = {each["provider_subscription_id"]: each for each in self.data["subscriptions"] if each["provider_subscription_id"]}
        for each in self.data["sold"]:
            row = rows.pop(each["id"], None)
            if row is None or row["status"] != each["status"]:
                self.say("P3", f"{each['id']} is {each['status']} there and {row and row['status']} here")
        for id_ in rows:
            self.say("P3", f"{id_} is here and not there")
        marks = collections.Counter(each["metadata"].get("mark") for each in self.data["subscriptions"])
        for (what, mark), states in self.states.items():
            if what == "subscribe" and "acked" in states and marks[mark] != 1:
                self.say("P3", f"{mark} subscribed and has {marks[mark]} subscriptions")

    def check_events(self):
        """P4"""
        jobs = collections.defaultdict(collections.Counter)
        names = {number: name for name, number in self.db["flows"].items()}
        for job in self.db["jobs"]:
            jobs[names[job["workflow_id"]]][(job["trigger_data"] or {}).get("id")] += 1
        for name, due in EVENT_CONDITIONS.items():
            for each in self.data["payments"]:
                self.check_count(name, jobs[name], each, each["intent_id"] is not None and due(each["status"]))
        for name in ("joined", "active"):
            for each in self.data["subscriptions"]:
                known = each["provider_subscription_id"] is not None
                self.check_count(name, jobs[name], each, known and (name == "joined" or each["status"] == "active"))

    def check_count(self, name, jobs, row, due):
        # A failed payment may succeed later; the event of a mere request may have been emitted or not.
        least, most = int(due), 1
        if not least <= jobs[row["id"]] <= most:
            self.say("P4", f"'{name}' was started {jobs[row['id']]} times for {row['id']} ({row['status']})")

    def run(self):
        self.check_charges()
        self.check_states()
        self.check_events()
        for each in self.data["events"]:
            if each["state"] not in ("applied", "ignored", "unsupported"):
                self.say("P5", f"{each['type']} is {each['state']}: {each['error']}")
        for each in self.data["violations"]:
            self.say("P6", str(each)[:500])
        return self.found


def check(folder):
    return PaymentCheck(folder).run()


if __name__ == "__main__":
    import sys

    violations = check(sys.argv[1])
    print("\n".join(violations) or "no violation")
    sys.exit(1 if violations else 0)

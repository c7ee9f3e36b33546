"""The offline check of the search index: postings are forward lists, forward lists are records.

S1 no record waits to be indexed, and one generation is live; S2 an acknowledged note exists, a note whose deletion was acknowledged does not, and
no answer was wrong; S3 the leaves of each posting list are linked, and all posting lists together equal the forward lists; S4 each forward list
matches its record: its words, the words of its shelf, its owner and its grantees.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))

from groundwork.postings import forward_pairs, leaf_ids, words  # noqa: E402


class SearchCheck:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.data = json.loads((folder / "searches.json").read_text())
        self.entries = [json.loads(line) for line in (folder / "clients.jsonl").read_text().splitlines()]
        self.found = []

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    def rest(self):
        """S1"""
        live = [each for each in self.data["indexes"] if each["state"] == "live"]
        if self.data["pending"] or len(live) != 1:
            self.say("S1", f"{self.data['pending']} things are left to do, {len(live)} generations are live: {self.data['indexes']}")
        for each in live:
            if each["documents"] != len(self.data["docs"]):
                self.say("S1", f"{each['documents']} documents are counted, {len(self.data['docs'])} are there")

    def answers(self):
        """S2"""
        there = {note["mark"]: note["id"] for note in self.data["notes"]}
        asked = {entry["mark"] for entry in self.entries if entry["what"] == "remove"}
        for entry in self.entries:
            if entry["what"] in ("note", "change", "remove", "grant", "shelf") and entry["state"] == "wrong":
                self.say("S2", f"{entry['what']} {entry['mark']} was answered wrong: {entry.get('status')}")
            if entry["what"] == "note" and entry["state"] == "acked" and entry["mark"] not in there and str(entry["id"]) not in asked:
                self.say("S2", f"note {entry['mark']} was acknowledged and is not there")
            if entry["what"] == "remove" and entry["state"] == "acked" and int(entry["mark"]) in there.values():
                self.say("S2", f"note {entry['mark']} was removed and is there")

    def lists(self):
        """S3"""
        found, before = {}, None
        for leaf in self.data["leaves"]:
            key, ids = (leaf["term_id"], leaf["field"]), leaf_ids(leaf["base"], bytes.fromhex(leaf["docs"]))
            if len(ids) != leaf["n"] or ids != sorted(set(ids)) or not ids or ids[0] < leaf["base"]:
                self.say("S3", f"a leaf of {key} says {leaf['n']} and has {len(ids)} ids from {leaf['base']}")
            if before and before[0] == key and before[1] >= leaf["base"]:
                self.say("S3", f"leaves of {key} overlap at {leaf['base']}")
            before = (key, ids[-1] if ids else leaf["base"])
            for record in ids:
                found.setdefault(record, set()).add(key)
        for doc in self.data["docs"]:
            pairs, have = forward_pairs(bytes.fromhex(doc["terms"])), found.pop(doc["record_id"], set())
            if pairs != have:
                self.say("S3", f"record {doc['record_id']}: lists and forward list differ by {sorted(pairs ^ have)[:5]}")
        if found:
            self.say("S3", f"lists have records without a document: {sorted(found)[:5]}")

    def records(self):
        """S4"""
        live = next((each for each in self.data["indexes"] if each["state"] == "live"), None)
        docs = {doc["record_id"]: forward_pairs(bytes.fromhex(doc["terms"])) for doc in self.data["docs"]}
        if not live:
            return
        for note in self.data["notes"]:
            wanted = {(f"@o{note['owner']}", 0)} if note["owner"] else set()
            wanted |= {("@" + "?ugr"[grant["kind"]] + str(grant["grantee_id"]), 0) for grant in self.data["grants"]
                       if grant["record_id"] == note["id"]}
            for name, field in zip(("title", "body", "shelf"), self.data["fields"]):
                wanted |= {(word, live["field_ids"].index(field) + 1) for word in words(note[name] or "")}
            have = {(self.data["terms"].get(str(term), f"?{term}"), field) for term, field in docs.pop(note["id"], set())}
            if wanted != have:
                self.say("S4", f"note {note['id']}: {sorted(wanted ^ have)[:5]}")
        if docs:
            self.say("S4", f"documents without a note: {sorted(docs)[:5]}")


def check(folder):
    one = SearchCheck(folder)
    for part in (one.rest, one.answers, one.lists, one.records):
        part()
    return one.found

"""The offline check of files: compares the answers to callers, the ledger and the contents of the store.

F1 an acknowledged file exists with the same bytes, unless its deletion was requested; a file whose deletion was acknowledged does not exist, and
no answer was wrong; F2 each row has its bytes, with their SHA-256; F3 all other bytes in the store belong to an upload that can be resumed; F4 the
totals are the sums of the rows; F5 a file of a record belongs to no other record.
"""
import json
import pathlib

OPERATIONS = ("file", "unlink", "read", "cover")


class UploadCheck:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.data = json.loads((folder / "uploads.json").read_text())
        self.entries = [json.loads(line) for line in (folder / "clients.jsonl").read_text().splitlines()]
        self.entries = [entry for entry in self.entries if entry["what"] in OPERATIONS]
        self.found = []

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    def answers(self):
        """F1"""
        there = {row["id"]: row for row in self.data["files"]}
        asked = {int(entry["mark"]) for entry in self.entries if entry["what"] in ("unlink", "cover")}
        for entry in self.entries:
            if entry["state"] == "wrong":
                self.say("F1", f"{entry['what']} {entry['mark']} was answered wrong: {entry.get('status')}")
            if entry["what"] == "file" and entry["state"] == "acked" and entry["id"] not in asked:
                row = there.get(entry["id"])
                if not row or (row["sha256"], row["size"]) != (entry["sha256"], entry["size"]):
                    self.say("F1", f"file {entry['id']} was acknowledged and is {'another' if row else 'not there'}")
            if entry["what"] == "unlink" and entry["state"] == "acked" and int(entry["mark"]) in there:
                self.say("F1", f"file {entry['mark']} was deleted and is there")

    def rows(self):
        """F2"""
        for row in self.data["files"]:
            have = self.data["stored"].get(row["key"])
            if not have or have != [row["size"], row["sha256"]]:
                self.say("F2", f"file {row['id']} has {'other' if have else 'no'} bytes")

    def rest(self):
        """F3"""
        parts = {part["key"] for part in self.data["parts"]}
        for key in self.data["stored"].keys() - {row["key"] for row in self.data["files"]} - parts:
            self.say("F3", f"{key} lies in the store and is no file")
        for part in self.data["parts"]:
            have = self.data["stored"].get(part["key"])
            if not have or have[0] != part["size"]:
                self.say("F3", f"part {part['key']} of an upload has {have[0] if have else 'no'} bytes")
        for row in self.data["garbage"]:
            if row["key"] not in parts:
                self.say("F3", f"{row['key']} is waiting for its removal")

    def totals(self):
        """F4"""
        sums = {"bytes": sum(row["size"] for row in self.data["files"]), "files": len(self.data["files"])}
        if self.data["totals"] != sums:
            self.say("F4", f"totals are {self.data['totals']}, the rows' {sums}")

    def records(self):
        """F5"""
        of = {row["id"]: row["record_id"] for row in self.data["files"]}
        named = {each["cover"]: each["id"] for each in self.data["covers"] if each["cover"]}
        for cover, record in named.items():
            if of.get(cover) != record:
                self.say("F5", f"record {record} names file {cover}, which is of {of.get(cover, 'nobody, as it is gone')}")
        for number, record in of.items():
            if record is not None and named.get(number) != record:
                self.say("F5", f"file {number} is of record {record}, which does not name it")


def check(folder):
    one = UploadCheck(folder)
    for part in (one.answers, one.rows, one.rest, one.totals, one.records):
        part()
    return one.found

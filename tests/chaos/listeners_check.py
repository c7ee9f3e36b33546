"""The offline check of live changes: compares the events that each listener received with the changes that the listener may see according to the
log, the records and the grants.

E1 answers to writers are true, and each change of a record is in the log once; E2 no event that a listener may see is missing, up to its
position; E3 no event is received twice and no position is used twice; E4 a listener receives no record, value or field that it may not see; E5
events of a record arrive in order; E6 a listener must read again, is refused or is disconnected only for a reason, and has received all events
at the end; V1 a view that is refreshed after changes equals its aggregate.

The check computes on its own which events a listener may see, from PostgreSQL's snapshots and the rows of the log.
"""
import collections
import json
import pathlib

CREATED, UPDATED, DELETED, GRANTED, AGAIN = 1, 2, 3, 4, 5
FIELDS = ("mark", "lane", "n", "note")
SYSTEM = {"id", "version", "created_at", "updated_at", "created_by"}
EVENT_KINDS = ("created", "updated", "deleted")
LINE = ("parcel", "parcels", "move", "show", "unload", "model", "rights")
TEMPORARY_STATUSES = {429, 502, 503, 504}  # statuses of a gateway whose servers are not available


class Position:
    """A position in the log, as `since` or `since~upto~behind`. Before it are a number, which identifies what the listener may see, and a point."""

    def __init__(self, text):
        text = text.partition(".")[2]
        since, _, rest = text.partition("~")
        upto, _, behind = rest.partition("~")
        self.since, self.upto, self.behind = self.snapshot(since), self.snapshot(upto) if upto else None, int(behind or 0)

    @staticmethod
    def snapshot(text):
        low, high, running = text.split(":")
        return int(low), int(high), {int(each) for each in running.split(",") if each}

    @staticmethod
    def has(snapshot, xid):
        low, high, running = snapshot
        return xid < low or (xid < high and xid not in running)

    def covers(self, row):
        if self.has(self.since, row["xid"]):
            return True
        return self.upto is not None and self.has(self.upto, row["xid"]) and row["seq"] <= self.behind


class History:
    """The changes of all records, each with the record before and after it."""

    def __init__(self, data):
        self.columns = {name: data["columns"][name] for name in FIELDS}
        self.now = {row["id"]: row for row in data["records"]}
        self.granted = {row["record_id"]: set(row["grants"]) for row in data["grants"]}
        self.rows = sorted(data["log"], key=lambda row: row["seq"])
        self.changes_of = collections.defaultdict(list)
        for row in self.rows:
            self.changes_of[row["record_id"]].append(row)
        for number, rows in self.changes_of.items():
            self.compute_images(number, rows)

    def values(self, image):
        return {"created_by": image["created_by"], "version": image["version"],
                **{name: image.get(column) for name, column in self.columns.items()}}

    def compute_images(self, number, rows):
        """Computes the records backwards: the result of a change is the record before the next change, of the last one the current record."""
        now = self.now.get(number)
        image = now and {"created_by": now["created_by"], "version": now["version"], **{name: now[name] for name in FIELDS}}
        grants = self.granted.get(number, set())
        for row in reversed(rows):
            row["after"], row["granted_after"] = None if row["kind"] == DELETED else image, grants
            if row["grants"] is not None:
                grants = set(row["grants"])
            if row["before"] is not None:
                image = self.values(row["before"])
            if row["kind"] == CREATED:
                image = None
            row["was"] = row["after"] if row["kind"] == GRANTED else image
            row["granted_before"] = grants


def sees(hearer, image, granted):
    if image is None or (hearer["least"] is not None and (image["n"] is None or image["n"] < hearer["least"])):
        return False
    return hearer["all"] or image["created_by"] == hearer["user"] or bool(granted & set(hearer["grantees"]))


def event_of(hearer, row):
    """(kind, visible values) of the event for a listener, or None when the listener gets no event."""
    before = sees(hearer, row["was"], row["granted_before"])
    after = sees(hearer, row["after"], row["granted_after"])
    same = row["kind"] == GRANTED or (row["was"] and row["after"] and row["was"]["version"] == row["after"]["version"])
    if before and not after:
        return "deleted", ()
    if not after or (before and same):
        return None
    return "updated" if before else "created", tuple(row["after"][name] for name in hearer["fields"])


class Segment:
    """The events received from one position on, without an interruption where the listener had to read all records again."""

    def __init__(self, start):
        self.start, self.end, self.until = start, start, float("inf")
        self.heard, self.positions = collections.defaultdict(list), collections.Counter()

    def has(self, row):
        return row["at"] < self.until and self.end.covers(row) and not self.start.covers(row)


class ListenerCheck:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.data = json.loads((folder / "listeners.json").read_text())
        self.entries = [json.loads(line) for line in (folder / "clients.jsonl").read_text().splitlines()]
        self.entries = [entry for entry in self.entries if entry["what"] in LINE]
        self.lines = collections.defaultdict(list)
        for text in (folder / "heard.jsonl").read_text().splitlines():
            line = json.loads(text)
            self.lines[line["mark"]].append(line)
        self.history = History(self.data)
        self.found = []

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    # --- E1 ---

    def answers(self):
        there = {row["mark"]: row["id"] for row in self.data["records"]}
        asked = {int(entry["mark"]) for entry in self.entries if entry["what"] == "unload"}
        for entry in self.entries:
            if entry["state"] == "wrong":
                self.say("E1", f"{entry['what']} {entry['mark']} was answered wrong: {entry.get('status')} {entry.get('text')}")
            if entry["what"] == "parcel" and entry["state"] == "acked" and entry["mark"] not in there and entry["id"] not in asked:
                self.say("E1", f"parcel {entry['mark']} was acknowledged and is not there")
            if entry["what"] == "unload" and entry["state"] == "acked" and int(entry["mark"]) in self.history.now:
                self.say("E1", f"parcel {entry['mark']} was removed and is there")

    def log(self):
        for number in self.history.now.keys() - self.history.changes_of.keys():
            self.say("E1", f"record {number} is there, and the log has never heard of it")
        for number, rows in self.history.changes_of.items():
            kinds = [row["kind"] for row in rows if row["kind"] != GRANTED]
            if kinds.count(CREATED) != 1 or kinds[0] != CREATED or DELETED in kinds[:-1] or AGAIN in kinds:
                self.say("E1", f"the log of record {number} is {kinds}")
            versions = [row["before"]["version"] for row in rows if row["before"]]
            if number in self.history.now:
                versions.append(self.history.now[number]["version"])
            if versions != list(range(1, len(versions) + 1)):
                self.say("E1", f"the log of record {number} has the versions {versions[:20]}")
            if (number in self.history.now) == (DELETED in kinds):
                self.say("E1", f"the log of record {number} is {kinds}, and it is {'' if number in self.history.now else 'not '}there")

    # --- E6, and the events after each position ---

    def check_invalid_position(self, name, line, got_at, before):
        """A position may become invalid only when PostgreSQL crashed after it: then transaction ids are assigned again."""
        crashed = [begin for begin, end in self.data["crashes"] if end > got_at and begin < line["at"]]
        if not crashed:
            self.say("E6", f"{name} was told to read all again at {line['position']}, and no server had crashed")
        if before:
            before.until = min(crashed, default=before.until)

    def segments(self, hearer):
        name, got_at, found = hearer["name"], 0, []
        model = any(entry["what"] == "model" for entry in self.entries)
        for line in self.lines[name]:
            kind, here = line["state"], line.get("position")
            if kind == "connected":
                got_at = line["got_at"]
                continue
            if kind in EVENT_KINDS and found:
                found[-1].heard[line["data"]["id"]].append(line)
                found[-1].positions[here] += 1
            elif kind == "reset" and line["data"]["entity"] is None and line["data"]["reason"] == "position":
                self.check_invalid_position(name, line, got_at, found[-1] if found else None)
                found.append(Segment(Position(here)))
            elif kind == "reset" and not (line["data"]["reason"] == "model" and model):
                self.say("E6", f"{name} was told to read again: {line['data']}")
            elif kind in ("closed", "end") and not (hearer["revoked"] and line["data"]["code"] == "forbidden"):
                self.say("E6", f"{name} was sent away: {line['data']}")
            elif kind == "refused" and line["status"] not in TEMPORARY_STATUSES and not (hearer["revoked"] and line["status"] == 403):
                self.say("E6", f"{name} was refused: {line['status']} {line.get('text')}")
            elif kind == "hello" and not found:
                found.append(Segment(Position(here)))
            if here and found:
                found[-1].end, got_at = Position(here), line["at"]
        if not self.lines[name] or self.lines[name][-1]["state"] != "over":
            self.say("E6", f"{name} has not heard the end")
        return found

    # --- E2 to E5 ---

    def event_content(self, hearer, line):
        """The content of the event in the form of event_of()."""
        if line["state"] == "deleted":
            return "deleted", ()
        record = line["data"]["record"]
        more = record.keys() - set(hearer["fields"]) - SYSTEM - {"extra"}
        if more or (hearer["name"] == "blind" and "extra" in record):
            self.say("E4", f"{hearer['name']} was shown {sorted(more) or 'extra'} of record {line['data']['id']}")
        return line["state"], tuple(record.get(name) for name in hearer["fields"])

    def compare(self, hearer, number, wanted, heard):
        name = hearer["name"]
        if wanted == heard:
            return
        need, have = collections.Counter(wanted), collections.Counter(heard)
        missing, more = need - have, have - need
        place = f"{name}, record {number}"
        for event in missing:
            self.say("E2", f"{place}: {event} was not heard")
        for event in more:
            self.say("E3" if need[event] else "E4", f"{place}: {event} was heard {have[event]} times, {need[event]} were to be heard")
        if not missing and not more:
            self.say("E5", f"{place}: {heard} was heard in place of {wanted}")

    def check_listener(self, hearer):
        for segment in self.segments(hearer):
            wanted = collections.defaultdict(list)
            for row in self.history.rows:
                event = event_of(hearer, row) if segment.has(row) else None
                if event:
                    wanted[row["record_id"]].append(event)
            for number in sorted(wanted.keys() | segment.heard.keys()):
                heard = [self.event_content(hearer, line) for line in segment.heard.get(number, [])]
                self.compare(hearer, number, wanted.get(number, []), heard)
            for position, count in segment.positions.items():
                if count > 1:
                    self.say("E3", f"{hearer['name']} was given the position {position} {count} times")

    def check_listeners(self):
        for hearer in self.data["hearers"]:
            self.check_listener(hearer)

    # --- V1 ---

    def view(self):
        wanted = {}
        for record in self.data["records"]:
            have = wanted.setdefault(record["lane"], [0, 0])
            have[0] += record["n"]
            have[1] += 1
        if self.data["view"] != wanted:
            self.say("V1", f"the view has {self.data['view']}, its records make {wanted}")


def check(folder):
    one = ListenerCheck(folder)
    for part in (one.answers, one.log, one.check_listeners, one.view):
        part()
    return one.found

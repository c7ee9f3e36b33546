"""A client of server-sent events: a thread reads the events and records when each arrived."""
import json
import queue
import threading
import time

from groundwork.deadline import allowed, until

WITHIN = 6  # seconds within which an event is certain to arrive


class Event:
    def __init__(self, kind, data, position):
        self.kind, self.data, self.position, self.at = kind, data, position, time.monotonic()

    def __repr__(self):
        return f"{self.kind} {self.data}"


class Stream:
    """Listens until close(); `ended` is set when the server has ended the stream."""

    def __init__(self, client, path="/realtime", position=None, hello=True, headers=None, **params):
        headers = dict(headers or {})
        if position:
            headers["Last-Event-ID"] = position
        self.response = client.get(path, params=params, headers=headers, stream=True, expect=200, timeout=(60, 120))
        assert self.response.headers["Content-Type"] == "text/event-stream"
        self.events, self.position, self.ended = queue.Queue(), position, threading.Event()
        self.before = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        if hello:
            self.hello()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self):
        kind, data = None, []
        try:
            for line in iter(self.response.raw._fp.readline, b""):
                line = line.decode().rstrip("\n")
                name, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if name == "id":
                    self.position = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    data.append(value)
                elif not line:
                    if data:
                        self.events.put(Event(kind, json.loads("\n".join(data)), self.position))
                    kind, data = None, []
        except Exception:  # the connection is gone, for any reason
            pass
        self.ended.set()

    def has_next(self, within=WITHIN):
        """Waits for an event; returns False when the server has ended the stream instead."""
        until(lambda: not self.events.empty() or self.ended.is_set(), "no event came", within, pause=0.005)
        return not self.events.empty()

    def next(self, kind=None, within=WITHIN):
        assert self.has_next(within), "the stream ended"
        event = self.events.get()
        assert kind in (None, event.kind), f"{event} in place of {kind}"
        return event

    def hello(self):
        """Waits for the event hello, puts earlier events into `before`, and returns the stream."""
        while (event := self.next()).kind != "hello":
            self.before.append(event)
        return self

    def until(self, last, within=WITHIN):
        """Returns all events up to and including the first for which `last` is true."""
        end, found = time.monotonic() + allowed(within), []
        while not found or not last(found[-1]):
            assert time.monotonic() < end, found[-1:]
            found.append(self.next(within=within))
        return found

    def close(self):
        raw = self.response.raw
        try:
            raw._fp.fp.raw._sock.shutdown(2)
        except Exception:
            pass
        self.response.close()
        self.thread.join(5)


def event_ids(events):
    return [(event.kind, event.data.get("id")) for event in events]

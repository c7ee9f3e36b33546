"""Fixtures that the tests of live changes share."""
import itertools

import pytest
from stream import Stream

_names = itertools.count(1)


@pytest.fixture(scope="module")
def live_project(shared_project):
    """The file's project, which has had a listener already: the first listener waits until all gateways know of it."""
    shared_project.entity("orders", [
        {"name": "name", "type": "varchar"}, {"name": "total", "type": "integer"}, {"name": "note", "type": "text"},
    ])
    shared_project.admin.put("/", {"settings": {"rate_sign_in_address": 1000}}, expect=200)
    with Stream(shared_project.admin, entities="orders"):
        pass
    return shared_project


@pytest.fixture
def listen():
    """listen(client, entities="orders") returns a stream that is closed at the end of the test."""
    streams = []

    def start(client, **options):
        options.setdefault("entities", "orders")
        streams.append(Stream(client, **options))
        return streams[-1]

    yield start
    for stream in streams:
        stream.close()


@pytest.fixture
def mark(live_project):
    """mark(*streams) makes a record and returns, for each stream, the events before that record's event."""
    def fence(*streams):
        name = f"fence {next(_names)}"
        made = live_project.item("orders", name=name)
        return [stream.until(lambda event: (event.data["entity"], event.data.get("id")) == ("orders", made["id"]))[:-1] for stream in streams]
    return fence

"""scripts/streams: what it shows of the streams between the services, and how it handles dead letters."""
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "streams"
# An envelope: event.pending of project 1 (see tests/unit/test_bus_wire.c).
ENVELOPE = bytes.fromhex("10011a0d6576656e742e70656e64696e672080c8e2e1c133")
TOPIC = "pay"  # no daemon of these tests reads it


def clear(client):
    """Deletes the topic's streams: daemons of other files leave their groups."""
    for key in client.scan_iter(TOPIC + ":*"):
        client.delete(key)


@pytest.fixture
def redis(servers):
    client = servers.redis_client()
    clear(client)
    yield client
    clear(client)
    client.close()


@pytest.fixture
def streams(servers, redis):
    def run(*words, ok=True):
        done = subprocess.run(
            [sys.executable, SCRIPT, "--url", servers.redis_url, *words], capture_output=True, text=True)
        assert (done.returncode == 0) == ok, done.stderr
        return done.stdout if ok else done.stderr

    return run


def row(text, *first):
    return next(line.split() for line in text.splitlines() if line.split()[:len(first)] == list(first))


def dead_letter(redis, partition, **fields):
    letter = redis.xadd(f"{TOPIC}:dead:{{p{partition}}}", {
        "reason": "delivered too often", "id": "1-1", "group": "tests", "deliveries": "11", **fields})
    return f"p{partition}/{letter.decode()}"


def test_shows_what_waits(redis, streams):
    assert row(streams("show", TOPIC), TOPIC)[1:3] == ["(no", "group)"]
    for partition in (0, 3):
        for _ in range(5):
            redis.xadd(f"{TOPIC}:{{p{partition}}}", {"e": ENVELOPE})
        redis.xgroup_create(f"{TOPIC}:{{p{partition}}}", "tests", "0")
    redis.xreadgroup("tests", "me", {TOPIC + ":{p3}": ">"}, count=2)
    dead_letter(redis, 3, e=ENVELOPE)
    found = row(streams(TOPIC), TOPIC)
    assert found[:6] == [TOPIC, "tests", "10", "1", "8", "2"] and found[-2:] == ["s", "1"], found
    assert row(streams("consumers", TOPIC), TOPIC)[1:5] == ["tests", "me", "1", "2"]
    assert row(streams(), "evt")  # all topics


def test_decodes_dead_letters_and_puts_them_back(redis, streams):
    good = dead_letter(redis, 1, e=ENVELOPE)
    other = dead_letter(redis, 2, e=ENVELOPE)
    dead_letter(redis, 2, e=b"\xff\x00nonsense")
    dead_letter(redis, 15, project="7")
    listed = streams("dead", TOPIC)
    assert "kind event.pending" in listed and "project 1" in listed and "tests: delivered too often (11 deliveries)" in listed
    assert "nonsense" in listed and "4 dead letters" in listed
    assert "1 put back" in streams("redrive", TOPIC, good)
    assert redis.xrange(TOPIC + ":{p1}")[0][1] == {b"e": ENVELOPE} and redis.xlen(TOPIC + ":dead:{p1}") == 0
    assert "1 put back, 2 left because they are no envelopes" in streams("redrive", TOPIC)
    assert redis.xlen(TOPIC + ":{p2}") == 1 and redis.xlen(TOPIC + ":dead:{p2}") == 1
    assert "0 dropped" in streams("drop", TOPIC, other)
    assert "2 dropped" in streams("drop", TOPIC)
    assert "0 dead letters" in streams("dead", TOPIC)


def test_removes_a_group_that_nobody_reads_for(redis, streams):
    redis.xadd(TOPIC + ":{p4}", {"e": ENVELOPE})
    redis.xgroup_create(TOPIC + ":{p4}", "gone", "0")
    assert "removed from 1 partitions" in streams("drop-group", TOPIC, "gone")
    assert not redis.exists(TOPIC + ":{p4}"), "a stream without groups is never trimmed, but was kept"
    redis.xadd(TOPIC + ":{p4}", {"e": ENVELOPE})
    redis.xgroup_create(TOPIC + ":{p4}", "stays", "0")
    redis.xgroup_create(TOPIC + ":{p4}", "goes", "0")
    streams("drop-group", TOPIC, "goes")
    assert [group["name"] for group in redis.xinfo_groups(TOPIC + ":{p4}")] == [b"stays"] and redis.xlen(TOPIC + ":{p4}") == 1
    redis.xgroup_create(TOPIC + ":{p4}", "here", "0")
    redis.xreadgroup("here", "me", {TOPIC + ":{p4}": ">"})
    assert "somebody reads" in streams("drop-group", TOPIC, "here", ok=False)


def test_says_what_it_does_not_understand(streams, servers):
    assert "no topic nonsense" in streams("dead", "nonsense", ok=False)
    assert "--help" in streams("destroy", TOPIC, ok=False)
    assert "--help" in streams("redrive", ok=False)
    assert "error:" in streams("--url", "unix:/nowhere/at/all", "show", ok=False)
    assert "error:" in streams("--url", "http://example.com", "show", ok=False)

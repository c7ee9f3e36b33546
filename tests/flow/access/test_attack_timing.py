"""T8, T9: the duration of an answer does not reveal which accounts exist or how much of a key was right. A machine with other
load hides the differences: make check-load measures durations, and make test counts the work for each answer
(test_attack_work.py).

Each test times two kinds of request in pairs, in random order, over one connection to a worker without other load, so that
other load on the machine affects both kinds alike. The differences are ranked (Wilcoxon's signed-rank test), so outliers and
drift do not matter. Without a difference the statistic is a standard normal number, which exceeds 4.5 once in 150,000 runs.
The same samples also yield the smallest visible delay: the smallest delay that, added to one side, would have failed the test.
This delay must be shorter than a forgotten hash would save. While the noise of a busy machine makes the delay longer, the test
takes more pairs and judges all of them together.

ATTACK_FULL=1 takes as many samples as the attack catalogue requires.
"""
import http.client
import itertools
import json
import math
import os
import random
import statistics
import time

import pytest

from groundwork.client import Client
from groundwork.project import ADMIN_EMAIL, Project
from groundwork.webhooks import Hooks, event, sign

pytestmark = pytest.mark.slow

LIMIT = 4.5
FULL = bool(os.environ.get("ATTACK_FULL"))
RATES = {"rate_sign_in_address": 1000000, "rate_sign_in_account": 1000000, "rate_read": 1000000}


def signed_ranks(differences):
    """Wilcoxon's statistic as a standard normal number; positive when most differences are."""
    ranked = sorted((difference for difference in differences if difference), key=abs)
    count = len(ranked)
    positive = sum(rank for rank, difference in enumerate(ranked, 1) if difference > 0)
    mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
    return (positive - mean) / math.sqrt(variance)


def smallest_visible(differences):
    """The smallest delay in seconds on one side that the test would have noticed, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        seen = min(abs(signed_ranks([d + sign * middle for d in differences])) for sign in (1, -1)) > LIMIT
        low, high = (low, middle) if seen else (middle, high)
    return high


class Timer:
    """Times requests on one connection."""

    def __init__(self, project):
        self.project = project
        self.connection = http.client.HTTPConnection("127.0.0.1", project.gateway.port, timeout=60)

    def __call__(self, method, path, status, body=None, headers=()):
        data = json.dumps(body) if body is not None else None
        fields = {"Content-Type": "application/json", **dict(headers)} if data else dict(headers)
        begun = time.perf_counter()
        self.connection.request(method, f"/org/{self.project.id}{path}", data, fields)
        answer = self.connection.getresponse()
        answer.read()
        taken = time.perf_counter() - begun
        assert answer.status == status
        return taken


def a_hash(typical):
    """Most of the time of hashing a password: half the typical duration of an answer that includes one hash."""
    return typical / 2


def some_milliseconds(_typical):
    """The time of one additional statement on a busy machine."""
    return 0.005


def compare(pairs, one, other, wanted):
    """Asserts that neither call is slower than the other. Takes `pairs` samples, and again as many, at most four times in all,
    until a delay of wanted(typical seconds) would have been noticed."""
    dice = random.Random(20)
    for _ in range(5):
        one(), other()
    taken = []
    for _ in range(4):
        for _ in range(pairs):
            if dice.random() < 0.5:
                first = one()
                taken.append((first, other()))
            else:
                second = other()
                taken.append((one(), second))
        differences = [first - second for first, second in taken]
        visible, typical = smallest_visible(differences), statistics.median(first for first, _ in taken)
        if visible < wanted(typical):
            break
    score = signed_ranks(differences)
    found = (f"{len(taken)} pairs of {typical * 1e6:.0f} us, {statistics.median(differences) * 1e6:.0f} us apart, "
             f"score {score:.1f}, visible from {visible * 1e6:.0f} us")
    print(found)
    assert abs(score) < LIMIT, found
    assert visible < wanted(typical), f"too few samples: {found}"


@pytest.fixture(scope="module")
def timed_project(start_gateway, servers):
    """A project on a gateway without other clients."""
    gateway = start_gateway("timing", WORKERS=1)
    project = Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)
    project.admin.put("/", {"settings": RATES}, expect=200)
    yield project
    gateway.stop()


def sign_in(timer, email, password="wrong password"):
    return lambda: timer("POST", "/auth/v1/token", 401, {"email": email, "password": password})


@pytest.mark.full
def test_t8_unknown_and_known_accounts(timed_project):
    pairs = 10000 if FULL else 120
    timer = Timer(timed_project)
    compare(pairs, sign_in(timer, ADMIN_EMAIL), sign_in(timer, "nobod@example.org"), a_hash)


@pytest.mark.full
@pytest.mark.parametrize("path", ["/auth/v1/recover", "/auth/v1/magic-link"])
def test_t8_links_by_mail(timed_project, db, path):
    """Uses each address once: a minute allows only a few mails to one address, and about a hundred for a project."""
    each, pairs = 52, 151

    def timers():
        """Yields a Timer of a new project each time."""
        while True:
            project = Project(timed_project.gateway, timed_project.operator, None)
            project.admin.put("/", {"settings": {**RATES, "auth_page_url": "https://app.example.com/"}}, expect=200)
            with db.cursor() as cursor:
                cursor.execute(f"insert into {project.schema(db)}.users (email, email_confirmed_at)"
                               " select 'known' || n || '@example.org', now() from generate_series(1, 100) n")
            yield Timer(project)

    def ask(name, some):
        turns = ((timer, f"{name}{number}@example.org") for timer in some for number in range(1, each + 1))

        def once():
            timer, email = next(turns)
            return timer("POST", path, 202, {"email": email})
        return once

    compare(pairs, *(ask(name, some) for name, some in zip(("known", "nobod"), itertools.tee(timers()))), lambda typical: typical)


@pytest.mark.full
def test_t8_accounts_without_a_password(timed_project, db):
    with db.cursor() as cursor:
        cursor.execute(f"insert into {timed_project.schema(db)}.users (email, email_confirmed_at) values (%s, now())",
                       ("bare1@example.org",))
    timer = Timer(timed_project)
    compare(5000 if FULL else 100, sign_in(timer, "bare1@example.org"), sign_in(timer, "nobod@example.org"), a_hash)


def other_key(key, count):
    """A key of the same length and alphabet as `key`, equal only in the first `count` characters."""
    return key[:count] + "".join("A" if letter != "A" else "B" for letter in key[count:])


@pytest.mark.full
@pytest.mark.parametrize("right", [16, -1], ids=["sixteen", "all_but_one"])
def test_t9_keys_that_begin_right(timed_project, right):
    key = timed_project.key(["svc_users:read"]).key
    timer = Timer(timed_project)
    calls = [lambda wrong=other_key(key, count): timer("GET", "/users", 401, headers={"x-api-key": wrong})
             for count in (right, 3)]
    compare(10000 if FULL else 1200, *calls, some_milliseconds)


@pytest.mark.full
def test_t9_tokens_that_begin_right(timed_project):
    """The signature of an access token is wrong in its first or in its last byte."""
    head, signature = timed_project.admin.token.rsplit(".", 1)
    flipped = {"A": "Q", "Q": "A", "g": "w", "w": "g"}[signature[-1]]
    early, late = f"{head}.{other_key(signature, 0)[:1]}{signature[1:]}", f"{head}.{signature[:-1]}{flipped}"
    timer = Timer(timed_project)
    calls = [lambda wrong=token: timer("GET", "/users/me", 401, headers={"Authorization": f"Bearer {wrong}"})
             for token in (late, early)]
    compare(10000 if FULL else 1200, *calls, some_milliseconds)


@pytest.mark.full
def test_t9_operator_tokens_that_begin_right(timed_project, servers):
    token = servers.operator_token
    connection = http.client.HTTPConnection("127.0.0.1", timed_project.gateway.port, timeout=60)

    def ask(wrong):
        begun = time.perf_counter()
        connection.request("GET", "/org", headers={"Authorization": f"Bearer {wrong}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 401
        return time.perf_counter() - begun

    calls = [lambda wrong=other_key(token, count): ask(wrong) for count in (-1, 0)]
    compare(10000 if FULL else 1200, *calls, some_milliseconds)


def other_digit(value, at):
    """The hexadecimal digits with one changed."""
    digits = list(value)
    digits[at] = "0" if digits[at] != "0" else "1"
    return "".join(digits)


@pytest.mark.full
def test_t9_webhook_signatures_that_begin_right(timed_project, start_webhook, db):
    daemon = start_webhook(WORKERS=1)
    hooks = Hooks(timed_project, daemon, db)
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    body = json.dumps(event("customer.created", {"id": "cus_1"})).encode()
    head, value = sign(body, hooks.secret, int(time.time()) + 200).split(",v1=")

    def ask(wrong):
        fields = {"Stripe-Signature": f"{head},v1={wrong}", "Content-Type": "application/json"}
        begun = time.perf_counter()
        connection.request("POST", f"/webhooks/processor/{timed_project.id}", body, fields)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 400
        return time.perf_counter() - begun

    calls = [lambda wrong=other_digit(value, at): ask(wrong) for at in (-1, 0)]
    compare(10000 if FULL else 1200, *calls, some_milliseconds)
    assert hooks.count_stored() == 0


def test_the_statistic_sees_what_it_should():
    """The statistic of a busy machine's noise alone stays below the limit; with a fifth of a millisecond added to one side it
    exceeds the limit."""
    dice = random.Random(7)

    def noise():
        return abs(dice.gauss(0, 0.001)) + (dice.random() < 0.05) * dice.random() * 0.1

    same = [noise() - noise() for _ in range(1500)]
    assert abs(signed_ranks(same)) < LIMIT
    assert signed_ranks([difference + 0.0002 for difference in same]) > LIMIT
    assert smallest_visible(same) < 0.0003

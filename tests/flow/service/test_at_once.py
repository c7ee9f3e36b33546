"""Concurrent writes. For the writing routes that the gateway lists, every pair of routes (also a route with itself) is sent as
eight concurrent requests, four of each route, half of them to another record of the same entity. No answer is a 5xx, and none
is a 409 that the same requests one after another would not have caused.

All pairs take hours. Each run draws AT_ONCE_PAIRS of them with AT_ONCE_SEED (`make check-load`: all), after the pairs that
once failed."""
import concurrent.futures
import itertools
import os
import random
import threading
import time

import pytest
import requests

from groundwork.writers import PAY, WRITERS, World

FOLD = 8
# Routes whose concurrent requests are tested elsewhere, or that would end what the other requests need.
ELSEWHERE = {
    "POST /permissions/simulate",  # changes nothing
    # Routes that call a third-party API or token server: test_integrations, test_connections_oauth.
    "POST /integrations/{id}/operations/{name}/run", "POST /connections/{id}/authorize", "POST /connections/callback",
    "POST /ai/conversations/{id}/messages", "POST /ai/conversations/{id}/messages/{messageId}/cancel",  # test_assistant
    "POST /ai/conversations/{id}/messages/{messageId}/confirm",  # test_assistant_tools
    "POST /ai/v1/chat/completions",
    "POST /push/action-events",  # test_push_taps
    "POST /auth/v1/token", "POST /auth/v1/refresh", "POST /auth/v1/logout", "POST /auth/v1/google/callback",
    "POST /auth/v1/verify", "POST /auth/v1/email-change", "POST /auth/v1/email-change/confirm",  # test_mail_together
    "POST /tenant-domains/{id}/verify",
    "POST /files",  # test_files
    "POST /files/tus", "PUT /files/tus/{id}", "DELETE /files/tus/{id}",  # test_tus
    "POST /entities/{entity}/items/import", "POST /workflows/api/{route}", "POST /workflows/endpoint/{route}",
    # Routes that call a processor or a store: test_payments*, test_subscriptions* and test_store_* send concurrent requests.
    *(f"POST {PAY}/{path}" for path in (
        "processor-connect", "processor-connect/onboarding", "payments", "payments/charge-payment-method",
        "payments/payment-intent/{id}/confirm", "payments/payment-intent/{id}/capture", "payments/payment-intent/{id}/cancel",
        "payments/{id}/refund", "payment-methods/setup-intent", "subscriptions", "subscriptions/{id}/cancel",
        "subscriptions/{id}/resume", "webhook-events/{id}/replay", "iap-store/test-notification")),
    *(f"PUT {PAY}/{path}" for path in ("subscriptions/{id}", "subscriptions/{id}/users", "iap-store/credentials")),
    *(f"DELETE {PAY}/{path}" for path in ("payment-methods/{id}", "subscriptions/{id}/users/{user_id}")),
}
# A fresh project refuses these, because it has nothing to remove.
REFUSED = {
    "POST /workflows/jobs/{id}/retry",
    "DELETE /entities/{entity}/items/{id}/lock",
    "POST /users/{id}/send-confirmation",
    "DELETE /integrations/svcpay/processor-connect/credentials",
    "DELETE /integrations/svcpay/iap-store/credentials",
    "DELETE /push/credentials/web-push", "DELETE /push/credentials/{provider}", "DELETE /push/credentials/fcm",
    "POST /push/credentials/web-push/rotate", "PUT /push/credentials/fcm/device-source",
}
# Pairs that once failed.
FIRST = [
    ("PUT /entities/{entity}/items/{id}/rls-users", "PUT /entities/{entity}/items/{id}/rls-users"),
    ("PUT /entities/{entity}/items/{id}/rls-groups", "PUT /entities/{entity}/items/{id}/rls-groups"),
    ("PUT /entities/{entity}/items/{id}/rls-users", "PUT /entities/{entity}/items/{id}/rls-groups"),
    ("PUT /entities/{entity}/items/{id}/rls-users", "PUT /entities/{entity}/fields/{field}"),
    ("PUT /entities/{entity}/items/{id}/rls-groups", "POST /entities/{entity}/fields"),
    ("PUT /entities/{entity}/items/{id}/rls-users", "DELETE /entities/{entity}"),
    ("PUT /entities/{entity}/items/{id}/rls-groups", "DELETE /entities/{entity}/items/{id}"),
]


@pytest.fixture(scope="module")
def writers(session_gateway):
    listed = session_gateway.run("--list-routes")
    routes = [" ".join(line.split()[:2]) for line in listed.stdout.splitlines()]
    writing = [route for route in routes if not route.startswith("GET") and not route.split()[1].startswith("/org")]
    lacking = [route for route in writing if route not in WRITERS and route not in ELSEWHERE]
    assert not lacking, f"writing routes without a request in this file: {lacking}"
    assert set(WRITERS) <= set(writing), "requests without a route"
    return [route for route in writing if route in WRITERS]


@pytest.fixture(scope="module")
def project(shared_project, servers):
    limits = ("read", "write", "heavy", "sign_in_account", "sign_in_address")
    shared_project.admin.put("/", {"settings": {**{f"rate_{name}": 1000000 for name in limits},
                                                "auth_page_url": "https://app.example.com/"}}, expect=200)
    shared_project.servers = servers
    return shared_project


class Senders:
    """Eight callers, each with its own connection."""

    def __init__(self, project):
        self.project = project
        self.sessions = [requests.Session() for _ in range(FOLD)]
        for session in self.sessions:
            session.trust_env = False
            session.headers["Authorization"] = f"Bearer {project.admin.token}"
        self.pool = concurrent.futures.ThreadPoolExecutor(FOLD)

    def send(self, n, route, path, body, barrier=None):
        options = {} if body is None else {"json": body}
        if barrier:
            barrier.wait()
        answer = self.sessions[n].request(route.split()[0], self.project.base_url + path, timeout=60, **options)
        code = answer.json()["code"] if answer.status_code >= 400 else None
        return route, answer.status_code, code, answer.text

    def requests(self, world, routes):
        return [(n, route, *WRITERS[route](world, n)) for n, route in enumerate(routes)]

    def at_once(self, routes):
        barrier = threading.Barrier(FOLD)
        sent = self.requests(World(self.project), routes)
        return list(self.pool.map(lambda request: self.send(*request, barrier=barrier), sent))

    def one_by_one(self, routes):
        return [self.send(*request) for request in self.requests(World(self.project), routes)]


def orders(pair):
    """Orders in which the requests of a pair may be sent one after another."""
    one, other = pair
    yield [one] * (FOLD // 2) + [other] * (FOLD // 2)
    yield [other] * (FOLD // 2) + [one] * (FOLD // 2)
    yield [one, other] * (FOLD // 2)
    yield [other, one] * (FOLD // 2)


def wrong_answers(senders, pair):
    answers = senders.at_once([pair[n // 2 % 2] for n in range(FOLD)])
    wrong = [answer for answer in answers if answer[1] >= 500]
    conflicts = {answer[:3] for answer in answers if answer[1] == 409}
    for order in orders(pair):
        if conflicts:
            in_turn = senders.one_by_one(order)
            too_often = {answer[0] for answer in in_turn if answer[1] == 429}  # a project may create at most ten domains a minute
            conflicts = {each for each in conflicts - {answer[:3] for answer in in_turn} if each[0] not in too_often}
    return wrong + [answer for answer in answers if answer[:3] in conflicts]


def sample(writers):
    """Returns (pairs, the seed with which the pairs after FIRST were drawn)."""
    pairs = list(itertools.combinations_with_replacement(writers, 2))
    count = int(os.environ.get("AT_ONCE_PAIRS", len(pairs) if os.environ.get("ATTACK_FULL") else 100 if os.environ.get("TESTS_LONG") else 10))
    seed = int(os.environ.get("AT_ONCE_SEED", random.randrange(1000000)))
    rest = [pair for pair in pairs if pair not in FIRST]
    random.Random(seed).shuffle(rest)
    return (FIRST + rest)[:max(count, len(FIRST))], f"AT_ONCE_SEED={seed}"


def test_every_writer_works_alone(project, writers):
    """If a route failed alone, its pairs would prove nothing."""
    senders = Senders(project)
    wrong = []
    for route in writers:
        (answer,) = senders.one_by_one([route])
        if answer[1] >= 300 and route not in REFUSED:
            wrong.append(answer)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.slow
def test_no_pair_of_writers_fails_the_other(project, writers):
    senders = Senders(project)
    pairs, seed = sample(writers)
    end = time.monotonic() + float(os.environ.get("AT_ONCE_SECONDS", 36000 if os.environ.get("ATTACK_FULL") else 90))
    wrong = []
    for count, pair in enumerate(pairs):
        if count >= len(FIRST) and time.monotonic() > end:
            break
        wrong += [f"{' | '.join(pair)}: {answer}" for answer in wrong_answers(senders, pair)]
    assert not wrong, f"{seed}\n" + "\n".join(wrong)


READERS = ("", "/fields", "/fields/amount", "/items", "/items?count=false&sort=-amount", "/items/aggregate?count=*",
           "/items/export?format=jsonl", "/items/deleted", "/items/{}/history", "/items/{}", "/items/{}/rls-users", "/items/{}/rls-groups")


def test_no_reader_fails_beside_a_deletion(project):
    """A reader gets the record, or 404 once it is deleted, and never a 503."""
    senders = Senders(project)
    wrong = []
    for turn in range(12):
        world = World(project)
        entity, record = world["entity"], world["records"][0]
        paths = [f"/entities/{entity}{path.format(record)}" for path in READERS]
        done = threading.Event()

        def read(n):
            answers = []
            while not done.is_set() or len(answers) < 4:
                path = random.choice(paths)
                answers.append((path, senders.sessions[n].get(project.base_url + path, timeout=60)))
            return answers

        reading = [senders.pool.submit(read, n) for n in range(FOLD)]
        project.admin.delete(f"/entities/{entity}", expect=204)
        done.set()
        for each in reading:
            wrong += [f"{path}: {answer.status_code} {answer.text[:200]}" for path, answer in each.result()
                      if answer.status_code not in (200, 404)]
    assert not wrong, "\n".join(wrong)

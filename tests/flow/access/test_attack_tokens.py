"""T2: the service reads and calls no file, address or key that a token's header names.
T11 from many addresses: the service counts password guesses on an account for the account."""
import base64
import json
import os
import socket
import time

import pytest

from groundwork.client import Client
from groundwork.project import Project


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class Trap:
    """A server that must not be called; counts its calls."""

    def __init__(self):
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(16)
        self.url = f"http://127.0.0.1:{self.sock.getsockname()[1]}/keys"

    def calls(self):
        count = 0
        self.sock.settimeout(0.3)
        try:
            while True:
                self.sock.accept()[0].close()
                count += 1
        except TimeoutError:
            return count


def forged(token, **header):
    """The token with another header, and its signature unchanged."""
    head, claims, signature = token.split(".")
    known = json.loads(base64.urlsafe_b64decode(head + "=="))
    return f"{part({**known, **header})}.{claims}.{signature}"


def test_t2_nothing_is_fetched_or_read(project, tmp_path):
    trap, bait = Trap(), tmp_path / "key.pem"
    bait.write_text("-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQ==\n-----END PUBLIC KEY-----\n")
    os.utime(bait, (1000000000, time.time()))
    for header in (
        {"jku": trap.url}, {"x5u": trap.url}, {"kid": trap.url}, {"jwk": {"kty": "EC", "jku": trap.url}},
        {"jku": trap.url, "kid": "other"}, {"iss": trap.url.removesuffix("/keys")}, {"x5c": ["AAAA"], "x5u": trap.url},
        {"kid": str(bait)}, {"kid": f"../../../../..{bait}"}, {"kid": f"file://{bait}"}, {"jku": f"file://{bait}"},
        {"x5u": f"file://{bait}"},
    ):
        for token in (forged(project.admin.token, **header), forged(project.admin.token, alg="RS256", **header)):
            answer = project.client(token=token).get("/users/me", expect=401)
            assert answer.json()["code"] == "token_invalid"
    assert trap.calls() == 0
    assert bait.stat().st_atime == 1000000000, "the file was read"


@pytest.fixture
def behind_proxy(start_gateway, servers):
    gateway = start_gateway("many_addresses", WORKERS=1, TRUSTED_PROXIES="127.0.0.1")
    project = Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)
    yield project
    gateway.stop()


def guess(project, email, address, password="a wrong guess"):
    return project.client().post("/auth/v1/token", {"email": email, "password": password},
                                 headers={"X-Forwarded-For": address}).status_code


def minutes_since(begun):
    """An upper bound of the number of one-minute windows since `begun`."""
    return 2 + (time.monotonic() - begun) // 60


def test_t11_guesses_on_one_account_from_everywhere(behind_proxy):
    """Each guess on one account comes from another address: ten per minute are checked. A sign-in with another account is not
    affected."""
    email = behind_proxy.admin.user["email"]
    begun = time.monotonic()
    statuses = [guess(behind_proxy, email, f"203.0.{n >> 8}.{n & 255}") for n in range(300)]
    assert set(statuses) == {401, 429} and statuses.count(401) <= 12 * minutes_since(begun), statuses.count(401)
    assert statuses[-20:].count(429) >= 8
    assert guess(behind_proxy, "somebody@example.org", "203.0.200.1") == 401


def test_a_refused_sign_in_says_when_to_come_back(behind_proxy):
    """Retry-After of a refused sign-in ends a minute after the first guess, within two seconds."""
    body = {"email": "nobody@example.org", "password": "a wrong guess"}
    times, refused = [], 0
    for n in range(24):
        begun = time.monotonic()
        answer = behind_proxy.client().post("/auth/v1/token", body, headers={"X-Forwarded-For": f"203.0.113.{n}"})
        times.append((begun, time.monotonic()))
        if times[-1][1] - times[0][0] > 55:
            break  # a new minute may have begun
        if answer.status_code != 429:
            continue
        refused += 1
        wait = int(answer.headers["Retry-After"])
        assert 58 - (times[-1][1] - times[0][0]) <= wait <= 62 - (times[-1][0] - times[0][1])
        assert (answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]) == ("10", "0")
        assert int(answer.headers["RateLimit-Reset"]) == wait
    assert refused or times[-1][1] - times[0][0] > 55


def test_t11_one_address_guesses_everywhere(behind_proxy):
    """One address guesses once on each of many accounts and is limited; other addresses are not affected."""
    begun = time.monotonic()
    statuses = [guess(behind_proxy, f"user{n}@example.org", "198.51.100.7") for n in range(300)]
    assert set(statuses) == {401, 429} and statuses.count(401) <= 35 * minutes_since(begun), statuses.count(401)
    assert guess(behind_proxy, "user1@example.org", "198.51.100.8") == 401

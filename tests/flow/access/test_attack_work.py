"""T8, T9 without a clock: requests that cause the same work take the same time. (test_attack_timing.py measures durations.)

The work is counted where it is done: statements by PostgreSQL, counters by Redis, password hashes by the gateway. A preloaded
library in place of OpenSSL's CRYPTO_memcmp() records what ct_eq() compares. tests/unit/test_crypto_ct_steps.c shows that a
comparison takes the same number of steps wherever its sides differ.
"""
import collections
import hashlib
import json
import re
import secrets
import subprocess
import time

import pytest
import requests

from groundwork.client import Client
from groundwork.daemon import SANITIZERS, Daemon
from groundwork.fixtures import gateway_binary, stop_daemons, settings
from groundwork.project import ADMIN_EMAIL, PASSWORD, Project
from groundwork.records import execute, rows
from groundwork.servers import UNSYNCED, Servers
from groundwork.webhooks import Hooks, event, sign

pytestmark = pytest.mark.slow

TIMES = 3  # the number of mails to one address that a minute allows
ROUNDS = "platform.(projects|live_projects)"  # a worker reads these tables once a second, independently of requests
SETTINGS = {"rate_sign_in_address": 1000000, "rate_sign_in_account": 1000000, "auth_page_url": "https://app.example.com/"}


def other_letter(text, at):
    """The text with another character at one position; for base64url and hexadecimal, the new character has other bits."""
    swapped = "0" if text[at] != "0" else "8"
    return text[:at] + swapped + text[at:][1:]


# --- counted work ---------------------------------------------------------------------------------------


class CountedProject:
    """A project on its own PostgreSQL and Redis, which count their work; a gateway with one worker is their only client."""

    def __init__(self):
        self.servers = Servers(f"{UNSYNCED}; shared_preload_libraries = pg_stat_statements")
        self.gateways = []

    def start(self):
        self.servers.start()
        self.servers.operator_token = secrets.token_urlsafe(32)
        self.db, self.redis = self.servers.connect(superuser=True), self.servers.redis_client()
        execute(self.db, "create extension pg_stat_statements")
        gateway = Daemon(str(gateway_binary()), self.servers.folder / "work.log", **{**settings(self.servers), "WORKERS": 1})
        assert gateway.run("--migrate").returncode == 0
        self.gateways.append(gateway.start())
        self.project = Project(gateway, Client(f"{gateway.url}/org", token=self.servers.operator_token), None)
        self.project.admin.put("/", {"settings": SETTINGS}, expect=200)
        self.caller = self.project.client()
        self.schema = self.project.schema(self.db)

    def account(self, email, status="active"):
        execute(self.db, f"insert into {self.schema}.users (email, status, email_confirmed_at) values (%s, %s, now())", email, status)

    def hashes(self):
        return collections.Counter({purpose: int(count) for purpose, count in re.findall(
            r'^groundwork_password_hashes_total\{purpose="(\w+)"\} (\d+)', self.gateways[0].metrics(), re.M)})

    def work(self, ask):
        """Returns the work that TIMES calls cause."""
        execute(self.db, "select pg_stat_statements_reset()")
        self.redis.config_resetstat()
        before = self.hashes()
        for number in range(TIMES):
            ask(number)
        done = self.hashes() - before
        done["counted in Redis"] = self.redis.info("commandstats").get("cmdstat_eval", {"calls": 0})["calls"]
        for query, calls in rows(self.db, "select query, calls from pg_stat_statements where query !~ %s and query !~ 'pg_stat_statements'", ROUNDS):
            # A statement that was prepared before the reset has constants in its text, and one prepared after the reset has
            # parameters.
            done[re.sub(r"'[^']*'|\$\d+", "?", query)] += calls
        return done

    def close(self):
        try:
            stop_daemons(self.gateways)
        finally:
            self.servers.wipe()


@pytest.fixture(scope="module")
def counted_project():
    own = CountedProject()
    try:
        own.start()
        yield own
    finally:
        own.close()


def measure_equal_work(house, asks):
    """Returns the work of each call, after asserting that it is the same for all."""
    for ask in asks.values():
        ask(0)  # the first call on a connection also prepares its statements
    found = {name: house.work(ask) for name, ask in asks.items()}
    first = next(iter(found.values()))
    for name, work in found.items():
        assert work == first, f"{name} does {work - first} more and {first - work} less than {next(iter(found))}"
    return first


def test_t8_sign_ins_do_the_same_work(counted_project):
    """Each sign-in hashes one password, whether or not the account exists, has a password, or may sign in."""
    for email, status in (("bare@example.org", "active"), ("suspended@example.org", "suspended"), ("invited@example.org", "invited")):
        counted_project.account(email, status)
    execute(counted_project.db, f"update {counted_project.schema}.users set password_hash = (select password_hash from {counted_project.schema}.users"
                      " where email = %s) where email like 'suspended%%' or email like 'invited%%'", ADMIN_EMAIL)

    def sign_in(email, password="wrong password", status=401):
        return lambda _: counted_project.caller.post("/auth/v1/token", {"email": email, "password": password}, expect=status)

    emails = ("nobody@example.org", ADMIN_EMAIL, "bare@example.org", "suspended@example.org", "invited@example.org")
    work = measure_equal_work(counted_project, {email: sign_in(email) for email in emails})
    assert work["check"] == TIMES and "store" not in work
    assert work["counted in Redis"] == 2 * TIMES, "by address and by account"
    statements = [(query, calls) for query, calls in work.items() if f"{counted_project.schema}." in query]
    assert len(statements) == 1 and statements[0][1] == TIMES, statements
    assert counted_project.work(sign_in(ADMIN_EMAIL, PASSWORD, 200)) != work, "the measurement does not notice more work"


@pytest.mark.parametrize("path", ["/auth/v1/recover", "/auth/v1/magic-link"])
def test_t8_links_by_mail_do_the_same_work(counted_project, path):
    """Each request writes one row for the mail; the process that sends the mail looks up the account."""
    word = path.rpartition("/")[2]
    for number in range(TIMES):
        counted_project.account(f"{word}{number}@example.org")

    def ask(name):
        return lambda number: counted_project.caller.post(path, {"email": f"{name}{number}@example.org"}, expect=202)

    work = measure_equal_work(counted_project, {name: ask(name) for name in (f"nobody-{word}", word)})
    assert not {"check", "store"} & set(work)
    assert [calls for query, calls in work.items() if f"{counted_project.schema}." in query] == [TIMES], work
    assert not [query for query in work if f"{counted_project.schema}.users" in query]


def test_t9_keys_that_begin_right_do_the_same_work(counted_project):
    """A key is found by its digest, and an attacker cannot choose how a digest begins."""
    right = counted_project.project.key(["svc_users:read"]).key
    wrong = {f"from letter {at}": right[:at] + secrets.token_hex(len(right))[:len(right) - at] for at in (3, 16, len(right) - 1)}
    wrong["the last letter"] = other_letter(right, -1)

    def ask(key, status=401):
        return lambda _: counted_project.caller.get("/users", headers={"x-api-key": key}, expect=status)

    work = measure_equal_work(counted_project, {name: ask(key) for name, key in wrong.items()})
    (query, calls), = [(query, calls) for query, calls in work.items() if f"{counted_project.schema}." in query]
    assert calls == TIMES and "k.hash = ?" in query
    assert rows(counted_project.db, f"select hash = %s from {counted_project.schema}.api_keys", hashlib.sha256(right.encode()).digest()) == [(True,)]
    assert counted_project.work(ask(right, 200)) != work, "the measurement does not notice more work"


def test_t9_tokens_that_begin_right_do_the_same_work(counted_project):
    """A signature is verified with a public key, so there is no comparison with a secret."""
    head, signature = counted_project.project.admin.token.rsplit(".", 1)
    wrong = {at: f"{head}.{other_letter(signature, at)}" for at in (0, 40, -2)}

    def ask(token, status=401):
        return lambda _: counted_project.caller.get("/users/me", headers={"Authorization": f"Bearer {token}"}, expect=status)

    work = measure_equal_work(counted_project, {at: ask(token) for at, token in wrong.items()})
    assert [calls for query, calls in work.items() if f"{counted_project.schema}." in query] == [TIMES], work


# --- comparisons in constant time -----------------------------------------------------------------------------------

COMPARE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int CRYPTO_memcmp(const void *one, const void *other, size_t length)
{
    const unsigned char *a = one, *b = other;
    size_t same = 0;
    int told = open(getenv("COMPARED"), O_WRONLY | O_APPEND | O_CREAT, 0600);

    while (same < length && a[same] == b[same])
        same++;
    dprintf(told, "%zu %zu\n", length, same);
    close(told);
    return same < length;
}
"""


@pytest.fixture(scope="module")
def start_recorded(tmp_path_factory):
    """start_recorded(start, ...) starts a daemon that records its constant-time comparisons. Returns the daemon and compared(), which
    returns the comparisons since its last call as (number of bytes, number of equal bytes at the beginning)."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "compare.c").write_text(COMPARE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "compare.so", folder / "compare.c"], check=True)

    def start_it(start, **options):
        told = folder / secrets.token_hex(4)
        told.touch()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(folder / "compare.so"))
            patch.setenv("COMPARED", str(told))
            patch.setenv("ASAN_OPTIONS", f"{SANITIZERS['ASAN_OPTIONS']}:verify_asan_link_order=0")
            daemon = start(**options)

        def compared():
            found = [tuple(map(int, line.split())) for line in told.read_text().splitlines()]
            told.write_text("")
            return found
        return daemon, compared

    return start_it


def test_t9_operator_tokens_are_compared_in_constant_time(start_gateway, servers, start_recorded):
    gateway, compared = start_recorded(start_gateway, WORKERS=1)
    token = servers.operator_token

    def ask(given):
        compared()
        status = requests.get(f"{gateway.url}/org", headers={"Authorization": f"Bearer {given}"}, timeout=60).status_code
        return status, compared()

    for right in (0, 1, 20, len(token) - 1):
        assert ask(other_letter(token, right)) == (401, [(len(token), right)])
    assert ask(token) == (200, [(len(token), len(token))])
    assert ask(token[:-1]) == (401, []), "a token of another length should be refused before the comparison"
    gateway.stop()


def test_t9_webhook_signatures_are_compared_in_constant_time(start_webhook, shared_project, db, start_recorded):
    daemon, compared = start_recorded(start_webhook)
    hooks = Hooks(shared_project, daemon, db)
    body = json.dumps(event("customer.created", {"id": "cus_1"})).encode()
    head, value = sign(body, hooks.secret, int(time.time()) + 200).split(",v1=")

    def ask(given):
        compared()
        status = hooks.post(body, f"{head},v1={given}", timeout=60).status_code
        return status, [found for found in compared() if found[0] == len(value)]

    for right in (0, 1, 32, len(value) - 1):
        assert ask(other_letter(value, right)) == (400, [(len(value), right)])
    assert hooks.count_stored() == 0
    assert ask(value) == (200, [(len(value), len(value))])

"""The gateway is killed at each point of a call that moves money: whether the caller or the timer continues, the money moves once.

A worker is killed at the n-th time that it sends something (a statement, a call to the processor, an answer) or receives something, for each n until
a request completes before the n-th time. Afterwards the caller repeats the request, or the timer of the payments service settles the payment before
the caller repeats the request. The processor's events are dropped, because they would report the outcome that the gateway has to find out."""
import os
import shutil
import signal
import subprocess

import pytest
import requests

from groundwork.chaos import postgres_proxy, postgres_proxy_settings
from groundwork.deadline import until
from groundwork.processor import PAY
from groundwork.records import execute, rows

PAYMENTS = f"{PAY}/payments"
CHARGE = f"{PAYMENTS}/charge-payment-method"
POINTS_MAX = 60

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("strace"), reason="strace kills at a system call")]


@pytest.fixture
def victim(start_gateway):
    daemon = start_gateway(WORKERS=1)
    yield daemon
    daemon.stop()


class Killer:
    """Kills the victim's worker when it makes a system call for the n-th time from now on."""

    def __init__(self, victim, call, count):
        self.worker = victim.workers()[0]
        self.process = subprocess.Popen(
            ["strace", "-p", str(self.worker), "-o", "/dev/null", "-e", f"trace={call}",
             "-e", f"inject={call}:signal=KILL:when={count}"], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "attached" in line, line

    def has_killed(self):
        """Returns whether the worker was killed."""
        try:
            os.kill(self.worker, 0)
        except ProcessLookupError:
            return True
        return False

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stderr.close()


class Caller:
    """Sends requests to one gateway or another, with the same token."""

    def __init__(self, shop, gateway):
        self.base = f"{gateway.url}/org/{shop.project.id}"
        self.headers = {"Authorization": f"Bearer {shop.admin.token}"}

    def post(self, path, body, key):
        return requests.post(self.base + path, json=body, headers={**self.headers, "Idempotency-Key": key}, timeout=60)

    def wait_ready(self):
        """Waits until the gateway's worker runs (again) and knows the project."""
        def there():
            try:
                return requests.get(f"{self.base}{PAYMENTS}", headers=self.headers, timeout=60).status_code == 200
            except requests.RequestException:
                return False

        until(there, "the gateway does not come back")


def save(shop, card="4242424242424242"):
    shop.set_switches(drop=True)
    setup = shop.admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": "ada@example.org"}, expect=200).json()
    method = shop.processor.setup(setup["id"], card)["payment_method"]
    shop.admin.get(f"{PAY}/payment-methods", params={"customer_email": "ada@example.org", "sync": "true"}, expect=200)
    return method


def send_until_killed(victim, caller, call, point, send):
    """Sends one request while the killer waits. Returns the answer (None if the gateway died) and whether the worker was killed."""
    caller.wait_ready()
    killer = Killer(victim, call, point)
    try:
        return send(), killer.has_killed()
    except requests.RequestException:
        return None, True
    finally:
        killer.end()


def afterwards(shop, db, who):
    """Ends the leases, as time would do. With `timer`, waits before that until the timer has settled the open payments."""
    schema = shop.project.schema(db)
    if who == "timer":
        execute(db, f"update {schema}.payments set settle_at = now() where call_key is not null")
        until(lambda: not rows(db, f"select 1 from {schema}.payments where call_key is not null"), "the open payments are settled")
    execute(db, f"update {schema}.idempotency_keys set locked_until = now() where state = 'in_progress'")


def every_point(shop, db, victim, call, who, send):
    """Calls send(caller, key) at each point, then once more. Returns the number of requests and the number of killed workers."""
    caller = Caller(shop, victim)
    died = 0
    for point in range(1, POINTS_MAX):
        key = f"{call}-{who}-{point}"
        answer, dead = send_until_killed(victim, caller, call, point, lambda: send(caller, key))
        died += dead
        afterwards(shop, db, who)
        caller.wait_ready()
        again = send(caller, key)
        assert again.status_code in (200, 201), f"{call} {point}: {again.status_code} {again.text}"
        if answer is not None and answer.status_code < 300:
            assert again.json()["id"] == answer.json()["id"]
        assert send(caller, key).json()["id"] == again.json()["id"]
        if not dead:
            return point, died
    raise AssertionError("no request came to its end")


@pytest.mark.parametrize("call, who", [
    ("sendto", "caller"), ("sendto", "timer"),
    pytest.param("recvfrom", "caller", marks=pytest.mark.full), pytest.param("writev", "caller", marks=pytest.mark.full)])
def test_charge(shop, processor, payments, db, victim, call, who):
    method = save(shop)
    wanted = {"payment_method_id": method, "amount": 20, "currency": "usd"}
    count, died = every_point(shop, db, victim, call, who, lambda caller, key: caller.post(CHARGE, wanted, key))
    if call != "writev":
        assert died >= 5, f"{died} deaths at {call}"
    assert len(shop.charges()) == count
    assert shop.admin.get(PAYMENTS, expect=200).json()["total_items"] == count
    assert shop.admin.get(f"{PAYMENTS}/status/succeeded", expect=200).json()["total_items"] == count
    processor.assert_never_charged_twice(shop.account)


@pytest.mark.full
@pytest.mark.parametrize("who", ["caller", "timer"])
def test_refund(shop, processor, payments, db, victim, who):
    """Each request refunds a part of the payment: a second refund of the same amount would not be noticed as a duplicate."""
    method = save(shop)
    body = {"payment_method_id": method, "amount": 200, "currency": "usd"}
    paid = shop.admin.post(CHARGE, body, expect=201).json()
    path = f"{PAYMENTS}/{paid['id']}/refund"
    count, died = every_point(shop, db, victim, "sendto", who, lambda caller, key: caller.post(path, {"amount": 2}, key))
    assert died >= 4, f"{died} deaths"
    assert len(shop.objects("refund")) == count
    assert shop.admin.get(f"{PAYMENTS}/{paid['id']}", expect=200).json()["amount_refunded"] == 2 * count


@pytest.mark.full
def test_capture(shop, processor, payments, db, victim):
    """Each point has its own payment, which is captured once."""
    shop.set_switches(drop=True)
    made = []

    def reserve():
        body = {"type": "one_off", "amount": 100, "currency": "usd", "mode": "intent", "capture_method": "manual"}
        one = shop.admin.post(PAYMENTS, body, expect=201).json()
        shop.admin.post(f"{PAYMENTS}/payment-intent/{one['id']}/confirm", {"payment_method_id": "pm_card_visa"}, expect=200)
        made.append(one["id"])
        return one["id"]

    ids = {}

    def send(caller, key):
        if key not in ids:
            ids[key] = reserve()
        return caller.post(f"{PAYMENTS}/payment-intent/{ids[key]}/capture", {"amount": 60}, key)

    count, died = every_point(shop, db, victim, "sendto", "caller", send)
    assert died >= 4, f"{died} deaths"
    charges = shop.charges(captured=True)
    assert len(charges) == count == len(made) and {each["amount_captured"] for each in charges} == {6000}


def test_d6_commits_without_an_answer(shop, processor, payments, db, servers, start_gateway):
    """A part of the COMMITs is carried out but not answered: the caller repeats the request until it has the outcome, and is charged once."""
    method = save(shop)
    wanted = {"payment_method_id": method, "amount": 20, "currency": "usd"}
    with postgres_proxy(servers) as proxy:
        gateway = start_gateway(WORKERS=1, **postgres_proxy_settings(servers, proxy))
        caller = Caller(shop, gateway)
        caller.wait_ready()
        proxy.say("eat 30")
        unknown = 0
        for number in range(30):
            for _ in range(30):
                answer = caller.post(CHARGE, wanted, f"d6-{number}")
                if answer.status_code == 201:
                    break
                assert answer.status_code in (409, 503), answer.text
                unknown += 1
                afterwards(shop, db, "caller")
            else:
                raise AssertionError("no request came to its end")
        proxy.say("eat 0")
        gateway.stop()
    assert unknown
    assert len(shop.charges()) == 30
    assert shop.admin.get(f"{PAYMENTS}/status/succeeded", expect=200).json()["total_items"] == 30
    processor.assert_never_charged_twice(shop.account)

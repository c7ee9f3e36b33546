"""Events as the processor sends them, signed here, and the effects that they have."""
import hashlib
import hmac
import json
import secrets
import time

import requests

from .deadline import until
from .records import execute, rows
from .soon import await_status

CREDENTIALS = "/integrations/svcpay/processor-connect/credentials"
FINAL_STATUSES = set(range(600)) - {503}  # with 503 a daemon asks its sender to try again: a busy machine may cause that


def sign(body, secret, at=None):
    at = int(time.time()) if at is None else at
    return f"t={at},v1=" + hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def event(type_, obj, at=None, **members):
    """An event about an object."""
    return {"id": f"evt_{secrets.token_hex(12)}", "object": "event", "api_version": "2026-10-28.endive", "livemode": False,
            "created": int(time.time()) if at is None else at, "type": type_, "data": {"object": obj}, **members}


def intent(id_, status="succeeded", **members):
    return {"id": id_, "object": "payment_intent", "status": status, "amount": 2000, "amount_received": 2000,
            "currency": "usd", "customer": None, "latest_charge": "ch_1", "metadata": {}, "last_payment_error": None, **members}


def failed_intent(id_, **members):
    return intent(id_, "requires_payment_method", amount_received=0,
                  last_payment_error={"type": "card_error", "code": "card_declined", "message": "Your card was declined."}, **members)


class Hooks:
    """A project's webhooks at a daemon. Without `account` the credentials are those of the project's own account."""

    def __init__(self, project, daemon, db, account=None, secret=None):
        self.project, self.daemon, self.db = project, daemon, db
        self.schema = project.schema(db)
        self.secret = secret or f"whsec_{secrets.token_hex(8)}"
        body = {"mode": "connect" if account else "own", "secret_key": "sk_test_" + secrets.token_hex(8),
                "webhook_secrets": [{"secret": self.secret}]}
        project.admin.put(CREDENTIALS, body, expect=200)
        if account:
            execute(db, f"update {self.schema}.settings set doc = doc || jsonb_build_object('account', %s::text)"
                        " where kind = 'payments' and key = 'processor'", account)
            project.admin.put(CREDENTIALS, body, expect=200)  # processes that have read the settings read them again

    @property
    def url(self):
        return f"{self.daemon.url}/webhooks/processor/{self.project.id}"

    def post(self, body, header=None, secret=None, at=None, timeout=60, **headers):
        """Posts bytes, signed unless a header is given."""
        signature = sign(body, secret or self.secret, at) if header is None else header
        fields = {"Content-Type": "application/json", "Stripe-Signature": signature, **headers}
        return requests.post(self.url, data=body, headers={k: v for k, v in fields.items() if v is not None}, timeout=timeout)

    def send(self, told, **options):
        return self.post(json.dumps(told).encode(), **options)

    def send_until_final(self, told, **options):
        """Sends an event as the processor does, again after each 503; returns the answer."""
        return await_status(lambda: self.send(told, **options), FINAL_STATUSES, within=6)

    def send_accepted(self, told, **options):
        answer = self.send_until_final(told, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    # --- the effects of events ---

    def count_stored(self):
        return rows(self.db, f"select count(*) from {self.schema}.webhook_events")[0][0]

    def row(self, told, *columns):
        found = rows(self.db, f"select {', '.join(columns)} from {self.schema}.webhook_events where event_id = %s", told["id"])
        return (found[0][0] if len(columns) == 1 else found[0]) if found else None

    def wait(self, told, *states, within=6):
        """Waits until the event is in one of these states; returns (state, object, effect)."""
        until(lambda: self.row(told, "state") in (states or ("applied", "ignored")),
              lambda: f"{told['type']} {states}: {self.row(told, 'state', 'attempts', 'error')}", within)
        return self.row(told, "state", "object", "effect")

    # --- payments that events are about ---

    def payment(self, status="processing", **columns):
        """Inserts a payment; returns (id, its intent)."""
        columns = {"type": "one_off", "amount_minor": 2000, "currency": "usd", "status": status,
                   "intent_id": f"pi_{secrets.token_hex(12)}", **columns}
        names = ", ".join(columns)
        made = rows(self.db, f"insert into {self.schema}.payments ({names}) values ({', '.join(['%s'] * len(columns))})"
                             " returning id, intent_id", *columns.values())
        return made[0]

    def status(self, payment):
        return rows(self.db, f"select status from {self.schema}.payments where id = %s", payment)[0][0]

    def emitted(self, name):
        """Ids in the payloads of the outbox events with this name."""
        return [r for r, in rows(self.db, f"select (payload->>'id')::bigint from {self.schema}.outbox where event = %s order by id", name)]

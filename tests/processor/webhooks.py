"""Events and their delivery: signed, repeated until an endpoint accepts them, and with the faults that a test causes."""
import hashlib
import hmac
import http.client
import json
import random
import threading
import time
import urllib.parse

from .render import VERSIONS, generation, public_copy, to_old_generation, OLD
from .store import new_id

# The events for an endpoint that names none: the events that are useful for a payment backend.
USUAL = [
    "checkout.session.completed", "checkout.session.expired", "checkout.session.async_payment_succeeded",
    "checkout.session.async_payment_failed", "payment_intent.succeeded", "payment_intent.payment_failed",
    "payment_intent.processing", "payment_intent.canceled", "payment_intent.amount_capturable_updated",
    "payment_intent.requires_action", "charge.refunded", "charge.updated", "charge.refund.updated",
    "refund.updated", "refund.failed", "charge.dispute.created",
    "customer.subscription.created", "customer.subscription.updated", "customer.subscription.deleted",
    "invoice_payment.paid", "invoice.paid", "invoice.payment_failed", "setup_intent.succeeded", "setup_intent.setup_failed",
    "payment_method.attached", "payment_method.detached", "account.updated",
]
SWITCHES = {"duplicate": 0, "shuffle": False, "delay": 0, "drop": False, "paused": False}
SINCE_BASIL = ("invoice_payment.paid",)


def sign(payload, secrets, at=None):
    """A Stripe-Signature header; several secrets make several v1."""
    at = int(time.time()) if at is None else at
    payload = payload.encode() if isinstance(payload, str) else payload
    made = [hmac.new(secret.encode(), b"%d." % at + payload, hashlib.sha256).hexdigest()
            for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    return ",".join([f"t={at}", *(f"v1={each}" for each in made)])


class Webhooks:
    def __init__(self, store, backoff=0.2, longest=5.0, timeout=60):
        self.store = store
        self.backoff, self.longest, self.timeout = backoff, longest, timeout
        self.attempts = []       # all attempts to deliver
        self.changed = threading.Condition(store.lock)
        self.closing = False
        self.busy = 0
        self.threads = {}

    def start(self):
        with self.changed:
            for endpoint in self.store.endpoints:
                self.serve(endpoint)

    def close(self):
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    # --- endpoints ---

    def add(self, url, secret, platform, connect=False, api="dahlia", events=None, accounts=None, **switches):
        endpoint = {"id": f"we_{new_id('event')[4:]}", "url": url, "secrets": [secret] if isinstance(secret, str) else list(secret),
                    "platform": platform, "connect": connect, "api": api, "events": list(events or USUAL),
                    "accounts": accounts, **SWITCHES}
        self.set(endpoint, switches)
        with self.changed:
            self.store.endpoints.append(endpoint)
            self.store.changed = True
            self.serve(endpoint)
        return endpoint["id"]

    def set(self, endpoint, changes):
        for name, value in changes.items():
            assert name in SWITCHES or name in ("url", "secrets", "api", "events", "accounts", "connect"), name
            endpoint[name] = value

    def update(self, id_=None, **changes):
        """Changes the settings of one endpoint, or of all."""
        with self.changed:
            for endpoint in self.store.endpoints:
                if id_ in (None, endpoint["id"]):
                    self.set(endpoint, changes)
            self.store.changed = True
            self.changed.notify_all()

    def remove(self, id_):
        with self.changed:
            self.store.endpoints[:] = [each for each in self.store.endpoints if each["id"] != id_]
            self.store.deliveries[:] = [each for each in self.store.deliveries if each["endpoint"] != id_]
            self.store.changed = True
            self.changed.notify_all()

    def serve(self, endpoint):
        thread = threading.Thread(target=self.run, args=(endpoint["id"],), daemon=True)
        self.threads[endpoint["id"]] = thread
        thread.start()

    # --- events ---

    def emit(self, ctx, type_, obj, previous=None):
        """Stores the event and queues it for every endpoint that subscribes to it."""
        data = {"object": obj}
        if type_.endswith(".updated") or type_ == "payment_method.detached":
            data["previous_attributes"] = previous or {}
        request = {"id": ctx.request_id, "idempotency_key": ctx.key}
        event = {"id": new_id("event"), "object": "event", "created": ctx.now(), "livemode": False, "type": type_,
                 "pending_webhooks": 1, "request": request, "data": data, "api_version": VERSIONS["endive"]}
        if ctx.is_connected:
            event["account"] = ctx.account
        self.store.add(ctx.account, event)
        for endpoint in self.store.endpoints:
            if self.is_subscribed(endpoint, ctx, type_):
                self.queue(endpoint, event, ctx.account)
        return event

    def is_subscribed(self, endpoint, ctx, type_):
        if endpoint["platform"] != ctx.platform or endpoint["connect"] != ctx.is_connected:
            return False
        if endpoint["accounts"] is not None and ctx.account not in endpoint["accounts"]:
            return False
        if type_ in SINCE_BASIL and generation(VERSIONS[endpoint["api"]]) == OLD:
            return False
        return "*" in endpoint["events"] or type_ in endpoint["events"]

    def payload(self, event, api, account):
        """The event in an endpoint's API generation; rendered once, then sent unchanged."""
        shown = public_copy(event)
        shown["api_version"] = VERSIONS[api]
        if generation(VERSIONS[api]) == OLD:
            shown["data"]["object"] = to_old_generation(self.store, account, shown["data"]["object"])
        return json.dumps(shown, separators=(",", ":"))

    def queue(self, endpoint, event, account):
        payload = self.payload(event, endpoint["api"], account)
        for _ in range(1 + endpoint["duplicate"]):
            delay = endpoint["delay"]
            if isinstance(delay, list):
                delay = random.uniform(*delay)
            self.store.deliveries.append({
                "event": event["id"], "type": event["type"], "endpoint": endpoint["id"], "payload": payload, "tries": 0,
                "due": time.time() + delay, "dropped": endpoint["drop"], "running": False})
        self.changed.notify_all()

    def resend(self, event_id=None, endpoint=None, dropped_only=False):
        """Sends dropped deliveries (or one event, delivered or not) now."""
        with self.changed:
            count = 0
            for each in self.store.deliveries:
                if each["dropped"] and endpoint in (None, each["endpoint"]) and event_id in (None, each["event"]):
                    each.update(dropped=False, due=time.time())
                    count += 1
            if not dropped_only and event_id and not count:
                account, event = self.store.find_owner("event", event_id)
                for target in self.store.endpoints:
                    if endpoint in (None, target["id"]) and event:
                        self.queue(target, event, account)
                        count += 1
            self.changed.notify_all()
        return count

    # --- delivery ---

    def run(self, id_):
        while True:
            with self.changed:
                endpoint = next((each for each in self.store.endpoints if each["id"] == id_), None)
                if self.closing or not endpoint:
                    return
                delivery, wait = self.pick(endpoint)
                if not delivery:
                    self.changed.wait(wait)
                    continue
                delivery["running"] = True
                delivery["tries"] += 1
                url, secrets = endpoint["url"], list(endpoint["secrets"])
            status, body = post(url, delivery["payload"], {"Stripe-Signature": sign(delivery["payload"], secrets)}, self.timeout)
            with self.changed:
                self.attempts.append({"event": delivery["event"], "type": delivery["type"], "endpoint": id_, "url": url,
                                      "status": status, "body": body[:2000], "try": delivery["tries"], "at": time.time()})
                delivery["running"] = False
                if 200 <= status < 300:
                    self.store.deliveries[:] = [each for each in self.store.deliveries if each is not delivery]
                else:
                    delivery["due"] = time.time() + min(self.backoff * 2 ** min(delivery["tries"] - 1, 10), self.longest)
                self.store.changed = True
                self.changed.notify_all()

    def pick(self, endpoint):
        """(the delivery to try now, seconds until there may be one)"""
        now = time.time()
        mine = [each for each in self.store.deliveries if each["endpoint"] == endpoint["id"] and not each["dropped"]]
        if endpoint["paused"] or not mine:
            return None, None
        due = [each for each in mine if each["due"] <= now]
        if not due:
            return None, max(0.005, min(each["due"] for each in mine) - now)
        if endpoint["shuffle"]:
            # The events of one request arrive together; wait a moment so that the shuffle has several to choose from.
            newest = max(each["due"] for each in due if not each["tries"]) if any(not each["tries"] for each in due) else 0
            if now - newest < 0.1:
                return None, 0.1
            return random.choice(due), 0
        return min(due, key=lambda each: each["due"]), 0

    def pending(self, endpoint=None):
        with self.changed:
            return [each for each in self.store.deliveries if endpoint in (None, each["endpoint"]) and not each["dropped"]]

    def drain(self, timeout=60, endpoint=None):
        """Waits until every queued event was accepted; lists the open deliveries when the time is over."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                left = self.pending(endpoint)
                if not left:
                    return
                if time.monotonic() > end:
                    tried = [(each["type"], each["status"], each["body"][:200]) for each in self.attempts[-3:]]
                    raise AssertionError(f"{len(left)} events not taken after {timeout} s: "
                                         f"{[each['type'] for each in left[:5]]}; last answers {tried}")
                self.changed.wait(min(0.2, max(0.01, end - time.monotonic())))


def post(url, payload, headers, timeout=60):
    """(status, body); status 0 when there was no answer."""
    parts = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=timeout)
    try:
        connection.request("POST", parts.path + (f"?{parts.query}" if parts.query else ""), payload.encode(),
                           {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Stripe/1.0 (test)", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()

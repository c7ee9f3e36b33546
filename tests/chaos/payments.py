"""Payments in a chaos run: payers charge a saved card or subscribe, and repeat the request with the same key until they know the outcome."""
import json
import time
import uuid

import requests

from world import step, workflow  # first: it makes the flow tests' library known
from clients import LoggingClient
from groundwork.processor import PAY
from processor.errors import ApiError

SECRET = "whsec_of_the_chaos_run"
DECLINED = "4000000000000341"
KINDS = {"opened": "PaymentCreated", "paid": "PaymentSucceeded", "unpaid": "PaymentFailed", "joined": "SubscriptionCreated",
         "active": "SubscriptionActivated"}
DUE = "('received', 'failed')"


def set_up(world):
    """Sets up credentials of a separate account, two saved cards, a plan, and a workflow for each kind of event."""
    admin, processor = world.project.admin, world.processor
    made = processor.new_platform()
    world.account = made["account"]
    shown = admin.put(f"{PAY}/processor-connect/credentials", {
        "mode": "own", "secret_key": made["key"], "webhook_secrets": [{"secret": SECRET}]}, expect=200).json()
    world.endpoint = processor.add_endpoint(shown["webhook_url"], SECRET, made["key"])
    world.cards = []
    for card in ("4242424242424242", DECLINED):
        setup = admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": f"{card}@example.org"}, expect=200).json()
        world.cards.append(processor.setup(setup["id"], card)["payment_method"])
    world.plan = admin.post(f"{PAY}/subscription-plans", {
        "plan_name": "pro", "name": "Pro", "amount": 9, "currency": "usd", "billing_interval": "month"}, expect=201).json()["id"]
    for name, event in KINDS.items():
        flow = workflow(name, {"kind": "event", "event": event},
                        step("check", "Condition", {"all": [{"field": "$svc.job.id", "op": "gt", "value": 0}]}))
        world.flows[name] = admin.post("/workflows", flow, expect=201).json()["id"]


class Payer(LoggingClient):
    """Makes about `rate` charges and subscriptions a second. If a few tries do not give an outcome, the payer asks again at the end."""

    def __init__(self, world, log, stop, seed, rate):
        super().__init__(world, log, stop, seed, rate)
        self.open = []

    def post(self, path, key, body):
        """The answer, or None when the answer is not final."""
        try:
            answer = self.session.post(
                self.world.project.base_url + PAY + path, json=body, timeout=15,
                headers={"Authorization": f"Bearer {self.world.project.admin.token}", "Idempotency-Key": key})
        except requests.RequestException:
            return None
        return None if answer.status_code in (409, 502, 503, 504) else answer

    def send_once(self, what, mark, card):
        """Sends the request once; True when the outcome is known."""
        if what == "charge":
            answer = self.post("/payments/charge-payment-method", mark, {
                "payment_method_id": self.world.cards[card], "amount": 5, "currency": "usd", "metadata": {"mark": mark}})
        else:
            answer = self.post("/subscriptions", mark, {
                "plan_id": self.world.plan, "customer_email": f"{mark}@example.org", "metadata": {"mark": mark}})
        if answer is None:
            return False
        if answer.status_code == 201 and what == "subscribe":
            return self.check_out(mark, answer.json())
        state = {201: "acked", 402: "refused"}.get(answer.status_code, "wrong")
        self.log.write(what, mark, state, status=answer.status_code, text=answer.text[:300], card=card)
        return True

    def check_out(self, mark, subscription):
        try:
            self.world.processor.complete(subscription["checkout_url"].rsplit("/", 1)[1])
        except ApiError as error:  # an earlier try has completed it
            if "complete" not in str(error):
                raise
        self.log.write("subscribe", mark, "acked")
        return True

    def run(self):
        while not self.stop.is_set():
            what, mark, card = self.random.choice(("charge",) * 4 + ("subscribe",)), uuid.uuid4().hex, self.random.random() < 0.15
            self.log.write(what, mark, "asked", card=int(card))
            if not any(self.send_once(what, mark, int(card)) for _ in range(4)):
                self.open.append((what, mark, int(card)))
            self.stop.wait(self.random.expovariate(self.rate))

    def finish(self, patience):
        """Repeats the requests whose outcome is unknown."""
        end = time.monotonic() + patience
        while self.open and time.monotonic() < end:
            self.open = [each for each in self.open if not self.send_once(*each)]
            time.sleep(0.2)
        for what, mark, _ in self.open:
            self.log.write(what, mark, "open")


def expire_leases(world):
    """Simulates that time passes: no request holds a key any longer, and calls without an answer are due to be settled."""
    connection = world.servers.connect()
    with connection.cursor() as cursor:
        cursor.execute(f"update {world.schema}.idempotency_keys set locked_until = now() where state = 'in_progress'")
        for table in ("payments", "subscriptions"):
            cursor.execute(f"update {world.schema}.{table} set settle_at = now() where settle_at is not null and call_key is not null")
    connection.close()


def open_payments(cursor, world):
    """(events not delivered, events not applied, calls without a known outcome)"""
    cursor.execute(f"select (select count(*) from {world.schema}.webhook_events where state in {DUE}), "
                   f"(select count(*) from {world.schema}.payments where call_key is not null)")
    return (len(world.processor.webhooks.pending()), *cursor.fetchone())


def settle(world, payers, say, patience):
    """Waits until no payment work is open."""
    expire_leases(world)
    for payer in payers:
        payer.finish(patience / 2)
    expire_leases(world)
    connection = world.servers.connect()
    end = time.monotonic() + patience
    with connection.cursor() as cursor:
        while any(left := open_payments(cursor, world)) and time.monotonic() < end:
            time.sleep(0.3)
    connection.close()
    say(f"quiet: {left[0]} events to deliver, {left[1]} to apply, {left[2]} calls without an end")


def dump(world, query, cursor, folder):
    data = {
        "payments": query(cursor, f"select id, type, status, intent_id, call_key, metadata from {world.schema}.payments"),
        "subscriptions": query(cursor, "select id, status, provider_subscription_id, metadata, customer_email "
                                       f"from {world.schema}.subscriptions"),
        "events": query(cursor, f"select type, state, error from {world.schema}.webhook_events"),
        "charges": world.processor.charges(world.account),
        "intents": {each["id"]: each["status"] for each in world.processor.objects("payment_intent", world.account)},
        "sold": [{"id": each["id"], "status": each["status"]} for each in world.processor.objects("subscription", world.account)],
        "violations": world.processor.violations(),
    }
    (folder / "payments.json").write_text(json.dumps(data, default=str))
    return data


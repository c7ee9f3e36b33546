"""Events of payments, subscriptions and cards arrive in any order, concurrently, and some of them twice: the project's final state equals the
processor's state, and each event is emitted once."""
import collections
import itertools
import random
import secrets
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundwork.deadline import until
from groundwork.processor import PAY
from groundwork.records import execute, rows
from groundwork.webhooks import Hooks, event, intent

GENERATIONS = ("acacia", "basil", "dahlia", "endive")
KINDS = ("PaymentCreated", "PaymentSucceeded", "PaymentFailed", "SubscriptionCreated", "SubscriptionActivated",
         "SubscriptionExpired", "SubscriptionPastDue", "PaymentMethodCaptured", "PaymentMethodCaptureFailed", "PaymentMethodRemoved")


def listen(schema, db):
    """Creates a workflow for each kind of event. The emitted events stay in the outbox, because no runner is started."""
    for kind in KINDS:
        execute(db, f"insert into {schema}.workflows (name, trigger_kind, event, editor_id) values (%s, 'event', %s, 1)", kind, kind)


def all_applied(schema, db, count):
    """Waits until `count` events are stored and all of them are applied. An event that failed is retried after two seconds, four, eight..."""
    seen = f"""select count(*), count(*) filter (where state in ('applied', 'ignored', 'unsupported')),
                 string_agg(distinct type || ' ' || state || ' ' || coalesce(error, ''), '; ')
                   filter (where state not in ('applied', 'ignored', 'unsupported')) from {schema}.webhook_events"""
    until(lambda: rows(db, seen)[0][:2] == (count, count), lambda: f"{count} events: {rows(db, seen)[0]}", 30)


# --- every order of a renewal, all concurrently ---


def renewal(n, now):
    """A subscription that the project does not know, and its first charge. Returns (id of the subscription, events)."""
    sub, pi = f"sub_{n}{secrets.token_hex(6)}", f"pi_{n}{secrets.token_hex(6)}"
    item = {"current_period_start": now, "current_period_end": now + 86400, "price": {"id": "price_1", "unit_amount": 2000,
            "currency": "usd", "recurring": {"interval": "month", "interval_count": 1}}}
    body = {"id": sub, "object": "subscription", "customer": "cus_1", "items": {"data": [item]}, "metadata": {}}
    invoice = {"id": f"in_{n}", "object": "invoice", "customer": "cus_1", "currency": "usd",
               "parent": {"subscription_details": {"subscription": sub, "metadata": {}}}}
    return sub, [
        event("customer.subscription.created", {**body, "status": "incomplete"}, at=now),
        event("customer.subscription.updated", {**body, "status": "active"}, at=now),
        event("payment_intent.succeeded", intent(pi), at=now),
        event("invoice_payment.paid", {"id": f"inpay_{pi}", "object": "invoice_payment", "amount_paid": 2000, "currency": "usd",
                                       "status": "paid", "payment": {"type": "payment_intent", "payment_intent": pi},
                                       "invoice": invoice, "status_transitions": {"paid_at": now}}, at=now),
        event("charge.refunded", {"id": "ch_1", "object": "charge", "payment_intent": pi, "amount": 2000,
                                  "amount_refunded": 500, "refunded": False}, at=now + 1),
    ]


def test_every_order_of_a_renewal(project, webhook, db):
    hooks = Hooks(project, webhook, db)
    listen(hooks.schema, db)
    now = int(time.time())
    orders = list(itertools.permutations(range(5)))
    lives = [renewal(n, now) for n in range(len(orders))]

    def tell(n):
        for index in orders[n]:
            hooks.send_accepted(lives[n][1][index])

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(tell, range(len(orders))))
    all_applied(hooks.schema, db, 5 * len(orders))
    ends = rows(db, f"""select s.status, s.event_rank, p.type, p.status, p.amount_refunded_minor, p.charge_id, p.paid_at,
                          p.intent_id = p.reference, count(*) from {hooks.schema}.subscriptions s
                        join {hooks.schema}.payments p on p.subscription_id = s.id group by 1, 2, 3, 4, 5, 6, 7, 8""")
    assert len(ends) == 1, ends
    assert ends[0][0] == "active" and ends[0][2:6] == ("recurring", "partially_refunded", 500, "ch_1") and ends[0][-1] == len(orders)
    assert rows(db, f"select count(*) from {hooks.schema}.payments")[0][0] == len(orders)
    for kind in ("PaymentCreated", "PaymentSucceeded", "SubscriptionCreated", "SubscriptionActivated"):
        assert sorted(collections.Counter(hooks.emitted(kind)).values()) == [1] * len(orders), kind


# --- whole lives at the test processor ---


def run_year(shop, processor):
    """Creates a year of a shop's payments at the test processor."""
    plan = shop.admin.post(f"{PAY}/subscription-plans", {
        "plan_name": "pro", "name": "Pro", "amount": 9, "currency": "usd", "billing_interval": "month"}, expect=201).json()
    payer = {"customer_email": "ada@example.org"}
    shop.admin.post(f"{PAY}/subscriptions", {"plan_id": plan["id"], **payer}, expect=201)
    session = shop.objects("checkout.session")[-1]["id"]
    processor.complete(session)
    subscription = processor.get(session)["subscription"]
    processor.refund(shop.charges()[0]["payment_intent"])
    processor.renew(subscription)
    processor.fail_renewal(subscription)
    processor.cancel(subscription)
    for description in ("paid", "partly refunded", "disputed", "abandoned"):
        shop.admin.post(f"{PAY}/payments", {"type": "one_off", "amount": 20, "currency": "usd", "description": description,
                                            **payer}, expect=201)
        session = shop.objects("checkout.session")[-1]["id"]
        if description == "abandoned":
            processor.expire(session)
            continue
        paid = processor.complete(session)["payment_intent"]
        if description == "partly refunded":
            processor.refund(paid, 500)
        if description == "disputed":
            processor.dispute(paid)
    for card in ("4242424242424242", "4000000000000002"):
        setup = shop.admin.post(f"{PAY}/payment-methods/setup-intent", payer, expect=200).json()
        kept = processor.setup(setup["id"], card)["payment_method"]
        if card.startswith("42"):
            processor.detach(kept)


def expected(shop):
    """Returns the expected final state of each payment, by the id of its intent."""
    disputed = {each["payment_intent"] for each in shop.objects("dispute")}
    ends = {}
    for charge in shop.charges():
        ends[charge["payment_intent"]] = (
            "disputed" if charge["payment_intent"] in disputed else
            "refunded" if charge["refunded"] else "partially_refunded" if charge["amount_refunded"] else "succeeded",
            charge["amount_refunded"])
    return ends


@pytest.mark.parametrize("seed", range(8))
def test_a_life_in_any_order(make_shop, project, processor, payments, db, seed):
    chance = random.Random(seed)
    generation = GENERATIONS[seed % len(GENERATIONS)]
    shop = make_shop(project, api=generation)
    schema = project.schema(db)
    listen(schema, db)
    shop.set_switches(paused=True)
    run_year(shop, processor)
    told = shop.events()
    texts = [processor.event_payload(each["id"], generation) for each in told]
    deliveries = texts + chance.sample(texts, len(texts) // 3)
    chance.shuffle(deliveries)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(shop.deliver, deliveries))
    assert {status for status, _ in answers} == {200}, answers
    all_applied(schema, db, len({each["id"] for each in told}))

    known = {intent: (status, refunded) for intent, status, refunded in rows(
        db, f"select intent_id, status, amount_refunded_minor from {schema}.payments where paid_at is not null")}
    assert known == expected(shop)
    assert rows(db, f"select description from {schema}.payments where status = 'canceled'") == [("abandoned",)]
    assert rows(db, f"select status, provider_subscription_id is not null from {schema}.subscriptions") == [("canceled", True)]
    recurring = rows(db, f"select status, count(*) from {schema}.payments where type = 'recurring' and subscription_id is not null"
                         " group by status order by status")
    assert recurring == [("failed", 1), ("refunded", 1), ("succeeded", 1)]
    # A subscription that is known to be canceled never becomes past due because of a late event.
    assert rows(db, f"select count(*) from {schema}.outbox where event = 'SubscriptionPastDue'") in ([(0,)], [(1,)])
    at_processor = {each["id"]: "active" if each["customer"] else "detached" for each in shop.objects("payment_method")}
    methods = dict(rows(db, f"select provider_id, status from {schema}.payment_methods where provider_id is not null"))
    assert methods == {id_: at_processor[id_] for id_ in methods} and "detached" in methods.values()
    assert rows(db, f"select count(*) from {schema}.payment_methods where status = 'setup_failed'") == [(1,)]
    twice = rows(db, f"select event, payload->>'id', count(*) from {schema}.outbox group by 1, 2 having count(*) > 1")
    assert twice == []
    succeeded = rows(db, f"select count(*) from {schema}.outbox where event = 'PaymentSucceeded'")
    assert succeeded == [(len(known),)]
    history = rows(db, f"select to_status, from_status from {schema}.subscription_history order by at, (detail->>'rank')::int, event_id, id")
    assert [after for after, _ in history[:-1]] == [before for _, before in history[1:]] and history[0][1] is None


# --- attempts ---


ATTEMPTS = [  # the payer's actions, in order
    ["decline", "ask"],
    ["decline", "ask", "refuse"],
    ["ask", "refuse", "decline"],
    ["decline", "debit"],
    ["debit", "bounce", "ask"],
    ["decline", "decline", "ask", "refuse", "debit"],
]


def attempt(processor, intent_id, act):
    if act in ("decline", "ask", "debit"):
        card = {"decline": "4000000000000002", "ask": "4000002760003184", "debit": "000123456789"}[act]
        try:
            processor.pay(intent_id, card)
        except Exception as error:  # pylint: disable=broad-exception-caught
            assert act == "decline", error
    elif act == "refuse":
        processor.authenticate(intent_id, ok=False)
    else:
        processor.settle(intent_id, ok=False)


def payment_states(shop, payment):
    found = shop.admin.get(f"{PAY}/payments/{payment}", expect=200).json()
    return found["status"], found["failure_code"], found["failure_message"]


@pytest.mark.parametrize("acts", ATTEMPTS, ids="-".join)
@pytest.mark.parametrize("seed", range(3))
def test_attempts_in_any_order(shop, processor, payments, db, acts, seed):
    """All attempts happen within about a second, and their events arrive in any order, some of them twice: the payment has the same state as at the
    processor, and each decline is emitted once."""
    schema = shop.project.schema(db)
    listen(schema, db)
    shop.set_switches(paused=True)
    made = shop.admin.post(f"{PAY}/payments", {"type": "one_off", "amount": 20, "currency": "usd", "mode": "intent"}, expect=201).json()
    for act in acts:
        attempt(processor, made["reference"], act)
    texts = [processor.event_payload(each["id"]) for each in shop.events()]
    deliveries = texts + random.Random(seed).sample(texts, len(texts) // 2)
    random.Random(seed).shuffle(deliveries)
    for text in deliveries:
        assert shop.deliver(text)[0] == 200
    all_applied(schema, db, len(texts))
    at_processor = processor.get(made["reference"])
    ended = at_processor["status"] == "requires_payment_method"
    error = at_processor["last_payment_error"] if ended else {"code": None, "message": None}
    assert payment_states(shop, made["id"]) == ("failed" if ended else at_processor["status"], error["code"], error["message"])
    declines = sum(act in ("decline", "refuse", "bounce") for act in acts)
    emitted = rows(db, f"select payload->>'status', payload->>'failure_code' is not null from {schema}.outbox where event = 'PaymentFailed'")
    assert emitted == [("failed", True)] * declines


@pytest.mark.parametrize("seed", range(3))
def test_refunds_that_fail_in_any_order(shop, processor, payments, db, seed):
    shop.set_switches(paused=True)
    made = shop.admin.post(f"{PAY}/payments", {"type": "one_off", "amount": 20, "currency": "usd", "mode": "intent"}, expect=201).json()
    processor.pay(made["reference"])
    processor.refund(made["reference"], 500)
    processor.refund(made["reference"])
    processor.fail_refund(shop.objects("refund")[-1]["id"])
    texts = [processor.event_payload(each["id"]) for each in shop.events()]
    deliveries = texts + random.Random(seed).sample(texts, len(texts) // 2)
    random.Random(seed).shuffle(deliveries)
    for text in deliveries:
        assert shop.deliver(text)[0] == 200
    all_applied(shop.project.schema(db), db, len(texts))
    found = shop.admin.get(f"{PAY}/payments/{made['id']}", expect=200).json()
    assert (found["status"], found["amount_refunded"]) == ("partially_refunded", 5)


def test_a_decline_that_comes_late(project, webhook, db):
    """A decline that arrives after the next attempt began is emitted, and does not stop this attempt."""
    hooks = Hooks(project, webhook, db)
    listen(hooks.schema, db)
    now = int(time.time())
    payment, pi = hooks.payment("requires_payment_method")
    error = {"type": "card_error", "code": "card_declined", "message": "Your card was declined."}

    def failed(charge, at):
        return event("payment_intent.payment_failed", intent(pi, "requires_payment_method", latest_charge=charge,
                                                             last_payment_error={**error, "charge": charge}), at=at)

    told = [failed("ch_1", now - 40), event("payment_intent.requires_action", intent(pi, "requires_action", latest_charge="ch_1"), at=now - 30),
            failed("ch_2", now - 20), event("payment_intent.processing", intent(pi, "processing", latest_charge="ch_3"), at=now - 10)]
    for each in (told[1], told[0]):
        hooks.send_accepted(each)
        hooks.wait(each)
    assert hooks.status(payment) == "requires_action" and hooks.emitted("PaymentFailed") == [payment]
    for each in (told[3], told[2], told[0], told[2]):
        hooks.send_accepted(each)
        hooks.wait(each)
    assert hooks.status(payment) == "processing" and hooks.emitted("PaymentFailed") == [payment] * 2
    assert rows(db, f"select failure_code, failure_message from {hooks.schema}.payments") == [(None, None)]

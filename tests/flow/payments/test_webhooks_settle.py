"""Calls whose answer was lost, and payments that no event reported: the timer queries the processor, and nothing is done twice."""
import secrets

import pytest
import requests

from groundwork.deadline import at_most, until
from groundwork.records import execute, rows
from groundwork.runs import condition
from groundwork.workflows import workflow

HOUR = 3600


class Till:
    """Rows of a shop that the timer is to settle."""

    def __init__(self, shop, db):
        self.shop, self.db = shop, db
        self.schema = shop.project.schema(db)

    def call(self, path, form):
        """Makes a call to the processor as the shop itself, outside of Groundwork."""
        answer = requests.post(self.shop.processor.url + path, data=form, timeout=60, headers={
            "Authorization": f"Bearer {self.shop.key}", "Stripe-Account": self.shop.account, "Idempotency-Key": secrets.token_hex(8)})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def add(self, table, age=0, **columns):
        """Inserts a row that is `age` seconds old and due now. Returns its id, which also replaces #ID# in its form."""
        names = ", ".join(columns)
        made = rows(self.db, f"insert into {self.schema}.{table} ({names}) values ({', '.join(['%s'] * len(columns))}) returning id",
                    *columns.values())[0][0]
        execute(self.db, f"update {self.schema}.{table} set call_form = replace(call_form, '#ID#', id::text),"
                         " created_at = now() - make_interval(secs => %s), settle_at = now() where id = %s", age, made)
        return made

    def charge(self, method="pm_card_visa", **columns):
        """Inserts a charge of a saved method that may or may not have been made. Returns its id."""
        customer = self.call("/v1/customers", {"email": "payer@example.org"})["id"]
        form = (f"amount=2000&currency=usd&customer={customer}&payment_method={method}&confirm=true&off_session=true"
                "&automatic_payment_methods[enabled]=true&automatic_payment_methods[allow_redirects]=never"
                f"&metadata[project_id]={self.shop.project.id}&metadata[payment_id]=#ID#")
        return self.add("payments", **{"type": "saved_method", "amount_minor": 2000, "currency": "usd", "customer": customer, "call_form": form,
                                       "call_key": f"gw:{secrets.token_hex(8)}", "call_path": "/v1/payment_intents", **columns})

    def checkout(self, **columns):
        form = ("mode=payment&line_items[0][quantity]=1&line_items[0][price_data][currency]=usd"
                "&line_items[0][price_data][unit_amount]=2000&line_items[0][price_data][product_data][name]=Thing"
                "&success_url=https://example.org/ok&cancel_url=https://example.org/no"
                f"&metadata[project_id]={self.shop.project.id}&metadata[payment_id]=#ID#"
                f"&payment_intent_data[metadata][project_id]={self.shop.project.id}&payment_intent_data[metadata][payment_id]=#ID#")
        return self.add("payments", **{"type": "one_off", "amount_minor": 2000, "currency": "usd", "call_form": form,
                                       "call_key": f"gw:{secrets.token_hex(8)}", "call_path": "/v1/checkout/sessions", **columns})

    def get(self, id_, *columns, table="payments"):
        found = rows(self.db, f"select {', '.join(columns)} from {self.schema}.{table} where id = %s", id_)[0]
        return found[0] if len(columns) == 1 else found

    def wait_status(self, id_, status, table="payments", within=15):
        """Waits until the row has the status. A call that was answered too slowly, on a busy machine, is put off without a lease, so its row is made
        due again at once."""
        def found():
            if self.get(id_, "status", table=table) == status:
                return True
            execute(self.db, f"update {self.schema}.{table} set settle_at = now() where id = %s"
                             " and settle_at between now() + interval '5 seconds' and now() + interval '90 seconds'", id_)
            return False

        until(found, status, within)

    def make_due(self, id_, table="payments"):
        execute(self.db, f"update {self.schema}.{table} set settle_at = now() where id = %s", id_)

    def emitted(self, name):
        return [r for r, in rows(self.db, f"select (payload->>'id')::bigint from {self.schema}.outbox where event = %s", name)]


@pytest.fixture
def till(shop, payments, db):
    """The rows of a shop whose events are lost."""
    shop.set_switches(drop=True)
    for name in ("PaymentSucceeded", "PaymentFailed", "SubscriptionExpired", "SubscriptionPastDue"):
        workflow(shop.admin, {"kind": "event", "event": name}, [condition()], name=name)
    return Till(shop, db)


def test_a_call_that_was_never_made(till, processor):
    payment = till.charge()
    till.wait_status(payment, "succeeded")
    assert len(till.shop.charges()) == 1 and till.emitted("PaymentSucceeded") == [payment]
    assert till.get(payment, "call_key", "call_path", "call_form", "settle_at") == (None, None, None, None)
    assert till.get(payment, "intent_id") == till.shop.objects("payment_intent")[0]["id"]


@pytest.mark.parametrize("kind", ["timeout", "reset", "garbage"])
def test_a_call_that_was_made_and_not_answered(till, processor, kind):
    """The timer repeats the call with the same key, and the processor answers as it did the first time."""
    till.shop.fault(kind, 4, path="/v1/payment_intents", seconds=4)
    payment = till.charge()
    until(lambda: till.shop.charges(), "it is charged")
    until(lambda: not processor.faults_left(), "each fault has been met", 20)
    till.make_due(payment)
    till.wait_status(payment, "succeeded")
    assert len(till.shop.charges()) == 1 and till.emitted("PaymentSucceeded") == [payment]
    assert len({made["key"] for made in till.shop.requests("POST", "/v1/payment_intents")}) == 1
    processor.assert_never_charged_twice(till.shop.account)


@pytest.mark.parametrize("act", [False, True], ids=["not-done", "done"])
def test_a_call_whose_error_is_kept(till, act):
    """A repeated call returns the same error, so the timer reads the outcome from the processor's list."""
    till.shop.fault("status", 20, method="POST", path="/v1/payment_intents", status=500, act=act)
    payment = till.charge()
    till.wait_status(payment, "succeeded" if act else "failed")
    assert till.get(payment, "call_key", "failure_code") == (None, None if act else "not_carried_out")
    assert len(till.shop.charges()) == act
    assert till.emitted("PaymentSucceeded" if act else "PaymentFailed") == [payment]


def test_a_checkout_whose_error_is_kept(till):
    till.shop.fault("status", 20, method="POST", path="/v1/checkout/sessions", status=500, act=True)
    payment = till.checkout()
    till.wait_status(payment, "failed")
    assert till.get(payment, "failure_code", "call_key", "settle_at") == ("not_carried_out", None, None)


def test_a_declined_call(till):
    payment = till.charge("pm_card_chargeDeclined")
    till.wait_status(payment, "failed")
    code, message, settle_at = till.get(payment, "failure_code", "failure_message", "settle_at")
    assert code == "card_declined" and message and settle_at is None
    assert till.emitted("PaymentFailed") == [payment] and till.shop.charges() == []


def test_a_call_that_is_refused(till):
    payment = till.charge(call_form=f"amount=0&currency=usd&metadata[project_id]={till.shop.project.id}&metadata[payment_id]=#ID#")
    till.wait_status(payment, "failed")
    assert till.get(payment, "failure_code", "call_key", "settle_at")[1:] == (None, None)
    assert till.emitted("PaymentFailed") == [payment]


def test_a_key_that_the_processor_has_forgotten(till):
    """The timer repeats no call after 23 hours, because the processor may have forgotten its key."""
    payment, young = till.charge(age=23 * HOUR + 60), till.charge(age=23 * HOUR - 60)
    till.wait_status(payment, "failed")
    assert till.get(payment, "failure_code", "settle_at") == ("outcome_unknown", None)
    till.wait_status(young, "succeeded")
    assert len(till.shop.requests("POST", "/v1/payment_intents")) == 1
    assert till.emitted("PaymentFailed") == [payment]


def test_a_processor_that_is_away(till, processor):
    till.shop.fault("status", 6, path="/v1/payment_intents", status=503)
    payment = till.charge()
    until(lambda: till.get(payment, "settle_at > now() + interval '10 seconds'"), "later")
    assert till.get(payment, "status", "call_key is not null") == ("requires_payment_method", True)
    processor.clear_faults()
    till.make_due(payment)
    till.wait_status(payment, "succeeded")
    assert len(till.shop.charges()) == 1


def test_an_intent_is_read(till):
    """The event of an intent was lost: the timer reads the intent."""
    made = till.call("/v1/payment_intents", {"amount": 2000, "currency": "usd", "confirm": "true", "payment_method": "pm_card_visa",
                                             "automatic_payment_methods[enabled]": "true",
                                             "automatic_payment_methods[allow_redirects]": "never"})
    payment = till.add("payments", type="one_off", amount_minor=2000, currency="usd", status="processing", intent_id=made["id"])
    till.wait_status(payment, "succeeded")
    assert till.get(payment, "settle_at") is None and till.emitted("PaymentSucceeded") == [payment]


def test_what_is_open_is_read_again(till):
    made = till.call("/v1/payment_intents", {"amount": 2000, "currency": "usd"})
    payment = till.add("payments", age=HOUR, type="one_off", amount_minor=2000, currency="usd", status="requires_payment_method",
                       intent_id=made["id"])
    until(lambda: till.get(payment, "settle_at > now() + interval '25 minutes'"), "after half its age")
    till.shop.processor.pay(made["id"])
    till.make_due(payment)
    till.wait_status(payment, "succeeded")


def test_an_object_that_is_not_there(till):
    payment = till.add("payments", type="one_off", amount_minor=2000, currency="usd", status="processing", intent_id="pi_gone")
    until(lambda: till.shop.requests("GET", "/v1/payment_intents/pi_gone"), "asked")
    until(lambda: till.get(payment, "settle_at > now() + interval '20 seconds'"), "and again later")
    assert till.get(payment, "status") == "processing"


def test_a_checkout_from_call_to_payment(till, processor):
    payment = till.checkout()
    until(lambda: till.get(payment, "session_id"), "made")
    assert till.get(payment, "status", "call_key") == ("requires_payment_method", None)
    session = till.get(payment, "session_id")
    processor.complete(session)
    till.make_due(payment)
    till.wait_status(payment, "succeeded")
    assert len(till.shop.objects("checkout.session")) == 1 and till.emitted("PaymentSucceeded") == [payment]


def test_a_checkout_that_nobody_completes(till, processor):
    payment = till.checkout()
    until(lambda: till.get(payment, "session_id"), "made")
    processor.expire(till.get(payment, "session_id"))
    till.make_due(payment)
    until(lambda: till.get(payment, "status") in ("canceled", "failed"), "over")
    assert till.get(payment, "settle_at") is None


def subscribed(till, processor):
    """Returns a subscription that the timer has followed from its call until it is active."""
    price = till.call("/v1/prices", {"currency": "usd", "unit_amount": 900, "recurring[interval]": "month", "product_data[name]": "Gold"})
    slug = till.shop.project.id
    made = till.add("subscriptions", customer_email="payer@example.org", call_key=f"gw:{secrets.token_hex(8)}",
                    call_path="/v1/checkout/sessions",
                    call_form=f"mode=subscription&line_items[0][price]={price['id']}&line_items[0][quantity]=1"
                              "&success_url=https://example.org/ok&cancel_url=https://example.org/no&customer_email=payer@example.org"
                              f"&metadata[project_id]={slug}&metadata[subscription_id]=#ID#"
                              f"&subscription_data[metadata][project_id]={slug}&subscription_data[metadata][subscription_id]=#ID#")
    until(lambda: till.get(made, "session_id", table="subscriptions"), "its checkout is made")
    processor.complete(till.get(made, "session_id", table="subscriptions"))
    till.make_due(made, "subscriptions")
    till.wait_status(made, "active", "subscriptions")
    return made


def test_a_subscription_is_read(till, processor):
    made = subscribed(till, processor)
    assert till.get(made, "provider_subscription_id", table="subscriptions") == till.shop.objects("subscription")[0]["id"]
    until(lambda: till.get(made, "call_key", "extract(epoch from settle_at - current_period_end)::int", table="subscriptions") ==
          (None, HOUR), "it is settled until its period is over")
    assert len(till.shop.objects("subscription")) == 1


def test_a_renewal_that_nobody_reported(till, processor):
    """The period of the subscription is over and no event arrived: the timer queries the processor for the next period."""
    made = subscribed(till, processor)
    at_processor = till.shop.objects("subscription")[0]["id"]
    ends = till.get(made, "current_period_end", table="subscriptions")
    processor.renew(at_processor)
    till.make_due(made, "subscriptions")
    until(lambda: till.get(made, "current_period_end", table="subscriptions") > ends, "the next period")
    assert till.get(made, "settle_at > current_period_end", "status", table="subscriptions") == (True, "active")
    till.make_due(made, "subscriptions")
    until(lambda: till.get(made, "settle_at > now() + interval '20 hours'", table="subscriptions"), "nothing new")
    processor.cancel(at_processor)
    till.make_due(made, "subscriptions")
    till.wait_status(made, "canceled", "subscriptions")
    until(lambda: till.get(made, "settle_at", table="subscriptions") is None, "the timer has nothing left to query")
    assert len(till.emitted("SubscriptionExpired")) == 1


def test_a_failed_renewal_that_nobody_reported(till, processor):
    """The timer reads the reason from the invoice of a past-due subscription."""
    made = subscribed(till, processor)
    processor.fail_renewal(till.shop.objects("subscription")[0]["id"])
    till.make_due(made, "subscriptions")
    till.wait_status(made, "past_due", "subscriptions")
    failed = rows(till.db, f"select id, type, subscription_id, failure_code from {till.schema}.payments where status = 'failed'")
    assert [each[1:] for each in failed] == [("recurring", made, "card_declined")]
    assert till.emitted("PaymentFailed") == [failed[0][0]] and till.emitted("SubscriptionPastDue") == [made]
    till.make_due(made, "subscriptions")
    until(lambda: till.get(made, "settle_at > now()", table="subscriptions"), "it is read again")
    assert till.emitted("PaymentFailed") == [failed[0][0]] and till.emitted("SubscriptionPastDue") == [made]


def test_a_subscription_whose_call_is_forgotten(till):
    made = till.add("subscriptions", age=24 * HOUR, call_key="gw:old", call_path="/v1/checkout/sessions", call_form="mode=subscription")
    till.wait_status(made, "incomplete_expired", "subscriptions")
    assert till.shop.requests("POST", "/v1/checkout/sessions") == []
    assert till.get(made, "metadata->>'failure_code'", table="subscriptions") == "outcome_unknown"


def test_a_subscription_that_is_refused(till):
    """The history records the refusal, and the code for the discount can be used again."""
    db, schema = till.db, till.schema
    form = ("customer=cus_nobody&mode=subscription&line_items[0][price]=price_none&line_items[0][quantity]=1"
            "&success_url=https://example.org/done")
    made = rows(db, f"insert into {schema}.subscriptions (call_key, call_path, call_form) values"
                    " ('gw:refused', '/v1/checkout/sessions', %s) returning id", form)[0][0]
    offer = rows(db, f"insert into {schema}.offers (name, kind, percent_off) values ('Less', 'percent', 10) returning id")[0][0]
    code = rows(db, f"insert into {schema}.offer_codes (offer_id, code, redeemed) values (%s, 'LESS', 1) returning id", offer)[0][0]
    execute(db, f"insert into {schema}.offer_redemptions (offer_id, code_id, user_id, subscription_id) values (%s, %s, 1, %s)",
            offer, code, made)
    till.make_due(made, "subscriptions")
    till.wait_status(made, "incomplete_expired", "subscriptions")
    reason = till.get(made, "metadata->>'failure_code'", table="subscriptions")
    assert rows(db, f"select from_status, to_status, detail->>'failure_code' from {schema}.subscription_history"
                    " where subscription_id = %s", made) == [("incomplete", "incomplete_expired", reason)]
    assert rows(db, f"select redeemed from {schema}.offer_codes where id = %s", code) == [(0,)]
    assert rows(db, f"select count(*) from {schema}.offer_redemptions where subscription_id = %s", made) == [(0,)]
    assert till.emitted("SubscriptionExpired") == []


def test_a_subscription_whose_charge_is_declined(till):
    """The refusal names an intent whose invoice was removed together with the subscription: this intent does not set the state of the subscription,
    and no payment is recorded."""
    customer = till.call("/v1/customers", {"email": "payer@example.org"})["id"]
    product = till.call("/v1/products", {"name": "Gold"})["id"]
    form = (f"customer={customer}&items[0][price_data][currency]=usd&items[0][price_data][unit_amount]=500"
            "&items[0][price_data][recurring][interval]=month&items[0][price_data][recurring][interval_count]=1"
            f"&items[0][price_data][product]={product}&items[0][quantity]=1&default_payment_method=pm_card_chargeCustomerFail"
            f"&off_session=true&payment_behavior=error_if_incomplete&metadata[project_id]={till.shop.project.id}"
            "&metadata[subscription_id]=#ID#")
    made = till.add("subscriptions", customer=customer, call_key="gw:declined", call_path="/v1/subscriptions", call_form=form)
    till.wait_status(made, "incomplete_expired", "subscriptions")
    assert till.get(made, "metadata->>'failure_code'", table="subscriptions") == "card_declined"
    assert rows(till.db, f"select count(*) from {till.schema}.payments") == [(0,)]


def test_many_at_once_by_several_daemons(till, start_payments, processor):
    start_payments(WORKERS=2)
    made = [till.charge() for _ in range(20)]
    for payment in made:
        till.wait_status(payment, "succeeded")
    assert len(till.shop.charges()) == len(made)
    # A call that takes longer than its lease is repeated, always with its own key.
    assert len({each["key"] for each in till.shop.requests("POST", "/v1/payment_intents")}) == len(made)
    assert sorted(till.emitted("PaymentSucceeded")) == sorted(made)
    processor.assert_never_charged_twice(till.shop.account)


def test_events_and_the_timer_at_once(shop, payments, db, processor):
    """An event and the timer report the same payment: it has one final state, which is emitted once."""
    workflow(shop.admin, {"kind": "event", "event": "PaymentSucceeded"}, [condition()])
    till = Till(shop, db)
    made = [till.charge() for _ in range(10)]
    for payment in made:
        till.wait_status(payment, "succeeded")
    shop.wait_applied(db)
    assert sorted(till.emitted("PaymentSucceeded")) == sorted(made)
    assert len(shop.charges()) == len(made)


@pytest.mark.timed
def test_a_shutdown_does_not_wait_for_the_processor(till, start_payments, processor):
    """K20: a shutdown abandons a hanging call before its timeout, and another daemon settles the row."""
    daemon = start_payments(PROCESSOR_TIMEOUT_MS=80000)
    till.shop.fault("timeout", 50, path="/v1/payment_intents", seconds=600)
    made = []
    while "groundwork_settled_total 0" in daemon.metrics():  # the other daemon may take a row first, so add rows until this daemon has one
        assert len(made) < 10, "this daemon takes no row"
        made.append(till.charge())
        until(lambda: till.get(made[-1], "settle_at > now() + interval '1 minute'"), "a daemon has taken the row")
    with at_most(10, "the shutdown"):
        assert daemon.stop(60) == 0
    processor.clear_faults()
    for payment in made:
        till.make_due(payment)
    for payment in made:
        till.wait_status(payment, "succeeded")
    processor.assert_never_charged_twice(till.shop.account)

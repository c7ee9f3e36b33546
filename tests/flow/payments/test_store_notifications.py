"""W7: notifications of the app store, from the request to their effects. The verdict of the store's own library (@apple/app-store-server-library,
installed by npm) on each notification is compared with the answer of the service."""
import base64
import itertools
import json
import pathlib
import shutil
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from cryptography.hazmat.primitives import serialization

from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.store import *  # noqa: F403
from groundwork.store import PAY, rename_subscription
from store.app import DAY, account_token, now_ms
from store.chain import Chain
from store.faults import FAULTS, PRODUCTION_FAULTS

FOLDER = pathlib.Path(__file__).parents[1] / "store"


# --- refused requests ---


@pytest.fixture(scope="module")
def library():
    """A function that returns the verdicts of the store's library on signed payloads."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if not (FOLDER / "node_modules/@apple/app-store-server-library").is_dir():
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install the store's library: {done.stderr[-500:]}")

    def ask(app, tokens):
        root = base64.b64encode(app.chain.root.public_bytes(serialization.Encoding.DER)).decode()
        orders = [{"root": root, "bundle": app.bundle, "appId": app.app_id, "environment": app.environment, "token": token}
                  for token in tokens]
        done = subprocess.run(["node", "verify.mjs"], cwd=FOLDER, input="".join(json.dumps(o) + "\n" for o in orders),
                              capture_output=True, text=True, timeout=120)
        verdicts = [json.loads(line)["ok"] for line in done.stdout.splitlines()]
        assert len(verdicts) == len(tokens), done.stderr
        return verdicts

    return ask


def faults(app):
    return {**FAULTS, **(PRODUCTION_FAULTS if app.environment == "Production" else {})}


def good(outlet, app):
    kind, subtype, options = outlet.new_subscription(app.environment).buy()
    return app.notification(kind, subtype, **options)


@pytest.mark.parametrize("environment", ["Sandbox", "Production"])
def test_faults(outlet, environment):
    app = outlet.sandbox if environment == "Sandbox" else outlet.production
    before = outlet.count_events()
    for name, fault in faults(app).items():
        kind, subtype, options = outlet.new_subscription(environment).buy()
        answer = outlet.post(fault(app, app.notification(kind, subtype, **options)))
        assert 400 <= answer.status_code < 500, (name, answer.status_code)
        # The answer does not show the sender what was wrong with a signature.
        assert "certificate" not in answer.text and "x5c" not in answer.text, name
        assert outlet.subscription(options["transaction"]["originalTransactionId"]) is None
    assert outlet.count_events() == before
    assert outlet.post(app.chain.sign(good(outlet, app))).status_code == 200


@pytest.mark.parametrize("environment", ["Sandbox", "Production"])
def test_the_library_agrees(outlet, library, environment):
    """The service and the library accept every type that the test store sends, and both refuse every fault."""
    app = outlet.sandbox if environment == "Sandbox" else outlet.production
    tokens = {f"good {name}": app.signed(kind, subtype, **options)
              for name, (kind, subtype, options) in stories(outlet, environment).items()}
    tokens["good TEST"] = app.signed("TEST")
    tokens["good ONE_TIME_CHARGE"] = app.signed("ONE_TIME_CHARGE", transaction=app.purchase())
    tokens |= {name: fault(app, good(outlet, app)) for name, fault in faults(app).items()}
    verdicts = dict(zip(tokens, library(app, list(tokens.values()))))
    ours = {name: outlet.post(token).status_code == 200 for name, token in tokens.items()}
    assert ours == verdicts
    assert all(verdict == name.startswith("good ") for name, verdict in verdicts.items()), verdicts


def stories(outlet, environment):
    """Returns the last notification of each kind of story."""
    def after(*steps):
        one = outlet.new_subscription(environment)
        one.buy()
        return [step(one) for step in steps][-1]

    return {
        "buy": outlet.new_subscription(environment).buy(), "trial": outlet.new_subscription(environment).buy(trial="P1W"),
        "renew": after(lambda s: s.renew()), "recover": after(lambda s: s.fail(), lambda s: s.renew(recovered=True)),
        "off": after(lambda s: s.renewal(False)), "on": after(lambda s: s.renewal(True)),
        "upgrade": after(lambda s: s.upgrade("pro_yearly")), "downgrade": after(lambda s: s.downgrade("basic")),
        "fail": after(lambda s: s.fail()), "grace": after(lambda s: s.fail(16 * DAY)),
        "grace over": after(lambda s: s.fail(16 * DAY), lambda s: s.grace_over()), "expire": after(lambda s: s.expire()),
        "refund": after(lambda s: s.refund()), "prorated": after(lambda s: s.refund("REFUND_PRORATED")),
        "reversed": after(lambda s: s.refund(), lambda s: s.refund_reversed()), "revoke": after(lambda s: s.revoke()),
        "extend": after(lambda s: s.extend(7)),
    }


def test_environments(spare_outlet):
    """A notification of an environment that is not enabled is refused. A notification of the enabled environment is refused if its transaction
    belongs to the other one."""
    sandbox, production = spare_outlet.sandbox, spare_outlet.production
    spare_outlet.configure(environments=["production"])
    assert spare_outlet.post(production.chain.sign(good(spare_outlet, production))).status_code == 200
    before = spare_outlet.count_events()
    assert spare_outlet.post(sandbox.chain.sign(good(spare_outlet, sandbox))).status_code in range(400, 500)
    kind, subtype, options = spare_outlet.new_subscription("Sandbox").buy()
    assert spare_outlet.post(production.signed(kind, subtype, **options)).status_code in range(400, 500)
    assert spare_outlet.count_events() == before
    spare_outlet.configure(environments=["sandbox"])
    before = spare_outlet.count_events()
    assert spare_outlet.post(production.chain.sign(good(spare_outlet, production))).status_code in range(400, 500)
    assert spare_outlet.count_events() == before
    assert spare_outlet.post(sandbox.chain.sign(good(spare_outlet, sandbox))).status_code == 200


def test_another_project(outlet, spare_outlet):
    """A notification belongs to one app: it has no effect at the address of another project."""
    spare_outlet.configure(bundle_id="com.example.other")
    token = outlet.sandbox.chain.sign(good(outlet, outlet.sandbox))
    before = spare_outlet.count_events()
    assert spare_outlet.post(token).status_code in range(400, 500) and spare_outlet.count_events() == before
    assert outlet.post(token).status_code == 200


def test_age(outlet):
    app = outlet.sandbox
    assert outlet.post(app.signed("TEST", signed_ms=now_ms() - 7 * DAY - 60000)).status_code == 400
    assert outlet.post(app.signed("TEST", signed_ms=now_ms() + 360000)).status_code == 400
    assert outlet.post(app.signed("TEST", signed_ms=now_ms() - 7 * DAY + 60000)).status_code == 200
    assert outlet.post(app.signed("TEST", signed_ms=now_ms() + 240000)).status_code == 200


def test_sizes(outlet):
    app = outlet.sandbox
    assert outlet.post(app.signed("TEST", padding="x" * 20000)).status_code == 200
    assert outlet.post(app.signed("TEST", padding="x" * 60000)).status_code == 413
    for body in (b"", b"{}", b"[]", b'{"signedPayload":7}', b"\xff", b'{"signedPayload":"' + b"a" * 70000 + b'"}'):
        answer = requests.post(outlet.url, data=body, headers={"Content-Type": "application/json"}, timeout=60)
        assert answer.status_code in (400, 413), body[:30]


def test_repeats(outlet):
    """One notification is delivered a hundred times in parallel and once more later: it has one effect."""
    kind, subtype, options = outlet.new_subscription().buy()
    payload = outlet.sandbox.notification(kind, subtype, **options)
    token = outlet.sandbox.chain.sign(payload)
    before = outlet.count_events()
    with ThreadPoolExecutor(20) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: outlet.post(token), range(100))} == {200}
    outlet.wait(f"Sandbox:{payload['notificationUUID']}")
    assert outlet.count_events() == before + 1
    # The store's next signer signs the payload again, with the same id.
    assert outlet.post(Chain(parent=outlet.sandbox.chain).sign(payload)).status_code == 200
    assert outlet.count_events() == before + 1
    assert len(outlet.history(options["transaction"]["originalTransactionId"])) == 1


# --- the effects of each type ---


def check(outlet, steps, status, word, **columns):
    """Sends the steps in order, checks the state of the subscription and returns its row."""
    original = steps[0][2]["transaction"]["originalTransactionId"]
    for step in steps:
        state, about, effect = outlet.deliver(outlet.sandbox, *step)
        assert state == "applied" and about.startswith("subscription:"), (step[0], state, effect)
    row = outlet.subscription(original)
    found = {"status": row["status"], "store_status": row["store_status"], **{name: row[name] for name in columns}}
    assert found == {"status": status, "store_status": word, **columns}, [step[:2] for step in steps]
    assert row["provider"] == "iap_store" and row["emitted"] == 0
    return row


def ms(text):
    """Converts a timestamp, as PostgreSQL prints it in JSON, to milliseconds."""
    import dateutil.parser
    return None if text is None else round(dateutil.parser.isoparse(text).timestamp() * 1000)


@pytest.mark.parametrize("with_status", [True, False])
def test_life(outlet, with_status):
    """Each step of a long life has the expected effect, with data.status and without."""
    one = outlet.new_subscription(status=with_status)
    row = check(outlet, [one.buy()], "active", None, cancel_at_period_end=False, canceled_at=None, ended_at=None,
                amount_minor=999, currency="usd", environment="Sandbox", store_product_id="pro_monthly")
    assert ms(row["current_period_end"]) == one.expires and row["store_transaction_id"] == one.transaction
    row = check(outlet, [one.renewal(False)], "active", None, cancel_at_period_end=True)
    assert ms(row["canceled_at"]) == one.clock
    check(outlet, [one.renewal(True)], "active", None, cancel_at_period_end=False, canceled_at=None)
    check(outlet, [one.downgrade("basic")], "active", None, store_product_id="pro_monthly")
    check(outlet, [one.downgrade("pro_monthly")], "active", None)
    check(outlet, [one.upgrade("pro_yearly")], "active", None, store_product_id="pro_yearly")
    row = check(outlet, [one.renew()], "active", None)
    assert ms(row["current_period_end"]) == one.expires
    row = check(outlet, [one.fail(16 * DAY)], "past_due", "in_grace")
    assert ms(row["grace_end"]) == one.expires + 16 * DAY
    row = check(outlet, [one.grace_over()], "past_due", "billing_retry")
    assert ms(row["grace_end"]) == one.expires
    check(outlet, [one.renew(recovered=True)], "active", None, grace_end=None)
    row = check(outlet, [one.extend(14)], "active", None)
    assert ms(row["current_period_end"]) == one.expires
    check(outlet, [one.fail()], "past_due", "billing_retry")
    row = check(outlet, [one.expire("BILLING_RETRY")], "canceled", "expired")
    assert row["ended_at"] and row["canceled_at"]
    row = check(outlet, [one.resubscribe()], "active", None, ended_at=None, canceled_at=None, cancel_at_period_end=False)
    check(outlet, [one.refund()], "canceled", "revoked")
    check(outlet, [one.refund_reversed()], "active", None, ended_at=None)
    check(outlet, [one.revoke()], "canceled", "revoked")
    told = outlet.history(one.original)
    assert [row[2] for row in told[:1]] == ["active"] and told[0][1] is None
    assert all(before[2] == after[1] for before, after in zip(told, told[1:]))
    assert len(told) == 17


@pytest.mark.parametrize("kind,subtype", [
    ("PRICE_INCREASE", "PENDING"), ("PRICE_INCREASE", "ACCEPTED"), ("PRICE_CHANGE", None), ("METADATA_UPDATE", None),
    ("MIGRATION", None), ("REFUND_DECLINED", None), ("CONSUMPTION_REQUEST", None), ("RENEWAL_EXTENSION", "FAILURE"),
    ("OFFER_REDEEMED", "DOWNGRADE"), ("DID_CHANGE_RENEWAL_PREF", None),
])
def test_what_changes_nothing(outlet, kind, subtype):
    one = outlet.new_subscription(status=False)
    before = check(outlet, [one.buy(), one.fail(DAY)], "past_due", "in_grace")
    after = check(outlet, [one.make_step(kind, subtype)], "past_due", "in_grace")
    for name in ("current_period_end", "grace_end", "plan_id", "cancel_at_period_end"):
        assert after[name] == before[name]
    assert len(outlet.history(one.original)) == 3


@pytest.mark.parametrize("subtype,status", [("INITIAL_BUY", "active"), ("RESUBSCRIBE", "active"), ("UPGRADE", "active"),
                                            (None, "active")])
def test_offers(outlet, subtype, status):
    one = outlet.new_subscription(status=False)
    row = check(outlet, [one.make_step("OFFER_REDEEMED", subtype, offerType=3, offerIdentifier="SPRING")], status, None)
    assert row["metadata"]["offer_id"] == "SPRING"


@pytest.mark.parametrize("period,days", [("P3D", 3), ("P1W", 7), ("P2W", 14), ("P1M", 30), (None, 30)])
def test_trials(outlet, period, days):
    one = outlet.new_subscription()
    one.extra = {"offerType": 1, "offerDiscountType": "FREE_TRIAL", "price": 0, **({"offerPeriod": period} if period else {})}
    row = check(outlet, [one.make_step("SUBSCRIBED", "INITIAL_BUY")], "trialing", None, trial_length_days=days)
    assert ms(row["trial_end"]) == one.expires
    # The paid period ends the trial, but trial_length_days stays.
    check(outlet, [one.renew()], "active", None, trial_length_days=days)


@pytest.mark.parametrize("status,api,word", [(1, "active", None), (2, "canceled", "expired"), (3, "past_due", "billing_retry"),
                                             (4, "past_due", "in_grace"), (5, "canceled", "revoked"), (9, "active", None)])
def test_the_status_of_the_store_counts(outlet, status, api, word):
    one = outlet.new_subscription()
    check(outlet, [one.make_step("DID_RENEW", status=status)], api, word)


def test_prorated_refund(outlet):
    one = outlet.new_subscription()
    row = check(outlet, [one.buy(), one.refund("REFUND_PRORATED")], "active", None)
    assert ms(row["current_period_end"]) == one.clock - 1000  # the time of the refund
    row = check(outlet, [one.refund_reversed()], "active", None)
    assert ms(row["current_period_end"]) == one.expires


def test_refund_of_an_earlier_period(outlet):
    """A refund of an earlier period does not end the current period."""
    one = outlet.new_subscription()
    first = {"transactionId": one.transaction, "expiresDate": one.expires, "purchaseDate": one.starts}
    steps = [one.buy(), one.renew(), one.refund(**first)]
    steps[2][2]["status"] = 1
    row = check(outlet, steps, "active", None)
    assert ms(row["current_period_end"]) == one.expires and row["store_transaction_id"] == one.transaction
    # The renewal was not reported: its date is in the renewal info.
    two = outlet.new_subscription()
    first = {"transactionId": two.transaction, "expiresDate": two.expires, "purchaseDate": two.starts}
    bought = two.buy()
    two.renew()
    steps = [bought, two.refund(**first)]
    steps[1][2]["status"] = 1
    check(outlet, steps, "active", None)


def test_types_without_a_purchase(outlet):
    app = outlet.sandbox
    for kind, options in (
        ("TEST", {}),
        ("RENEWAL_EXTENSION", {"subtype": "SUMMARY", "part": "summary", "requestIdentifier": "x", "productId": "pro",
                               "succeededCount": 5, "failedCount": 0}),
        ("RESCIND_CONSENT", {"part": "appData"}),
    ):
        assert outlet.deliver(app, kind, options.pop("subtype", None), options)[:2] == ("ignored", None)
    payload = app.notification("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", part="externalPurchaseToken",
                               externalPurchaseId=f"SANDBOX_{uuid.uuid4()}", tokenCreationDate=now_ms(), environment=None)
    assert outlet.post(app.chain.sign(payload)).status_code == 200
    assert outlet.wait(f"Sandbox:{payload['notificationUUID']}")[0] == "ignored"


def test_types_that_are_new(outlet):
    one = outlet.new_subscription()
    state, about, _ = outlet.deliver(outlet.sandbox, *one.make_step("SOMETHING_NEW", "VERY_NEW"))
    assert state == "unsupported" and about is None and outlet.subscription(one.original) is None
    # New values in known members, and new members.
    kind, subtype, options = one.buy()
    options["transaction"].update(inAppOwnershipType="BORROWED", offerType=99, newMember={"deep": [1]}, price=None)
    options["renewal"].update(priceIncreaseStatus=7, expirationIntent=12, autoRenewStatus=None)
    check(outlet, [(kind, "ANOTHER_SUBTYPE", options)], "active", None)


# --- order ---


FAMILIES = {
    "bought, cancelled, renewed, expired": lambda s: [s.buy(), s.renewal(False), s.renewal(True), s.renew(), s.expire()],
    "grace and recovery": lambda s: [s.buy(), s.fail(16 * DAY), s.grace_over(), s.renew(recovered=True)],
    "refund and reversal": lambda s: [s.buy(trial="P1W"), s.renew(), s.refund(), s.refund_reversed()],
    "upgrade, revoked, back": lambda s: [s.buy(), s.upgrade("pro_yearly"), s.revoke(), s.resubscribe()],
    "prorated, price, expired": lambda s: [s.buy(), s.refund("REFUND_PRORATED"), s.make_step("PRICE_INCREASE", "PENDING"), s.expire()],
}


@pytest.mark.parametrize("with_status", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_order(outlet, family, with_status):
    """Every order of delivery leads to the same final state and the same history."""
    user = outlet.project.user().user["id"]
    story = outlet.new_subscription(status=with_status, token=account_token(user))
    steps = [list(step) for step in FAMILIES[family](story)]
    orders = list(itertools.permutations(range(len(steps))))
    idents = []

    def deliver(number):
        told = rename_subscription(steps, f"x{number}")
        for place in orders[number]:
            kind, subtype, options = told[place]
            # The ids sort in the order of the steps, so that only the order of delivery differs.
            options = {**options, "ids": f"{place}{uuid.uuid4().hex}"}
            idents.append(outlet.deliver(outlet.sandbox, kind, subtype, options, wait=False))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(deliver, range(len(orders))))
    for ident in idents:
        assert outlet.wait(ident)[0] == "applied"
    finals = set()
    for number in range(len(orders)):
        suffix = f"x{number}"
        row = outlet.subscription(story.original + suffix)
        for name in ("id", "created_at", "updated_at"):
            row.pop(name)
        text = json.dumps([row, outlet.history(story.original + suffix)], default=str, sort_keys=True)
        finals.add(text.replace(f'{suffix}"', '"'))
    assert len(finals) == 1, sorted(finals)[:2]
    assert json.loads(finals.pop())[0]["subscriber_id"] == user


def test_one_instant(outlet):
    """Two notifications with the same millisecond lead to the same state in both orders."""
    finals = []
    for turn in (1, -1):
        one = outlet.new_subscription(status=False, start_ms=now_ms() // DAY * DAY)
        steps = [one.buy(), one.expire()]
        steps[1][2]["signed_ms"] = steps[0][2]["signed_ms"]
        for step in steps[::turn]:
            outlet.deliver(outlet.sandbox, *step)
        finals.append((outlet.subscription(one.original)["status"], {row[1:3] for row in outlet.history(one.original)}))
    assert finals[0] == finals[1] == ("canceled", {(None, "active"), ("active", "canceled")})


def test_late_news(outlet):
    """A notification that is older than the row's state changes only the history."""
    one = outlet.new_subscription()
    bought, failed, renewed = one.buy(), one.fail(16 * DAY), one.renew(recovered=True)
    outlet.deliver(outlet.sandbox, *bought)
    outlet.deliver(outlet.sandbox, *renewed)
    before = outlet.subscription(one.original)
    state, _, effect = outlet.deliver(outlet.sandbox, *failed)
    assert state == "applied" and "older" in effect
    after = outlet.subscription(one.original)
    assert {k: v for k, v in after.items() if k != "updated_at"} == {k: v for k, v in before.items() if k != "updated_at"}
    assert [row[1:3] for row in outlet.history(one.original)] == [(None, "active"), ("active", "past_due"), ("past_due", "active")]


def test_applied_again(outlet):
    """A notification that is applied again, as by a replay, changes nothing."""
    one = outlet.new_subscription()
    kind, subtype, options = one.buy()
    ident = outlet.deliver(outlet.sandbox, kind, subtype, options, wait=False)
    outlet.wait(ident)
    before = outlet.subscription(one.original)
    execute(outlet.db, f"update {outlet.schema}.webhook_events set state = 'received', attempts = 0, next_attempt_at = now()"
                       " where event_id = %s", ident)
    outlet.wait(ident)
    assert outlet.event(ident, "state", "effect") == ("applied", "nothing: the notification was applied before")
    after = outlet.subscription(one.original)
    before.pop("updated_at"), after.pop("updated_at")
    assert after == before and len(outlet.history(one.original)) == 1


# --- one-time purchases ---


def test_purchase(outlet):
    app = outlet.production
    user = outlet.project.user().user["id"]
    bought = app.purchase(appAccountToken=account_token(user).upper(), quantity=2)
    ident = bought["transactionId"]
    state, about, effect = outlet.deliver(app, "ONE_TIME_CHARGE", None, {"transaction": bought})
    row = outlet.payment(ident)
    assert state == "applied" and about == f"payment:{row['id']}" and "succeeded" in effect
    assert {name: row[name] for name in ("type", "provider", "amount_minor", "currency", "status", "reference", "environment",
                                         "subscriber_id", "description", "emitted", "amount_refunded_minor")} == {
        "type": "one_off", "provider": "iap_store", "amount_minor": 499, "currency": "usd", "status": "succeeded",
        "reference": ident, "environment": "Production", "subscriber_id": user, "description": "coins_100", "emitted": 0,
        "amount_refunded_minor": 0}
    assert ms(row["paid_at"]) == bought["purchaseDate"] and row["metadata"]["quantity"] == 2
    refunded = {**bought, "revocationDate": now_ms(), "revocationReason": 1}
    outlet.deliver(app, "REFUND", None, {"transaction": refunded, "signed_ms": now_ms() + 1000})
    row = outlet.payment(ident)
    assert (row["status"], row["amount_refunded_minor"]) == ("refunded", 499)
    outlet.deliver(app, "REFUND_REVERSED", None, {"transaction": bought, "signed_ms": now_ms() + 2000})
    row = outlet.payment(ident)
    assert (row["status"], row["amount_refunded_minor"]) == ("succeeded", 0)
    part = {**refunded, "revocationType": "REFUND_PRORATED", "revocationPercentage": 50000}
    outlet.deliver(app, "REFUND", None, {"transaction": part, "signed_ms": now_ms() + 3000})
    row = outlet.payment(ident)
    assert (row["status"], row["amount_refunded_minor"]) == ("partially_refunded", 250)


@pytest.mark.parametrize("price,currency,minor", [(4990, "USD", 499), (1000, "JPY", 1), (150000, "JPY", 150), (1234, "KWD", 1234),
                                                  (5000, "ISK", 500), (0, "EUR", 0), (9995, "EUR", 1000), (99990000, "EUR", 9999000)])
def test_prices(outlet, price, currency, minor):
    bought = outlet.sandbox.purchase(price=price, currency=currency)
    outlet.deliver(outlet.sandbox, "ONE_TIME_CHARGE", None, {"transaction": bought})
    row = outlet.payment(bought["transactionId"])
    assert (row["amount_minor"], row["currency"]) == (minor, currency.lower())


def test_purchase_in_every_order(outlet):
    app = outlet.sandbox
    finals = set()
    base = now_ms()
    for order in itertools.permutations(range(3)):
        bought = app.purchase(purchaseDate=base)
        told = [("ONE_TIME_CHARGE", bought), ("REFUND", {**bought, "revocationDate": base}), ("REFUND_REVERSED", bought)]
        for place in order:
            outlet.deliver(app, told[place][0], None, {"transaction": told[place][1], "signed_ms": base + place})
        row = outlet.payment(bought["transactionId"])
        for name in ("id", "reference", "store_transaction_id", "created_at", "updated_at", "metadata"):
            row.pop(name)
        finals.add(json.dumps(row, sort_keys=True))
    assert len(finals) == 1


def test_one_number_in_both_environments(outlet):
    bought = outlet.sandbox.purchase()
    outlet.deliver(outlet.sandbox, "ONE_TIME_CHARGE", None, {"transaction": bought})
    outlet.deliver(outlet.production, "ONE_TIME_CHARGE", None, {"transaction": {**bought, "environment": "Production"}})
    assert rows(outlet.db, f"select environment from {outlet.schema}.payments where store_transaction_id = %s order by 1",
                bought["transactionId"]) == [("Production",), ("Sandbox",)]
    # A notification of the sandbox never changes a subscription of production.
    one = outlet.new_subscription("Production")
    outlet.deliver(outlet.production, *one.buy())
    before = outlet.subscription(one.original)
    one.app = outlet.sandbox
    state, _, effect = outlet.deliver(outlet.sandbox, *one.expire())
    assert "another environment" in effect and outlet.subscription(one.original) == before


# --- plans, users, events ---


def test_plan_and_user(spare_outlet):
    """The plan is found by the product and the subscriber by the token. Notifications of the store emit no events."""
    outlet = spare_outlet
    project = outlet.project
    project.admin.post("/workflows", {
        "name": "Heard", "enabled": True, "trigger": {"kind": "event", "event": "SubscriptionActivated"}, "start_step": "hold",
        "steps": [{"key": "hold", "action": "Condition", "params": {"field": "$svc.trigger.kind", "op": "not_empty"}}]}, expect=201)
    user = project.user_with("svc_subscription_plans:read")
    token = user.get(f"{PAY}/iap-store/account-token", expect=200).json()["app_account_token"]
    execute(outlet.db, f"insert into {outlet.schema}.subscription_plans (plan_name, name, amount_minor, currency, billing_interval,"
                       " store_product_id) values ('pro', 'Pro', 999, 'usd', 'month', 'pro_monthly')")
    plan = rows(outlet.db, f"select id from {outlet.schema}.subscription_plans")[0][0]
    one = outlet.new_subscription(token=token)
    row = check(outlet, [one.buy()], "active", None, plan_id=plan, subscriber_id=user.user["id"])
    assert row["amount_minor"] == 999
    # An upgrade to a product that belongs to no plan of the project.
    check(outlet, [one.upgrade("unknown")], "active", None, plan_id=None)
    # A token that the project did not issue, and the token of a user who does not exist.
    for odd in (str(uuid.uuid4()), account_token(10**9)):
        two = outlet.new_subscription(token=odd)
        row = check(outlet, [two.buy()], "active", None, plan_id=plan, subscriber_id=None)
        assert row["metadata"]["app_account_token"] == odd
    assert rows(outlet.db, f"select count(*) from {outlet.schema}.outbox where event like 'Subscription%%' or event like 'Payment%%'")[0][0] == 0


def test_entitlement(outlet):
    """A user who bought the product in the app has access until the store reports its end, or until the period is over."""
    user = outlet.project.user_with("svc_subscription_plans:read")
    entitlement = f"{PAY}/subscriptions/me/entitlement"
    token = user.get(f"{PAY}/iap-store/account-token", expect=200).json()["app_account_token"]

    def found():
        body = user.get(entitlement, expect=200).json()
        return body["has_access"], body["provider"], body["status"], body["trial_length_days"]

    assert not found()[0]
    one = outlet.new_subscription(token=token)
    for step, access, status in (
        (one.buy(trial="P1W"), True, "trialing"), (one.renew(), True, "active"), (one.renewal(False), True, "active"),
        (one.fail(16 * DAY), True, "in_grace"), (one.renew(recovered=True), True, "active"),
        (one.refund(), False, "revoked"), (one.refund_reversed(), True, "active"), (one.expire(), False, "expired"),
    ):
        outlet.deliver(outlet.sandbox, *step)
        assert found() == (access, "iap_store", status, 7)
    # Access ends with the period, even if the store sends no more notifications.
    two = outlet.new_subscription(token=token, start_ms=now_ms() - 5000, period=3000)
    outlet.deliver(outlet.sandbox, *two.buy())
    assert found()[0] is False


def test_credentials_that_fit_no_more(spare_outlet):
    """After a change of the app's id earlier state stays, and further notifications are refused."""
    one = spare_outlet.new_subscription()
    spare_outlet.deliver(spare_outlet.sandbox, *one.buy())
    spare_outlet.configure(bundle_id="com.example.next")
    until(lambda: spare_outlet.post(spare_outlet.sandbox.signed("TEST")).status_code in range(400, 500), "refused")
    assert spare_outlet.subscription(one.original)["status"] == "active"

"""/integrations/svcpay/processor-connect and /settings: account, onboarding, credentials, fees, options."""
import concurrent.futures
import os
import signal
import time

import pytest
import requests

from groundwork.deadline import until

PAY = "/integrations/svcpay"
CONNECT = f"{PAY}/processor-connect"
CREDENTIALS = f"{CONNECT}/credentials"
WHO = {"business_type": "company", "country": "US", "email": "shop@example.org"}
LINKS = {"return_url": "https://app.example.org/back", "refresh_url": "https://app.example.org/again"}


@pytest.fixture
def platform(processor):
    return processor.new_platform()


@pytest.fixture
def with_key(project, platform):
    """A project with the key of a platform, but without an account."""
    project.admin.put(CREDENTIALS, {"secret_key": platform["key"]}, expect=200)
    return project


def accounts_of(processor, platform):
    with processor.store.lock:
        return [id_ for id_, parent in processor.store.parents.items() if parent == platform["account"]]


def audited(admin, action):
    return [row for row in admin.get("/audit-log", params={"limit": 100}, expect=200).json()["items"]
            if row["action"] == action]


# --- account -----------------------------------------------------------------------------------------------------


def test_nothing_is_configured(project):
    status = project.admin.get(CONNECT, expect=200).json()
    assert status == {"mode": "connect", "account_id": None, "onboarding_complete": False, "charges_enabled": False,
                      "payouts_enabled": False, "details_submitted": False, "business_type": None, "country": None,
                      "email": None, "requirements": None, "current": False}
    assert project.admin.post(CONNECT, WHO, expect=409).json()["code"] == "payments_not_configured"
    assert project.admin.post(f"{CONNECT}/onboarding", LINKS, expect=409).json()["code"] == "payments_not_configured"


def test_from_nothing_to_charges(with_key, processor, platform):
    admin = with_key.admin
    assert admin.post(f"{CONNECT}/onboarding", LINKS, expect=409).json()["code"] == "payments_not_configured"
    answer = admin.post(CONNECT, {**WHO, "country": "us"}, expect=201)
    made = answer.json()
    [account] = accounts_of(processor, platform)
    assert made["account_id"] == account and made["country"] == "US" and made["email"] == WHO["email"]
    assert made["business_type"] == "company" and made["current"] is True
    assert made["charges_enabled"] is made["onboarding_complete"] is False and made["requirements"]["currently_due"]
    assert answer.headers["Location"].endswith(CONNECT)
    stored = processor.get(account)
    assert stored["metadata"] == {"project_id": with_key.id} and set(stored["capabilities"]) == {"card_payments", "transfers"}
    assert stored["controller"]["losses"]["payments"] == "stripe" and stored["controller"]["fees"]["payer"] == "account"
    assert stored["controller"]["stripe_dashboard"]["type"] == "full"
    [row] = audited(admin, "processor_account.create")
    assert row["detail"] == {"account": account}

    refused = admin.post(CONNECT, WHO, expect=409).json()
    assert refused["code"] == "already_exists" and account in refused["detail"]
    assert accounts_of(processor, platform) == [account]

    one = admin.post(f"{CONNECT}/onboarding", LINKS, expect=200).json()
    other = admin.post(f"{CONNECT}/onboarding", LINKS, expect=200).json()
    assert one["url"].startswith("http") and one["url"] != other["url"] and one["expires_at"].endswith("Z")

    processor.onboard(account, payouts=False)
    status = admin.get(CONNECT, expect=200).json()
    assert status["onboarding_complete"] and status["charges_enabled"] and status["details_submitted"]
    assert status["payouts_enabled"] is False and status["current"] is True and status["account_id"] == account
    processor.onboard(account, charges=False, due=["individual.id_number"])
    status = admin.get(CONNECT, expect=200).json()
    assert not status["onboarding_complete"] and not status["charges_enabled"] and status["payouts_enabled"]
    assert status["requirements"]["currently_due"] == ["individual.id_number"]


def test_status_when_the_processor_is_away(with_key, processor, platform):
    admin = with_key.admin
    account = admin.post(CONNECT, WHO, expect=201).json()["account_id"]
    processor.onboard(account)
    known = admin.get(CONNECT, expect=200).json()
    assert known["charges_enabled"] and known["current"]
    processor.fault("reset", 10, path=f"/v1/accounts/{account}")
    away = admin.get(CONNECT, expect=200).json()
    assert away == {**known, "current": False}
    processor.clear_faults()
    assert admin.get(CONNECT, expect=200).json() == known
    # a key that has been revoked
    admin.put(CREDENTIALS, {"secret_key": "sk_test_taken_back"}, expect=200)
    assert admin.get(CONNECT, expect=200).json() == {**known, "current": False}
    assert admin.post(f"{CONNECT}/onboarding", LINKS, expect=502).json()["code"] == "provider_error"


def test_an_event_and_a_reading(shop, processor, payments):
    """An event and a reading both store what the account may do: the newer state is kept, and the older state changes nothing."""
    admin, account = shop.admin, shop.account

    def stored():
        processor.fault("reset", 20, path=f"/v1/accounts/{account}")
        status = admin.get(CONNECT, expect=200).json()
        processor.clear_faults()
        assert status["current"] is False
        return status["charges_enabled"], status["payouts_enabled"]

    shop.drain()
    until(lambda: stored() == (True, True))
    processor.onboard(account, payouts=False)
    shop.drain()
    until(lambda: stored() == (True, False))
    shop.set_switches(paused=True)
    processor.onboard(account, charges=False)
    time.sleep(1)
    processor.onboard(account)
    time.sleep(1)
    assert admin.get(CONNECT, expect=200).json()["charges_enabled"] is True
    assert stored() == (True, True)
    shop.set_switches(paused=False)  # both events arrive late
    shop.drain()
    until(lambda: all(event["state"] in ("applied", "ignored") for event in
                      admin.get(f"{PAY}/webhook-events", expect=200).json()["items"]))
    assert stored() == (True, True)


@pytest.mark.parametrize("body, field", [
    ({**WHO, "business_type": "garage"}, "business_type"), ({**WHO, "country": "USA"}, "country"),
    ({**WHO, "country": "U1"}, "country"), ({**WHO, "country": "\u00e9"}, "country"), ({**WHO, "email": "nobody"}, "email"),
    ({"country": "US"}, "email"), ({**WHO, "type": "express"}, "type"), ({**WHO, "account_id": "acct_1"}, "account_id"),
])
def test_account_bodies(shared_project, body, field):
    answer = shared_project.admin.post(CONNECT, body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


@pytest.mark.parametrize("body, field", [
    ({}, "return_url"), ({**LINKS, "return_url": "app"}, "return_url"), ({**LINKS, "refresh_url": "javascript:x"}, "refresh_url"),
    ({**LINKS, "type": "x"}, "type"),
])
def test_onboarding_bodies(shared_project, body, field):
    answer = shared_project.admin.post(f"{CONNECT}/onboarding", body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


def test_an_account_made_without_an_answer(with_key, processor, platform):
    """The first answer was lost: the next request repeats the call with the same idempotency key, and there is only one account."""
    admin = with_key.admin
    processor.fault("reset", 10, path="/v1/accounts")
    assert admin.post(CONNECT, WHO, expect=503).json()["code"] == "outcome_unknown"
    processor.clear_faults()
    [account] = accounts_of(processor, platform)
    assert admin.get(CONNECT, expect=200).json()["account_id"] is None
    assert admin.post(CONNECT, WHO, expect=201).json()["account_id"] == account
    assert accounts_of(processor, platform) == [account]


def test_other_values_after_a_lost_answer(with_key, processor, platform):
    admin = with_key.admin
    processor.fault("reset", 10, path="/v1/accounts")
    admin.post(CONNECT, WHO, expect=503)
    processor.clear_faults()
    refused = admin.post(CONNECT, {**WHO, "country": "DE"}, expect=409).json()
    [account] = accounts_of(processor, platform)
    assert refused["code"] == "already_exists" and account in refused["detail"]
    status = admin.get(CONNECT, expect=200).json()
    assert status["account_id"] == account and status["country"] == "US"


def test_a_request_that_never_arrived(with_key, processor, platform):
    """The processor never received the request, so no account was made and the next request uses its own values."""
    admin = with_key.admin
    processor.fault("status", 10, path="/v1/accounts", status=503)
    assert admin.post(CONNECT, WHO, expect=503).json()["code"] == "dependency_unavailable"
    processor.clear_faults()
    assert admin.post(CONNECT, WHO, expect=201).json()["account_id"] in accounts_of(processor, platform)


def test_a_failure_that_stays(with_key, processor, platform):
    """The processor replays its 500 for a repeated idempotency key, so the next request uses a new key."""
    processor.fault("status", 1, path="/v1/accounts", status=500)
    assert with_key.admin.post(CONNECT, WHO, expect=503).json()["code"] == "dependency_unavailable"
    assert accounts_of(processor, platform) == []
    made = with_key.admin.post(CONNECT, WHO, expect=201).json()
    assert accounts_of(processor, platform) == [made["account_id"]]


def test_refusals_leave_nothing_behind(project, processor, platform):
    admin = project.admin
    admin.put(CREDENTIALS, {"secret_key": "sk_test_unknown"}, expect=200)
    assert admin.post(CONNECT, WHO, expect=502).json()["code"] == "provider_error"
    admin.put(CREDENTIALS, {"secret_key": platform["key"]}, expect=200)
    made = admin.post(CONNECT, {**WHO, "country": "DE"}, expect=201).json()
    assert made["country"] == "DE" and accounts_of(processor, platform) == [made["account_id"]]


def test_many_requests_make_one_account(with_key, processor, platform):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: with_key.admin.post(CONNECT, WHO), range(8)))
    assert {answer.status_code for answer in answers} <= {201, 409} and any(a.status_code == 201 for a in answers)
    [account] = accounts_of(processor, platform)
    assert {a.json()["account_id"] for a in answers if a.status_code == 201} == {account}
    assert len(audited(with_key.admin, "processor_account.create")) == 1


def test_killed_while_the_account_is_made(with_key, processor, platform, start_gateway):
    """The next request finds the stored call of the killed worker and repeats it with the same idempotency key."""
    doomed = start_gateway("doomed-connect", WORKERS=1, PROCESSOR_TIMEOUT_MS=60000)
    client = with_key.client(token=with_key.admin.token)
    client.base_url = f"{doomed.url}/org/{with_key.id}"
    client.recorder = None
    processor.fault("timeout", 9, path="/v1/accounts", seconds=60)  # the processor makes the account and does not answer
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        lost = pool.submit(lambda: client.post(CONNECT, WHO))
        until(lambda: accounts_of(processor, platform), "the account is made", pause=0.01)
        for pid in [*doomed.workers(), doomed.process.pid]:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(requests.exceptions.RequestException):
            lost.result()
    processor.clear_faults()
    [account] = accounts_of(processor, platform)
    assert with_key.admin.get(CONNECT, expect=200).json()["account_id"] is None
    assert with_key.admin.post(CONNECT, WHO, expect=201).json()["account_id"] == account
    assert accounts_of(processor, platform) == [account]


# --- credentials -------------------------------------------------------------------------------------------------


def test_credentials_never_come_out(project, servers):
    admin = project.admin
    empty = admin.get(CREDENTIALS, expect=200).json()
    assert empty == {"mode": "connect", "configured": False, "secret_key": None, "account_id": None,
                     "webhook_secrets": [], "webhook_url": f"{servers.payments_url}/webhooks/processor/{project.id}"}
    secret, hook = "sk_test_canary_4242", "whsec_canary_abcd"
    stored = admin.put(CREDENTIALS, {"mode": "own", "secret_key": secret, "webhook_secrets": [
        {"secret": hook}, {"secret": "whsec_other_efgh", "expires_at": "2030-01-01T00:00:00+01:00"}]}, expect=200)
    body = stored.json()
    assert body["mode"] == "own" and body["configured"] and body["secret_key"] == "********4242"
    assert body["webhook_secrets"] == [{"secret": "********abcd", "expires_at": None},
                                       {"secret": "********efgh", "expires_at": "2029-12-31T23:00:00.000Z"}]
    assert admin.get(CREDENTIALS, expect=200).json() == body
    seen = stored.text + admin.get(CREDENTIALS).text + admin.get("/audit-log").text + admin.get(CONNECT).text
    assert "canary" not in seen
    [row] = audited(admin, "processor_credentials.update")
    assert row["detail"] == {"changed": ["mode", "secret_key", "webhook_secrets"]}
    admin.delete(CREDENTIALS, expect=204)
    assert admin.get(CREDENTIALS, expect=200).json() == empty
    admin.delete(CREDENTIALS, expect=204)
    assert audited(admin, "processor_credentials.delete")


def test_credentials_are_sealed_and_registered(project, db):
    schema = project.schema(db)
    project.admin.put(CREDENTIALS, {"secret_key": "sk_test_canary", "webhook_secrets": [{"secret": "whsec_canary"}]}, expect=200)
    with db.cursor() as cursor:
        cursor.execute(f"select doc::text, sealed from {schema}.settings where kind = 'payments' and key = 'processor'")
        [(doc, sealed)] = cursor.fetchall()
        assert "canary" not in doc and sealed and b"canary" not in bytes(sealed)
        cursor.execute("select number from platform.payment_projects where 'p_' || number = %s", (schema,))
        assert cursor.fetchone()
    project.admin.delete(CREDENTIALS, expect=204)
    with db.cursor() as cursor:
        cursor.execute(f"select sealed from {schema}.settings where kind = 'payments' and key = 'processor'")
        assert cursor.fetchone() == (None,)


def test_credentials_merge(project, processor, platform):
    admin = project.admin
    admin.put(CREDENTIALS, {"secret_key": platform["key"], "webhook_secrets": [{"secret": "whsec_one_1111"}]}, expect=200)
    hint = f"********{platform['key'][-4:]}"
    body = admin.put(CREDENTIALS, {"webhook_secrets": [{"secret": "********1111", "expires_at": "2030-01-01T00:00:00Z"},
                                                       {"secret": "whsec_two_2222"}]}, expect=200).json()
    assert body["secret_key"] == hint and [each["secret"] for each in body["webhook_secrets"]] == [
        "********1111", "********2222"]
    body = admin.put(CREDENTIALS, body_of(body), expect=200).json()  # the client writes back what it has read
    assert body["secret_key"] == hint and len(body["webhook_secrets"]) == 2
    made = admin.post(CONNECT, WHO, expect=201).json()  # the masked value did not replace the key
    assert admin.get(CREDENTIALS, expect=200).json()["account_id"] == made["account_id"]
    wrong = admin.put(CREDENTIALS, {"webhook_secrets": [{"secret": "********3333"}]}, expect=400).json()
    assert wrong["errors"][0]["field"] == "webhook_secrets[0].secret"
    assert admin.put(CREDENTIALS, {"secret_key": "********3333"}, expect=400).json()["errors"][0]["field"] == "secret_key"
    body = admin.put(CREDENTIALS, {"secret_key": None, "webhook_secrets": None}, expect=200).json()
    assert not body["configured"] and body["webhook_secrets"] == [] and body["account_id"] == made["account_id"]


def body_of(answer):
    return {name: value for name, value in answer.items() if name not in ("configured", "webhook_url")}


def test_an_account_that_is_connected_already(project, processor, platform):
    account = processor.new_account(platform["key"])
    admin = project.admin
    admin.put(CREDENTIALS, {"secret_key": platform["key"], "account_id": account}, expect=200)
    status = admin.get(CONNECT, expect=200).json()
    assert status["account_id"] == account and status["onboarding_complete"]
    admin.post(CONNECT, WHO, expect=409)
    admin.put(CREDENTIALS, {"account_id": account}, expect=200)  # the same account: its known state stays
    assert admin.get(CONNECT).json() == status
    foreign = processor.new_account(processor.new_platform()["key"])
    admin.put(CREDENTIALS, {"account_id": foreign}, expect=200)
    status = admin.get(CONNECT, expect=200).json()
    assert status["account_id"] == foreign and not status["charges_enabled"] and not status["current"]


def test_an_account_of_its_own(project, processor, platform):
    admin = project.admin
    admin.put(CREDENTIALS, {"mode": "own", "secret_key": platform["key"]}, expect=200)
    status = admin.get(CONNECT, expect=200).json()
    assert status["mode"] == "own" and status["account_id"] == platform["account"] and status["onboarding_complete"]
    assert admin.post(CONNECT, WHO, expect=409).json()["code"] == "conflict"
    assert admin.post(f"{CONNECT}/onboarding", LINKS, expect=409).json()["code"] == "conflict"
    admin.put(CREDENTIALS, {"mode": "connect"}, expect=200)  # the account of the key itself is no connected account
    status = admin.get(CONNECT, expect=200).json()
    assert status["account_id"] is None and not status["charges_enabled"]


@pytest.mark.parametrize("body, field", [
    ({"mode": "both"}, "mode"), ({"secret_key": "short"}, "secret_key"), ({"secret_key": "sk_test with space"}, "secret_key"),
    ({"secret_key": "sk_test_\u00e9\u00e9\u00e9"}, "secret_key"), ({"secret_key": "sk_test_1\r\nX: y"}, "secret_key"),
    ({"secret_key": "pk_test_12345678"}, "secret_key"), ({"secret_key": "x" * 256}, "secret_key"),
    ({"account_id": "ca_1"}, "account_id"), ({"account_id": "acct_"}, "account_id"), ({"account_id": "acct_1/../x"}, "account_id"),
    ({"webhook_secrets": [{"secret": f"whsec_number_{n}"} for n in range(6)]}, "webhook_secrets"),
    ({"webhook_secrets": [{}]}, "webhook_secrets[0].secret"), ({"webhook_secrets": [{"secret": "a\tbcdefgh"}]}, "webhook_secrets[0].secret"),
    ({"webhook_secrets": [{"secret": "whsec_12345", "expires_at": "soon"}]}, "webhook_secrets[0].expires_at"),
    ({"webhook_url": "https://example.org"}, "webhook_url"), ({"configured": True}, "configured"),
])
def test_credential_bodies(shared_project, body, field):
    answer = shared_project.admin.put(CREDENTIALS, body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


def test_another_gateway_follows(project, start_gateway, processor, platform):
    other = start_gateway("other-connect")
    client = project.client(token=project.admin.token)
    client.base_url = f"{other.url}/org/{project.id}"
    assert client.get(CREDENTIALS, expect=200).json()["configured"] is False
    project.admin.put(CREDENTIALS, {"secret_key": platform["key"]}, expect=200)
    until(lambda: client.get(CREDENTIALS, expect=200).json()["configured"])


# --- fees --------------------------------------------------------------------------------------------------------


def test_platform_fee(project):
    admin = project.admin
    assert admin.get(f"{CONNECT}/fees", expect=200).json() == {"percent": 0, "fixed": 0, "fixed_minor": 0, "currency": "usd"}
    fee = admin.put(f"{CONNECT}/fees", {"percent": 2.5, "fixed": 0.3, "currency": "EUR"}, expect=200).json()
    assert fee == {"percent": 2.5, "fixed": 0.3, "fixed_minor": 30, "currency": "eur"}
    assert admin.get(f"{CONNECT}/fees", expect=200).json() == fee
    assert admin.put(f"{CONNECT}/fees", {"percent": 0.29}, expect=200).json() == {**fee, "percent": 0.29}
    assert admin.patch(f"{CONNECT}/fees", {"fixed": None}, expect=200).json() == {
        "percent": 0.29, "fixed": 0, "fixed_minor": 0, "currency": "eur"}
    admin.put(f"{CONNECT}/fees", {"fixed": 0.3}, expect=200)
    refused = admin.put(f"{CONNECT}/fees", {"currency": "jpy"}, expect=400).json()
    assert refused["errors"][0]["field"] == "fixed"
    assert admin.put(f"{CONNECT}/fees", {"currency": "jpy", "fixed": 30}, expect=200).json()["fixed_minor"] == 30
    assert len(audited(admin, "platform_fee.update")) == 5


@pytest.mark.parametrize("body, field", [
    ({"percent": 100.01}, "percent"), ({"percent": -1}, "percent"), ({"percent": 2.555}, "percent"), ({"percent": "2"}, "percent"),
    ({"fixed": -0.1}, "fixed"), ({"fixed": 0.001}, "fixed"), ({"fixed": 1e300}, "fixed"), ({"currency": "us"}, "currency"),
    ({"currency": "u1d"}, "currency"), ({"fixed_minor": 30}, "fixed_minor"),
])
def test_fee_bodies(shared_project, body, field):
    answer = shared_project.admin.put(f"{CONNECT}/fees", body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


def test_processor_fees(with_key):
    admin = with_key.admin
    schedule = admin.get(f"{CONNECT}/processor-fees", expect=200).json()
    rows = {row["country"]: row for row in schedule["rows"]}
    assert schedule["is_default"] and schedule["country"] is None
    assert {"US", "CA", "EEA", "GB", "AU", "SG", "JP"} <= set(rows)
    assert rows["US"] == {"country": "US", "percent": 2.9, "fixed": 0.3, "fixed_minor": 30, "currency": "usd",
                          "international_percent": 1.5, "conversion_percent": 1, "recurring_percent": 0.7}
    assert rows["JP"]["percent"] == 3.6 and rows["JP"]["fixed_minor"] == 0
    own = [{"country": "us", "percent": 2.2, "fixed": 0.25, "currency": "USD"}, {"country": "*", "percent": 3, "currency": "eur"}]
    changed = admin.put(f"{CONNECT}/processor-fees", {"rows": own}, expect=200).json()
    assert not changed["is_default"] and changed["rows"][0] == {
        "country": "US", "percent": 2.2, "fixed": 0.25, "fixed_minor": 25, "currency": "usd", "international_percent": 0,
        "conversion_percent": 0, "recurring_percent": 0}
    assert admin.get(f"{CONNECT}/processor-fees", expect=200).json() == changed
    admin.post(CONNECT, WHO, expect=201)
    assert admin.get(f"{CONNECT}/processor-fees", expect=200).json()["country"] == "US"
    back = admin.put(f"{CONNECT}/processor-fees", {"rows": None}, expect=200).json()
    assert back["is_default"] and back["rows"] == schedule["rows"]
    assert admin.get(f"{CONNECT}/processor-fees").json() == back


ROW = {"country": "US", "percent": 2.9, "fixed": 0.3, "currency": "usd"}


@pytest.mark.parametrize("rows, field", [
    ([], "rows"), ([{**ROW, "country": "USA"}], "rows[0].country"), ([{**ROW, "country": "1"}], "rows[0].country"),
    ([ROW, {**ROW, "country": "us"}], "rows[1].country"), ([{**ROW, "percent": 2.999}], "rows[0].percent"),
    ([{**ROW, "fixed": 0.001}], "rows[0].fixed"), ([{"country": "US", "percent": 1}], "rows[0].currency"),
    ([{**ROW, "currency": "usdx"}], "rows[0].currency"), ([{**ROW, "note": "x"}], "rows[0].note"),
])
def test_schedule_bodies(shared_project, rows, field):
    answer = shared_project.admin.put(f"{CONNECT}/processor-fees", {"rows": rows}, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


@pytest.mark.parametrize("body, platform, processor, net", [
    ({"amount": 100, "currency": "usd", "country": "US"}, 280, 320, 9400),
    ({"amount": "100.00", "currency": "USD", "country": "US"}, 280, 320, 9400),
    ({"amount": 9.99, "currency": "usd", "country": "US"}, 55, 59, 885),       # 24.975 and 28.971, before rounding
    ({"amount": 100, "currency": "usd", "country": "US", "recurring": True}, 280, 390, 9330),
    ({"amount": 100, "currency": "eur", "country": "DE"}, 250, 175, 9575),     # the fixed part is in dollars, so it does not apply
    ({"amount": 100, "currency": "eur", "country": "US"}, 250, 390, 9360),     # with the fee of a conversion
    ({"amount": 1000, "currency": "jpy", "country": "JP"}, 25, 36, 939),
    ({"amount": 5.12, "currency": "kwd", "country": "US"}, 128, 200, 4792),    # 3.9 %
    ({"amount": 5, "currency": "ugx", "country": "US"}, 13, 20, 467),          # 12.5 and 19.5
    ({"amount": 0.1, "currency": "usd", "country": "US"}, 10, 30, 0),          # the fees exceed the amount
    ({"amount": 999999.99, "currency": "usd", "country": "US"}, 2500030, 2900030, 94599939),
    ({"amount": 100, "currency": "usd"}, 280, 320, 9400),
])
def test_calculate(shared_project, body, platform, processor, net):
    admin = shared_project.admin
    admin.put(f"{CONNECT}/fees", {"percent": 2.5, "fixed": 0.3, "currency": "usd"}, expect=200)
    answer = admin.post(f"{CONNECT}/fees/calculate", body, expect=200).json()
    assert (answer["platform_fee_minor"], answer["processor_fee_minor"], answer["net_payout_minor"]) == (platform, processor, net)
    decimals = {"jpy": 0, "kwd": 3}.get(answer["currency"], 2)
    for name in ("amount", "platform_fee", "processor_fee", "net_payout"):
        assert round(answer[name] * 10 ** decimals) == answer[f"{name}_minor"]
    assert float(body["amount"]) == answer["amount"]


@pytest.mark.parametrize("body, field", [
    ({"currency": "usd"}, "amount"), ({"amount": 1}, "currency"), ({"amount": -1, "currency": "usd"}, "amount"),
    ({"amount": 0, "currency": "usd"}, "amount"), ({"amount": 1.001, "currency": "usd"}, "amount"),
    ({"amount": 1.5, "currency": "jpy"}, "amount"), ({"amount": 5.5, "currency": "ugx"}, "amount"),
    ({"amount": 5.125, "currency": "kwd"}, "amount"), ({"amount": 1e6, "currency": "usd"}, "amount"),
    ({"amount": "ten", "currency": "usd"}, "amount"), ({"amount": None, "currency": "usd"}, "amount"),
    ({"amount": [1], "currency": "usd"}, "amount"), ({"amount": 1, "currency": "dollars"}, "currency"),
    ({"amount": 1, "currency": "usd", "country": "USA"}, "country"), ({"amount": 1, "currency": "usd", "fee": 1}, "fee"),
])
def test_calculate_bodies(shared_project, body, field):
    answer = shared_project.admin.post(f"{CONNECT}/fees/calculate", body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


def test_calculate_without_a_row(project):
    project.admin.put(f"{CONNECT}/processor-fees", {"rows": [{**ROW, "country": "GB"}]}, expect=200)
    body = {"amount": 100, "currency": "usd"}
    assert project.admin.post(f"{CONNECT}/fees/calculate", body, expect=409).json()["code"] == "conflict"
    assert project.admin.post(f"{CONNECT}/fees/calculate", {**body, "country": "GB"}, expect=200).json()["country"] == "GB"


# --- settings ----------------------------------------------------------------------------------------------------


def test_settings(project):
    admin = project.admin
    default = admin.get(f"{PAY}/settings", expect=200).json()
    assert default == {"grace_days": 3, "web_checkout_storefronts": ["USA"], "success_url": None, "cancel_url": None}
    url = "https://app.example.org/paid?session={CHECKOUT_SESSION_ID}"
    changed = admin.put(f"{PAY}/settings", {"grace_days": 0, "web_checkout_storefronts": ["deu", "USA"], "success_url": url}, expect=200)
    assert changed.json() == {"grace_days": 0, "web_checkout_storefronts": ["DEU", "USA"], "success_url": url, "cancel_url": None}
    assert admin.get(f"{PAY}/settings", expect=200).json() == changed.json()
    assert admin.put(f"{PAY}/settings", {"web_checkout_storefronts": []}, expect=200).json()["web_checkout_storefronts"] == []
    back = admin.put(f"{PAY}/settings", dict.fromkeys(default), expect=200).json()
    assert back == default
    assert len(audited(admin, "payment_settings.update")) == 3


@pytest.mark.parametrize("body, field", [
    ({"grace_days": -1}, "grace_days"), ({"grace_days": 91}, "grace_days"), ({"grace_days": 1.5}, "grace_days"),
    ({"web_checkout_storefronts": ["US"]}, "web_checkout_storefronts[0]"),
    ({"web_checkout_storefronts": ["USA", "U1A"]}, "web_checkout_storefronts[1]"),
    ({"success_url": "paid"}, "success_url"), ({"cancel_url": "ftp://example.org"}, "cancel_url"), ({"mode": "own"}, "mode"),
])
def test_settings_bodies(shared_project, body, field):
    answer = shared_project.admin.put(f"{PAY}/settings", body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"]), answer


def test_a_processor_that_may_not_be_called(start_gateway, servers):
    with pytest.raises(RuntimeError, match="GROUNDWORK_PROCESSOR_URL"):
        start_gateway("no-processor", PROCESSOR_URL="http://127.0.0.1:9/", FETCH_ALLOW="127.0.0.2:9")

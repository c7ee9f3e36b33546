"""The app store in the gateway: credentials, test notifications, the token of a user."""
import uuid

import pytest

from groundwork.deadline import until
from groundwork.records import codes, rows
from groundwork.store import *  # noqa: F403
from groundwork.store import CREDENTIALS, PAY
from store.app import APP_ID, BUNDLE, account_token

TEST = f"{PAY}/iap-store/test-notification"


@pytest.fixture
def shop(module_spare_outlet):
    """A project without credentials of the store."""
    module_spare_outlet.project.admin.delete(CREDENTIALS, expect=204)
    return module_spare_outlet.project


@pytest.fixture
def body(store):
    return {**store.key(), "bundle_id": BUNDLE}


def test_before_there_are_any(shop, store_gateway):
    got = shop.admin.get(CREDENTIALS, expect=200).json()
    base = store_gateway.settings["PAYMENTS_URL"]
    assert got == {"configured": False, "issuer_id": None, "key_id": None, "bundle_id": None, "app_apple_id": None,
                   "environments": [], "notification_url": f"{base}webhooks/iap-store/{shop.id}"}
    for environment in ("sandbox", "production"):
        for answer in (shop.admin.post(TEST, params={"environment": environment}),
                       shop.admin.get(f"{TEST}/x", params={"environment": environment})):
            assert answer.status_code == 409 and answer.json()["code"] == "payments_not_configured"
    shop.admin.delete(CREDENTIALS, expect=204)


def test_credentials(shop, body, db):
    made = shop.admin.put(CREDENTIALS, body, expect=200).json()
    assert made["configured"] and made["environments"] == ["sandbox"] and made["app_apple_id"] is None
    assert {name: made[name] for name in ("issuer_id", "key_id", "bundle_id")} == {
        name: body[name] for name in ("issuer_id", "key_id", "bundle_id")}
    assert shop.admin.get(CREDENTIALS, expect=200).json() == made
    # Fields that are left out keep their values.
    changed = shop.admin.put(CREDENTIALS, {"app_apple_id": APP_ID, "environments": ["sandbox", "production"]}, expect=200).json()
    assert changed == {**made, "app_apple_id": APP_ID, "environments": ["production", "sandbox"]}
    assert shop.admin.patch(CREDENTIALS, {"environments": ["production"]}, expect=200).json()["environments"] == ["production"]
    assert shop.admin.get(CREDENTIALS, expect=200).json()["environments"] == ["production"]
    # The audit log names the fields that were changed, but no values.
    entry = shop.admin.get("/audit-log", params={"sort": "-id", "limit": 1}, expect=200).json()["items"][0]
    assert entry["action"] == "iap_store.update" and entry["detail"] == {"changed": ["environments"]}
    shop.admin.delete(CREDENTIALS, expect=204)
    assert not shop.admin.get(CREDENTIALS, expect=200).json()["configured"]
    assert rows(db, f"select doc, sealed from {shop.schema(db)}.settings where kind = 'payments' and key = 'iap_store'") in (
        [], [({}, None)])
    # With the app's number both environments are the default.
    made = shop.admin.put(CREDENTIALS, {**body, "app_apple_id": APP_ID}, expect=200).json()
    assert made["environments"] == ["production", "sandbox"]


def test_the_key_never_comes_out(shop, body, db):
    shop.admin.put(CREDENTIALS, body, expect=200)
    middle = body["private_key"].splitlines()[1]
    stored = rows(db, f"select s::text, encode(sealed, 'escape') from {shop.schema(db)}.settings s where kind = 'payments'")
    assert middle not in repr(stored)
    for answer in (shop.admin.get(CREDENTIALS), shop.admin.put(CREDENTIALS, {"bundle_id": BUNDLE})):
        assert middle not in answer.text and "private_key" not in answer.json()
    assert middle not in shop.admin.get("/audit-log", expect=200).text
    assert middle not in shop.gateway.log()


def test_wrong_credentials(shop, store, body):
    def refused(change):
        answer = shop.admin.put(CREDENTIALS, {**body, **change})
        assert answer.status_code == 400, answer.text
        return codes(answer)

    for name in ("issuer_id", "key_id", "private_key", "bundle_id"):
        short = {k: v for k, v in body.items() if k != name}
        answer = shop.admin.put(CREDENTIALS, short)
        assert answer.status_code == 400 and codes(answer) == {name: "required"}
    assert set(codes(shop.admin.put(CREDENTIALS, {}))) == {"issuer_id", "key_id", "private_key", "bundle_id"}
    assert refused({"issuer_id": "me"}) == {"issuer_id": "pattern"}
    assert refused({"issuer_id": str(uuid.uuid4())[:-1] + "g"}) == {"issuer_id": "pattern"}
    assert refused({"key_id": "a b"}) == {"key_id": "pattern"}
    assert refused({"key_id": 'x","alg":"none'}) == {"key_id": "pattern"}
    assert refused({"bundle_id": "com/example"}) == {"bundle_id": "pattern"}
    assert refused({"app_apple_id": 0}) == {"app_apple_id": "out_of_range"}
    assert refused({"app_apple_id": "7"}) == {"app_apple_id": "type_mismatch"}
    assert refused({"environments": ["sandbox", "xcode"]}) == {"environments[1]": "pattern"}
    assert refused({"environments": []}) == {"environments": "pattern"}
    assert refused({"environments": ["production"]}) == {"app_apple_id": "required"}
    assert refused({"team_id": "x"}) == {"team_id": "unknown_field"}
    for key in ("", "x", body["private_key"].replace("PRIVATE", "PUBLIC"), body["private_key"][:-60], "-" * 5000):
        assert set(refused({"private_key": key})) == {"private_key"}
    assert not shop.admin.get(CREDENTIALS, expect=200).json()["configured"]


def test_keys_of_other_kinds(shop, body):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    pkcs8, sec1 = serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL
    plain, locked = serialization.NoEncryption(), serialization.BestAvailableEncryption(b"secret")
    for key, form, lock in (
        (ec.generate_private_key(ec.SECP384R1()), pkcs8, plain),
        (ec.generate_private_key(ec.SECP256K1()), pkcs8, plain),
        (rsa.generate_private_key(public_exponent=65537, key_size=2048), pkcs8, plain),
        (ed25519.Ed25519PrivateKey.generate(), pkcs8, plain),
        (ec.generate_private_key(ec.SECP256R1()), sec1, plain),
        (ec.generate_private_key(ec.SECP256R1()), pkcs8, locked),
    ):
        pem = key.private_bytes(serialization.Encoding.PEM, form, lock).decode()
        answer = shop.admin.put(CREDENTIALS, {**body, "private_key": pem})
        assert answer.status_code == 400 and codes(answer) == {"private_key": "pattern"}, pem


def test_another_key_needs_its_private_part(shop, store, body):
    shop.admin.put(CREDENTIALS, body, expect=200)
    answer = shop.admin.put(CREDENTIALS, {"key_id": "OTHER12345"})
    assert answer.status_code == 400 and codes(answer) == {"private_key": "required"}
    shop.admin.put(CREDENTIALS, {"key_id": body["key_id"]}, expect=200)
    other = store.key()
    assert shop.admin.put(CREDENTIALS, other, expect=200).json()["key_id"] == other["key_id"]


# --- test notifications ---


def test_environment_is_required(outlet):
    for environment in (None, "", "Sandbox", "xcode", "all"):
        params = {} if environment is None else {"environment": environment}
        for answer in (outlet.project.admin.post(TEST, params=params), outlet.project.admin.get(f"{TEST}/x", params=params)):
            assert answer.status_code == 400, (environment, answer.text)


@pytest.mark.parametrize("environment", ["sandbox", "production"])
def test_test_notification(outlet, store, environment):
    admin = outlet.project.admin
    store.register(environment.capitalize(), outlet.url)
    sent = admin.post(TEST, params={"environment": environment}, expect=202).json()
    assert sent["environment"] == environment
    got = outcome(admin, sent["test_notification_token"], environment)
    assert got["status"] == "received" and got["received_at"] and got["environment"] == environment
    assert [attempt["result"] for attempt in got["attempts"]] == ["SUCCESS"]
    ident = rows(outlet.db, f"select event_id from {outlet.schema}.webhook_events where type = 'TEST' order by id desc limit 1")[0][0]
    assert ident.startswith(environment.capitalize())
    assert outlet.wait(ident)[1] is None


def outcome(admin, token, environment="sandbox"):
    """Polls for the outcome of a test notification and returns it."""
    def ask():
        answer = admin.get(f"{TEST}/{token}", params={"environment": environment})
        return answer.json() if answer.status_code == 200 else None

    return until(ask, "outcome")


def test_outcomes(outlet, spare_outlet, store):
    admin = outlet.project.admin
    for url, status, result in (("http://127.0.0.1:1/nothing", "failed", "NO_RESPONSE"),
                                (f"{outlet.url}x", "failed", "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
                                (spare_outlet.url, "delivered", "SUCCESS")):
        store.register("Sandbox", url)
        token = admin.post(TEST, params={"environment": "sandbox"}, expect=202).json()["test_notification_token"]
        got = outcome(admin, token)
        assert got["status"] == status and got["received_at"] is None
        assert [attempt["result"] for attempt in got["attempts"]] == [result]
    assert admin.get(f"{TEST}/unknown-token", params={"environment": "sandbox"}).status_code == 404
    for odd in ("%2e%2e", "a%20b", "x" * 200):
        assert admin.get(f"{TEST}/{odd}", params={"environment": "sandbox"}).status_code in (400, 404)


def test_no_address_is_registered(outlet, store):
    store.urls.pop("Production", None)
    answer = outlet.project.admin.post(TEST, params={"environment": "production"})
    assert answer.status_code == 502 and answer.json()["code"] == "provider_error"
    assert "4040007" in answer.json()["detail"]


def test_a_key_that_the_store_does_not_know(spare_outlet, store):
    admin = spare_outlet.project.admin
    other = store.key()
    admin.put(CREDENTIALS, {**other, "key_id": "ABCDEFGHIJ"}, expect=200)
    answer = admin.post(TEST, params={"environment": "sandbox"})
    assert answer.status_code == 502 and "does not accept the key" in answer.json()["detail"]
    # The id of one key with the private part of another key.
    admin.put(CREDENTIALS, {**other, "private_key": store.key()["private_key"]}, expect=200)
    assert admin.post(TEST, params={"environment": "sandbox"}).status_code == 502


def test_the_store_is_away(outlet, store):
    try:
        for status in (500, 503, 429):
            store.fail_with = status
            answer = outlet.project.admin.post(TEST, params={"environment": "sandbox"})
            assert answer.status_code == 503 and answer.json()["code"] == "dependency_unavailable"
    finally:
        store.fail_with = None


# --- the token of a user ---


def test_account_token(outlet):
    user = outlet.project.user_with("svc_subscription_plans:read")
    path = f"{PAY}/iap-store/account-token"
    assert user.get(path, expect=200).json() == {"app_account_token": account_token(user.user["id"])}
    assert outlet.project.user_with("svc_payments:read").get(path).status_code == 403
    key = outlet.project.key(["svc_subscription_plans:read"])  # an API key acts for the user who created it
    assert key.get(path, expect=200).json() == {"app_account_token": account_token(outlet.project.admin.user["id"])}


def test_only_administrators(outlet):
    user = outlet.project.user_with("svc_payments:read", "svc_payments:update", "svc_subscription_plans:read")
    for answer in (user.get(CREDENTIALS), user.put(CREDENTIALS, {}), user.delete(CREDENTIALS),
                   user.post(TEST, params={"environment": "sandbox"}), user.get(f"{TEST}/x", params={"environment": "sandbox"})):
        assert answer.status_code == 403


def test_notifications_after_the_credentials_are_gone(spare_outlet):
    spare_outlet.project.admin.delete(CREDENTIALS, expect=204)
    until(lambda: spare_outlet.post(spare_outlet.sandbox.signed("TEST")).status_code in range(400, 500), "refused")

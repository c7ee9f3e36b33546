"""Credentials of push providers, and the column that contains FCM's tokens."""
import json

import pytest
from groundwork.push_keys import data_keys, service_account
from groundwork.records import codes, rows
from groundwork.sealed import key_of, setting_aad, unseal

CREDENTIALS = "/push/credentials"
FCM, WEB, SOURCE = f"{CREDENTIALS}/fcm", f"{CREDENTIALS}/web-push", f"{CREDENTIALS}/fcm/device-source"


def shown(project, provider):
    return next(each for each in project.admin.get(CREDENTIALS, expect=200).json()["items"] if each["provider"] == provider)


def setting(project, db, key):
    (found,) = rows(db, f"select doc, sealed from {project.schema(db)}.settings where kind = 'push' and key = %s", key)
    return found


def opened(project, db, key):
    sealed = setting(project, db, key)[1]
    return unseal(data_keys(project, db)[key_of(sealed)], sealed, setting_aad(project.schema(db)[2:], "push", key))


def test_nothing_is_configured_at_first(project):
    for item, provider in zip(project.admin.get(CREDENTIALS, expect=200).json()["items"], ("fcm", "web_push"), strict=True):
        assert item == {"provider": provider, "is_configured": False, "is_active": False, "project_id": None,
                        "client_email": None, "subject": None, "public_key": None, "device_source": None, "updated_at": None}
    project.client().get("/push/vapid-public-key", expect=404)
    for provider in ("fcm", "web_push", "nothing"):
        project.admin.delete(f"{CREDENTIALS}/{provider}", expect=404)
    project.admin.post(f"{WEB}/rotate", expect=404)


def test_a_service_account(project, db):
    text = service_account("shop-1")
    made = project.admin.put(FCM, {"service_account_json": text}, expect=200).json()
    assert (made["project_id"], made["client_email"]) == ("shop-1", "push@shop-1.iam.gserviceaccount.com")
    assert made["is_configured"] and made["is_active"] and shown(project, "fcm") == made
    # The text is stored unchanged and encrypted, and no other place contains a part of the key.
    assert opened(project, db, "fcm").decode() == text
    middle = json.loads(text)["private_key"].splitlines()[5]
    for answer in (project.admin.get(CREDENTIALS), project.admin.get("/audit-log")):
        assert middle not in answer.text
    assert middle not in repr(setting(project, db, "fcm")) and middle not in project.gateway.log()
    # A second service account replaces the first.
    other = project.admin.put(FCM, {"service_account_json": service_account("shop-2")}, expect=200).json()
    assert other["project_id"] == "shop-2"
    entry = project.admin.get("/audit-log", params={"sort": "-id", "limit": 1}, expect=200).json()["items"][0]
    assert entry["action"] == "push_credentials.update" and entry["detail"] == {"provider": "fcm"}
    project.admin.delete(FCM, expect=204)
    assert not shown(project, "fcm")["is_configured"]
    assert rows(db, f"select 1 from {project.schema(db)}.settings where kind = 'push'") == []


@pytest.mark.parametrize("change", [
    {"type": None}, {"type": "authorized_user"}, {"project_id": None}, {"project_id": "a/b"}, {"client_email": None},
    {"client_email": "nobody"}, {"private_key": None}, {"private_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}])
def test_a_service_account_that_is_none(shared_project, change):
    answer = shared_project.admin.put(FCM, {"service_account_json": service_account(**change)}, expect=400)
    assert codes(answer) == {"service_account_json": "validation_failed"}
    assert not shown(shared_project, "fcm")["is_configured"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "x" * 40000, json.dumps({"type": "service_account"})])
def test_no_service_account_at_all(shared_project, text):
    shared_project.admin.put(FCM, {"service_account_json": text}, expect=400)


def test_web_push_keeps_its_pair_of_keys(project, db):
    for subject in ("", "ftp://example.org", "someone@example.org", "mailto:", "https://a b", "mailto:x\ny@example.org",
                    "mailto:push@localhost", "mailto:push@intranet", "https://localhost:3000", "https://192.0.2.1"):
        assert "subject" in codes(project.admin.put(WEB, {"subject": subject}, expect=400))
    made = project.admin.put(WEB, {"subject": "mailto:push@example.org"}, expect=200).json()
    key = made["public_key"]
    assert len(key) == 87 and made["subject"] == "mailto:push@example.org"
    assert project.client().get("/push/vapid-public-key", expect=200).json() == {"public_key": key}
    sealed = opened(project, db, "web_push")
    other = project.admin.put(WEB, {"subject": "https://example.org"}, expect=200).json()
    assert other["public_key"] == key and other["subject"] == "https://example.org"
    assert opened(project, db, "web_push") == sealed
    turned = project.admin.post(f"{WEB}/rotate", expect=200).json()
    assert turned["public_key"] not in (key, None) and turned["subject"] == "https://example.org"
    assert opened(project, db, "web_push") != sealed
    assert project.client().get("/push/vapid-public-key", expect=200).json() == {"public_key": turned["public_key"]}
    for spelling in (f"{CREDENTIALS}/web_push", WEB):
        project.admin.delete(spelling, expect=204)
        project.client().get("/push/vapid-public-key", expect=404)
        project.admin.put(WEB, {"subject": "mailto:push@example.org"}, expect=200)


def test_the_stored_pair_is_the_shown_one(project, db):
    from cryptography.hazmat.primitives import serialization
    from groundwork.push_keys import b64

    made = project.admin.put(WEB, {"subject": "mailto:push@example.org"}, expect=200).json()
    private = serialization.load_der_private_key(opened(project, db, "web_push"), None)
    point = private.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    assert b64(point) == made["public_key"]


def test_a_device_source(project, db):
    entity = project.entity("phones", [{"name": "token", "type": "varchar"}, {"name": "owner", "type": "integer"},
                                       {"name": "ok", "type": "bool"}, {"name": "pin", "type": "secret"}])
    body = {"kind": "entity_field", "entity": "phones", "token_field": "token", "owner_user_field": "owner"}
    project.admin.put(SOURCE, body, expect=404)
    project.admin.put(SOURCE, {}, expect=404)
    project.admin.put(FCM, {"service_account_json": service_account()}, expect=200)
    assert project.admin.put(SOURCE, body, expect=200).json()["device_source"] == body
    ids = {field["name"]: field["id"] for field in entity["fields"]}
    assert setting(project, db, "fcm")[0]["source"] == {
        "kind": "entity_field", "entity_id": entity["id"], "token_field_id": ids["token"], "owner_field_id": ids["owner"]}
    # A new service account keeps the device source.
    project.admin.put(FCM, {"service_account_json": service_account("shop-2")}, expect=200)
    assert shown(project, "fcm")["device_source"] == body
    for wrong, member in (({"kind": "file"}, "kind"), ({"kind": None}, "kind"), ({"entity": "absent"}, "entity"), ({"entity": "users"}, "entity"),
                          ({"entity": "pg_authid"}, "entity"), ({"token_field": "pin"}, "token_field"), ({"token_field": "id"}, "token_field"),
                          ({"token_field": "ok"}, "token_field"), ({"token_field": "absent"}, "token_field"),
                          ({"owner_user_field": "token"}, "owner_user_field"), ({"owner_user_field": None}, "owner_user_field"),
                          ({"owner_user_field": "created_by"}, "owner_user_field")):
        assert list(codes(project.admin.put(SOURCE, {**body, **wrong}, expect=400))) == [member]
    assert project.admin.put(SOURCE, {}, expect=200).json()["device_source"] is None
    assert "source" not in setting(project, db, "fcm")[0]
    # The device source is removed together with its entity.
    project.admin.put(SOURCE, body, expect=200)
    project.admin.delete("/entities/phones", expect=204)
    assert shown(project, "fcm")["device_source"] is None


def test_administrators_only(project):
    user = project.user_with("svc_tenant_devices:create", "svc_tenant_push_categories:update")
    key = project.key(["svc_tenant_push_categories:update"])
    for caller, status in ((user, 403), (key, 403), (project.client(), 401)):
        caller.get(CREDENTIALS, expect=status)
        caller.put(FCM, {"service_account_json": service_account()}, expect=status)
        caller.put(WEB, {"subject": "mailto:push@example.org"}, expect=status)
        caller.put(SOURCE, {}, expect=status)
        caller.post(f"{WEB}/rotate", expect=status)
        caller.delete(FCM, expect=status)


def test_dispatchers_learn_of_the_project(project, db):
    number = int(project.schema(db)[2:])
    assert rows(db, "select 1 from platform.push_projects where number = %s", number) == []
    project.admin.put(WEB, {"subject": "mailto:push@example.org"}, expect=200)
    assert rows(db, "select 1 from platform.push_projects where number = %s", number) == [(1,)]

"""Answers mask secrets: a masked value that is sent back leaves the stored secret unchanged (C4)."""
import itertools

import pytest

from groundwork.sealed import Vault

MASK = "********"
PAYMENTS = "/integrations/svcpay/processor-connect/credentials"
CODE = {"scheme": "oauth2_code", "token_url": "https://id.example.org/t", "authorization_url": "https://id.example.org/a"}
_numbers = itertools.count(1)


def integration(project, auth):
    body = {"name": f"api{next(_numbers)}", "base_url": "https://api.example.org", "auth": auth}
    return project.admin.post("/integrations", body, expect=201).json()["id"]


def connection(scheme, credentials, **auth):
    def make(project):
        body = {"integration_id": integration(project, {"scheme": scheme, **auth}), "credentials": credentials}
        return f"/connections/{project.admin.post('/connections', body, expect=201).json()['id']}"
    return make, ("name", "credentials")


def put(path, body, *members):
    def make(project):
        project.admin.put(path, body, expect=200)
        return path
    return make, members


def with_client_secret(project):
    return f"/integrations/{integration(project, {**CODE, 'client_id': 'me', 'client_secret': 'the secret itself'})}"


def record(project):
    project.entity("vaults", [{"name": "name", "type": "varchar"}, {"name": "pin", "type": "secret"}])
    return f"/entities/vaults/items/{project.item('vaults', name='a', pin='the secret itself')['id']}"


# How each kind is made, and which members of its answer may be sent back.
KINDS = {
    "header": connection("header", {"token": "the secret itself"}, name="X-Api-Key"),
    "query": connection("query", {"token": "the secret itself"}, name="key"),
    "bearer": connection("bearer", {"token": "the secret itself"}),
    "basic": connection("basic", {"username": "me", "password": "the secret itself"}),
    "client": connection("oauth2_client_credentials", {"client_id": "me", "client_secret": "the secret itself"},
                         token_url="https://id.example.org/t"),
    "integration": (with_client_secret, ("name", "base_url", "auth", "operations")),
    "assistant": put("/ai/config", {"endpoint": "https://ai.example.org/v1", "api_key": "the secret itself"}, "endpoint", "api_key"),
    "payments": put(PAYMENTS, {"mode": "own", "secret_key": "sk_test_itself_4242", "webhook_secrets": [
        {"secret": "whsec_one_1111"}, {"secret": "whsec_two_2222"}]}, "mode", "secret_key", "webhook_secrets"),
    "identity provider": put("/", {"settings": {"oidc_issuer": "https://id.example.org", "oidc_client_id": "me",
                                                "oidc_client_secret": "the secret itself"}}, "name", "settings"),
    "record": (record, ("name", "pin")),
}


def stored(project, db):
    with db.cursor() as cursor:
        return Vault(cursor, project.id).check()[1]


def masks(value, path=()):
    """Returns the paths of all masks in a body."""
    if isinstance(value, str):
        return [path] if MASK in value else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for name, member in items for found in masks(member, (*path, name))]


def changed(value, path, change):
    if not path:
        return change(value)
    members = value.items() if isinstance(value, dict) else enumerate(value)
    made = {name: changed(member, path[1:], change) if name == path[0] else member for name, member in members}
    return made if isinstance(value, dict) else list(made.values())


def member_name(path):
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path).lstrip(".")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_read_is_sent_back(project, db, kind):
    make, members = KINDS[kind]
    path = make(project)
    before = stored(project, db)
    shown = project.admin.get(path, expect=200).json()
    body = {name: shown[name] for name in members}
    found = masks(body)
    assert found, shown
    for each in (body, *(changed(body, at, lambda text: f"Bearer {text}") for at in found)):
        assert project.admin.put(path, each, expect=200).status_code == 200
        assert stored(project, db) == before and masks(project.admin.get(path, expect=200).json()), each
    for at in found:
        for wrong in (lambda text: f"{text}x", lambda text: f"x{text}", lambda text: f"Digest {text}", lambda text: text + MASK):
            refused = project.admin.put(path, changed(body, at, wrong), expect=400).json()
            assert member_name(at) in [error["field"] for error in refused["errors"]] and MASK in str(refused), refused
        assert stored(project, db) == before
        project.admin.put(path, changed(body, at, lambda text: "another-secret"), expect=200)
        after = stored(project, db)
        assert after != before and MASK.encode() not in b"".join(after.values())
        project.admin.put(path, changed(body, at, lambda text: "the secret itself"))
        break


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_of_nothing_is_refused_or_stores_nothing(project, db, kind):
    make, members = KINDS[kind]
    path = make(project)
    shown = project.admin.get(path, expect=200).json()
    body = {name: shown[name] for name in members}
    if kind == "record":
        project.item("vaults", name="b", pin=MASK)
        assert MASK.encode() not in b"".join(stored(project, db).values())
        return
    if "connections" in path:
        made = {**body, "name": "second", "integration_id": shown["integration_id"]}
        project.admin.post("/connections", made, expect=400)
        return
    if kind == "integration":
        project.admin.post("/integrations", {**body, "name": "second"}, expect=400)
        return
    empty = changed(body, masks(body)[0], lambda text: None) if kind != "payments" else {"secret_key": None, "webhook_secrets": None}
    project.admin.put(path, empty, expect=200)
    project.admin.put(path, body, expect=400)


def test_one_of_several_is_changed(project, db):
    path = KINDS["basic"][0](project)
    changed = project.admin.put(path, {"credentials": {"username": "you", "password": MASK}}, expect=200).json()
    assert changed["credentials"] == {"username": "you", "password": MASK}
    [text] = [value for place, value in stored(project, db).items() if ":connections:" in place]
    assert b'"the secret itself"' in text and b'"you"' in text
    project.admin.put(PAYMENTS, {"secret_key": "sk_test_4242", "webhook_secrets": [{"secret": "whsec_1111"}]}, expect=200)
    project.admin.put(PAYMENTS, {"webhook_secrets": [{"secret": "whsec_2222"}, {"secret": f"{MASK}1111"}]}, expect=200)
    text = next(value for place, value in stored(project, db).items() if "payments" in place)
    assert b"whsec_1111" in text and b"whsec_2222" in text and b"sk_test_4242" in text


def test_a_stored_credential_follows_no_integration_to_another_host(project, db):
    """A masked credential that is sent back stays bound to the host for which it was entered; a partly masked one is refused
    for the new host."""
    path = KINDS["basic"][0](project)
    made = project.admin.get(path, expect=200).json()
    project.admin.put(f"/integrations/{made['integration_id']}", {"base_url": "https://evil.example.net"}, expect=200)
    project.admin.put(path, {"credentials": made["credentials"]}, expect=200)
    with db.cursor() as cursor:
        cursor.execute(f"select base_bound from {project.schema(db)}.connections")
        assert cursor.fetchall() == [("https://api.example.org:443",)]
    refused = project.admin.put(path, {"credentials": {"username": "you", "password": MASK}}, expect=400).json()
    assert refused["errors"][0]["field"] == "credentials.password" and "host" in refused["errors"][0]["message"]


def test_a_secret_is_no_mask(project):
    body = {"name": "KEY", "value": f"Bearer {MASK}"}
    assert project.admin.post("/secrets", body, expect=400).json()["errors"][0]["field"] == "value"
    project.admin.post("/secrets", {**body, "value": "Bearer abcd"}, expect=201)
    assert project.admin.put("/secrets/KEY", {"value": MASK}, expect=400).json()["errors"][0]["field"] == "value"

"""OAuth 2 of connections: consent with PKCE; tokens that one process fetches for all, that are refused, that are revoked."""
import concurrent.futures
import json
import re
import urllib.parse

import pytest
from groundwork.client import Client
from groundwork.deadline import until
from groundwork.records import execute
from test_integrations import connect, make, operation, run

PAGE = "https://app.example.org/connected"


def oauth(api, scheme, **members):
    return {"scheme": scheme, "token_url": f"{api.url}/oauth/token", **members}


def consenting(api, **members):
    return oauth(api, "oauth2_code", authorization_url="https://login.example.org/authorize?x=1", client_id="us", client_secret="client-secret-1",
                 scopes=["read", "write"], revocation_url=f"{api.url}/oauth/revoke", **members)


@pytest.fixture(autouse=True)
def reset_token_server(api):
    """Each test begins with a token server that behaves correctly."""
    api.expires_in, api.delay, api.refuse, api.rotates, api.packed = 3600, 0, None, True, False
    api.going.set()
    api.grants.clear()
    api.revoked.clear()


@pytest.fixture
def own_integration(crm, api):
    return make(crm, api.url, auth=consenting(api), operations=[operation(path="/guarded")])


def begin(client, connection, expect=200, page=PAGE):
    return client.post(f"/connections/{connection['id']}/authorize", {"redirect_to": page}, expect=expect).json()


def finish(client, answer, expect=200):
    return client.post("/connections/callback", answer, expect=expect).json()


def consented(crm, api, made, client=None, **body):
    client = client or crm.admin
    connection = connect(crm, made, {}, client=client, **body)
    return finish(client, api.consent(begin(client, connection)["url"]))


def test_token_servers_that_pack_and_mark(crm, api, own_integration):
    """The gateway reads tokens from an answer with gzip, a byte order mark and a number beyond 64 bits."""
    api.packed = True
    connection = consented(crm, api, own_integration)
    api.packed = False
    assert connection["status"] == "active"
    assert run(crm, own_integration)["status_code"] == 200


def test_consent_that_is_not_given(crm, api, own_integration):
    connection = connect(crm, own_integration, {})
    answer = {**api.consent(begin(crm.admin, connection)["url"]), "scope": "read", "authuser": "0"}
    refused = {name: value for name, value in answer.items() if name != "code"} | {"error": "access_denied"}
    assert finish(crm.admin, refused, 403)["code"] == "forbidden"
    assert finish(crm.admin, answer, 400)["code"] == "flow_state_invalid"
    answer = {**api.consent(begin(crm.admin, connection)["url"]), "scope": "read", "authuser": "0"}
    assert finish(crm.admin, answer)["status"] == "active"
    assert finish(crm.admin, {"state": "x"}, 400)["errors"][0]["field"] == "code"


def test_client_credentials(crm, api):
    made = make(crm, api.url, auth=oauth(api, "oauth2_client_credentials", scopes=["a", "b"], audience="x"), operations=[operation(path="/guarded")])
    connection = connect(crm, made, {"client_id": "id:1", "client_secret": "top secret/2"})
    assert connection["credentials"] == {"client_id": "id:1", "client_secret": "********"} and connection["expires_at"] is None
    for _ in range(3):
        assert run(crm, made)["status_code"] == 200
    assert api.grants == [{"grant_type": "client_credentials", "scope": "a b", "audience": "x"}], "one token for all"
    sent = api.requests_to("/oauth/token")[-1].headers["authorization"]
    assert sent == "Basic aWQlM0ExOnRvcCUyMHNlY3JldCUyRjI=", "RFC 6749, 2.3.1"
    assert crm.admin.get(f"/connections/{connection['id']}", expect=200).json()["expires_at"]
    token = api.requests_to("/guarded")[-1].headers["authorization"][7:]
    assert token not in json.dumps(run(crm, made)), "the answer shows what was sent, masked"
    api.live.clear()  # the API refuses the token before it expires
    assert run(crm, made)["status_code"] == 200 and len(api.grants) == 2
    call = crm.admin.get(f"/integrations/{made['id']}/calls", expect=200).json()["items"][0]
    assert (call["tries"], call["status_code"], call["outcome"]) == (2, 200, "answered")


def test_in_the_body(crm, api):
    made = make(crm, api.url, auth=oauth(api, "oauth2_client_credentials", client_auth="body"), operations=[operation(path="/guarded")])
    connect(crm, made, {"client_id": "id", "client_secret": "in-the-body"})
    run(crm, made)
    assert api.grants == [{"grant_type": "client_credentials", "client_id": "id", "client_secret": "in-the-body"}]


def test_one_fetches_for_all_gateways(crm, api, calling_gateway, start_gateway, other_api, recorder):
    """Eight concurrent calls to two gateways without a token make one request for a token."""
    made = make(crm, api.url, auth=consenting(api), operations=[operation(path="/guarded")])
    connection = consented(crm, api, made)
    second = start_gateway("gateway-integrations-2", WORKERS=2, FETCH_ALLOW=f"127.0.0.1:{api.port},127.0.0.1:{other_api.port}")
    there = Client(f"{second.url}/org/{crm.id}", token=crm.admin.token, recorder=recorder)
    api.grants.clear()
    api.live.clear()
    api.delay = 0.3
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: run(crm, made, client=(crm.admin, there)[n % 2])["status_code"], range(8)))
    assert answers == [200] * 8
    assert [grant["grant_type"] for grant in api.grants] == ["refresh_token"], "a second one would have lost the connection"
    assert crm.admin.get(f"/connections/{connection['id']}", expect=200).json()["status"] == "active"
    second.stop()


def test_who_asked_leaves_and_the_token_stays(crm, api, own_integration):
    """A fetched token is stored although the caller has left: a server that rotates has already forgotten the old refresh
    token."""
    connection = consented(crm, api, own_integration)
    api.live.clear()
    api.delay = 1
    with pytest.raises(Exception, match="[Tt]imed out"):
        crm.admin.session.post(f"{crm.base_url}/integrations/{own_integration['id']}/operations/op/run", json={}, timeout=0.4,
                               headers={"Authorization": f"Bearer {crm.admin.token}"})
    assert run(crm, own_integration)["status_code"] == 200
    api.delay = 0
    api.live.clear()
    assert run(crm, own_integration)["status_code"] == 200
    assert crm.admin.get(f"/connections/{connection['id']}", expect=200).json()["status"] == "active"


def test_what_a_dead_process_has_taken_is_free_again(crm, api, db):
    made = make(crm, api.url, auth=oauth(api, "oauth2_client_credentials"), operations=[operation(path="/guarded")])
    connection = connect(crm, made, {"client_id": "id", "client_secret": "secret-of-it"})
    execute(db, f"update {crm.schema(db)}.connections set lease = 7, lease_until = now() + interval '1 second' where id = %s", connection["id"])
    assert run(crm, made)["status_code"] == 200 and len(api.grants) == 1


def test_what_comes_too_late_is_dropped(crm, api, db):
    """A token is dropped if the connection's credentials were replaced while it was fetched."""
    made = make(crm, api.url, auth=oauth(api, "oauth2_client_credentials", client_auth="body"), operations=[operation(path="/guarded")])
    connection = connect(crm, made, {"client_id": "before", "client_secret": "secret-before"})
    api.going.clear()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        late = pool.submit(run, crm, made, expect=409)
        until(lambda: api.grants, "the token is requested")
        crm.admin.put(f"/connections/{connection['id']}", {"credentials": {"client_id": "after", "client_secret": "secret-after"}}, expect=200)
        api.going.set()
        assert "changed" in late.result()["detail"]
    assert run(crm, made)["status_code"] == 200
    assert [grant["client_id"] for grant in api.grants] == ["before", "after"]


def test_a_consent(crm, api, own_integration):
    connection = connect(crm, own_integration, {})
    assert connection["status"] == "pending" and "consent" in run(crm, own_integration, expect=409)["detail"]
    url = begin(crm.admin, connection)["url"]
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert url.startswith("https://login.example.org/authorize?x=1&response_type=code&")
    assert (asked["client_id"], asked["redirect_uri"], asked["scope"], asked["code_challenge_method"]) == ("us", PAGE, "read write", "S256")
    assert "client-secret-1" not in url
    done = finish(crm.admin, api.consent(url))
    assert done["status"] == "active" and done["credentials"] == {"access_token": "********", "refresh_token": "********"}
    assert run(crm, own_integration)["status_code"] == 200
    grant, = api.grants
    assert grant["grant_type"] == "authorization_code" and len(grant["code_verifier"]) == 43


def test_a_state_serves_once_and_its_user(crm, api, own_integration):
    ann, bob = crm.user(), crm.user()
    connection = connect(crm, own_integration, {}, client=ann, own=True)
    begin(bob, connection, expect=404)
    begin(crm.admin, connection, expect=404)
    assert begin(ann, connection, expect=400, page="https://evil.example/")["code"] == "redirect_not_allowed"
    answer = api.consent(begin(ann, connection)["url"])
    assert finish(bob, answer, expect=400)["code"] == "flow_state_invalid"
    assert finish(ann, answer, expect=400)["code"] == "flow_state_invalid", "another user has seen the code"
    answer = api.consent(begin(ann, connection)["url"])
    assert finish(ann, {**answer, "iss": "https://evil.example"}, expect=400)["code"] == "flow_state_invalid", "the answer names another server"
    stale = api.consent(begin(ann, connection)["url"])
    answer = api.consent(begin(ann, connection)["url"])
    assert finish(ann, answer)["status"] == "active"
    assert finish(ann, answer, expect=400)["code"] == "flow_state_invalid"
    assert finish(ann, stale, expect=409)["code"] == "conflict", "the consent began before the connection changed"
    assert finish(ann, {"code": "x", "state": "never-given"}, expect=400)["code"] == "flow_state_invalid"
    wrong = api.consent(begin(ann, connection)["url"])
    assert "invalid_grant" in finish(ann, {**wrong, "code": "guessed"}, expect=409)["detail"]


@pytest.mark.parametrize("status, error, expected", [(400, "invalid_grant", 409), (401, "invalid_client", 409), (500, "server_error", 502), (400, "a b\"<", 502)])
def test_refusals_of_the_token_server(crm, api, own_integration, calling_gateway, status, error, expected):
    connection = consented(crm, api, own_integration)
    api.live.clear()
    api.refuse = (status, error)
    answer = run(crm, own_integration, expect=expected)
    shown = crm.admin.get(f"/connections/{connection['id']}", expect=200).json()
    assert shown["status"] == ("failed" if expected == 409 else "active")
    assert shown["last_error"] == (error if re.fullmatch(r"\w+", error) else "no_answer")
    assert "secret-of-the-server" not in json.dumps([answer, shown]) + calling_gateway.log()
    api.refuse = None
    assert run(crm, own_integration, expect=200 if expected == 502 else 409) is not None
    if expected == 409:
        assert finish(crm.admin, api.consent(begin(crm.admin, connection)["url"]))["status"] == "active"
        assert run(crm, own_integration)["status_code"] == 200


def test_revoked_here_and_there(crm, api, own_integration):
    connection = consented(crm, api, own_integration)
    path = f"/connections/{connection['id']}"
    run(crm, own_integration)
    done = crm.admin.post(f"{path}/revoke", expect=200).json()
    assert done["status"] == "revoked" and done["credentials"] == {}
    assert len(api.revoked) == 2 and api.revoked[0].startswith("refresh-")
    assert "revoked" in run(crm, own_integration, expect=409)["detail"]
    crm.admin.post(f"{path}/revoke", expect=200)
    assert len(api.revoked) == 2
    assert finish(crm.admin, api.consent(begin(crm.admin, connection)["url"]))["status"] == "active"
    crm.admin.put(f"/integrations/{own_integration['id']}", {"auth": {**consenting(api), "revocation_url": f"{api.url}/nothing", "client_secret": "********"}})
    crm.admin.post(f"{path}/revoke", expect=200)
    crm.admin.post("/connections/424242/revoke", expect=404)


def test_the_clients_secret_goes_nowhere_else(crm, api, other_api, own_integration):
    path = f"/integrations/{own_integration['id']}"
    assert own_integration["auth"]["client_secret"] == "********"
    crm.admin.put(path, {"auth": own_integration["auth"]}, expect=200)  # sent back as it was read
    consented(crm, api, own_integration)
    moved = {**own_integration["auth"], "token_url": f"{other_api.url}/oauth/token"}
    assert crm.admin.put(path, {"auth": moved}, expect=400).json()["errors"][0]["field"] == "auth.client_secret"
    crm.admin.put(path, {"auth": {**moved, "client_secret": None}}, expect=200)
    assert "another host" in run(crm, own_integration, expect=409)["detail"], "nor do the tokens"
    assert not other_api.requests_to("/oauth/token")


def test_a_code_goes_to_nobody_else(crm, api, other_api, own_integration):
    """After the integration moves to another host, a consent that began before is invalid, and the new host receives neither
    code nor verifier."""
    connection = connect(crm, own_integration, {})
    answer = api.consent(begin(crm.admin, connection)["url"])
    moved = {**own_integration["auth"], "token_url": f"{other_api.url}/oauth/token", "client_secret": None}
    crm.admin.put(f"/integrations/{own_integration['id']}", {"auth": moved}, expect=200)
    assert finish(crm.admin, answer, expect=400)["code"] == "flow_state_invalid"
    assert not other_api.requests_to("/oauth/token") and not api.grants


def test_nothing_is_stored_open(crm, api, own_integration, db):
    consented(crm, api, own_integration)
    schema = crm.schema(db)
    with db.cursor() as cursor:
        for table in ("integrations", "connections", "connection_flows", "integration_calls", "audit_log"):
            cursor.execute(f"select coalesce(string_agg(t::text, ' '), '') from {schema}.{table} t")
            text, = cursor.fetchone()
            for secret in (*api.live, *api.refresh, "client-secret-1"):
                assert secret not in text and secret.encode().hex() not in text

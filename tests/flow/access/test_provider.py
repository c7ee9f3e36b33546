"""Sign-in through an OpenID Connect issuer: an honest one (oidc-provider) and a lying one (fake_issuer)."""
import base64
import hashlib
import html.parser
import pathlib
import secrets
import shutil
import subprocess
import time
import urllib.parse

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from groundwork.client import Client
from groundwork.daemon import free_port
from groundwork.project import ADMIN_EMAIL, PASSWORD, Project
from groundwork.soon import settle
from oidc.fake_issuer import Issuer, Server, b64, ec_jwk, part, rsa_jwk, rsa_key, sign_es256, sign_hs256, sign_rs256

AUTHORIZE = "/auth/v1/google/authorize"
CALLBACK = "/auth/v1/google/callback"
TOKEN = "/auth/v1/token"
PAGE = "https://app.example.org/signed-in"
JSON = {"Accept": "application/json"}
OPEN = {"redirect_urls": [PAGE], "sign_up": True, "rate_sign_in_address": 100000, "rate_sign_in_account": 100000}


@pytest.fixture(scope="module")
def issuers():
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def stand_in_port():
    return free_port()


@pytest.fixture(scope="module")
def closed_port():
    return free_port()


@pytest.fixture(scope="module")
def provider_gateway(start_gateway, session_gateway, issuers, stand_in_port, closed_port):
    """A gateway that may connect only to the issuers of these tests. It has one worker, so that settings apply immediately."""
    ports = (issuers.port, stand_in_port, closed_port)
    return start_gateway("gateway-provider", WORKERS=1, FETCH_ALLOW=",".join(f"127.0.0.1:{port}" for port in ports))


@pytest.fixture
def issuer(issuers):
    return Issuer(issuers)


@pytest.fixture
def project(provider_gateway, make_project, issuer):
    made = make_project(provider_gateway)
    configure(made, **OPEN, **issuer.settings)
    return made


@pytest.fixture(scope="module")
def unmoved_project(provider_gateway, servers, recorder):
    operator = Client(f"{provider_gateway.url}/org", token=servers.operator_token, recorder=recorder)
    return Project(provider_gateway, operator, recorder)


@pytest.fixture
def shared_provider_project(unmoved_project, issuer):
    """One project for all attempts that must fail."""
    configure(unmoved_project, **OPEN, **issuer.settings)
    return unmoved_project


def configure(project, **settings):
    project.admin.put("/", {"settings": settings}, expect=200)


def start(project, client=None, **params):
    params.setdefault("redirect_to", PAGE)
    return (client or project.client()).get(AUTHORIZE, params=params, headers=JSON, expect=200).json()["url"]


def finish(project, body, expect=200, client=None):
    answer = (client or project.client()).post(CALLBACK, body)
    assert answer.status_code == expect, answer.text
    return answer.json()


def sign_in(project, issuer, expect=200, **claims):
    claims = {"sub": "s1", "email": "ann@example.org", **claims}
    return finish(project, issuer.approve(start(project), **claims), expect)


def query(db, project, text, *params):
    with db.cursor() as cursor:
        cursor.execute(text.replace("{p}", project.schema(db)), params)
        rows = cursor.fetchall() if cursor.description else []
    db.commit()
    return rows


def assert_no_new_accounts(db, project):
    """Asserts that no user, identity or session was created in addition to the administrator's."""
    assert query(db, project, "select email from {p}.users") == [(ADMIN_EMAIL,)]
    assert query(db, project, "select count(*) from {p}.identities") == [(0,)]
    assert query(db, project, "select count(*) from {p}.sessions") == [(1,)]


# --- start ----------------------------------------------------------------------------------------


def test_not_configured(project):
    configure(project, oidc_issuer=None)
    answer = project.client().get(AUTHORIZE, params={"redirect_to": PAGE}, expect=404).json()
    assert answer["code"] == "not_found" and "identity provider" in answer["detail"]


def test_redirects_the_browser(project, issuer):
    answer = project.client().get(AUTHORIZE, params={"redirect_to": PAGE, "login_hint": "a b@c.de"}, expect=302)
    url = answer.headers["Location"]
    assert answer.headers["Cache-Control"] == "no-store" and not answer.content
    assert url.startswith(f"{issuer.url}/authorize?client_id=")
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert asked["redirect_uri"] == PAGE and asked["login_hint"] == "a b@c.de"
    for name in ("state", "nonce", "code_challenge"):
        assert len(base64.urlsafe_b64decode(asked[name] + "=")) == 32
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3


@pytest.mark.parametrize("listed, asked", [
    ("myapp://cb", "myapp://cb"), ("com.example.app:/oauth", "com.example.app:/oauth"), ("exp://", "exp://"),
    ("https://app.example.org:443/cb", "https://app.example.org/cb"), ("https://app.example.org/cb", "https://app.example.org:443/cb"),
    ("http://localhost:80", "http://localhost/"),
])
def test_apps_and_the_schemes_own_port(shared_provider_project, listed, asked):
    """RFC 8252: an app is reached by its own URI scheme. The provider gets the address exactly as requested."""
    configure(shared_provider_project, redirect_urls=[PAGE, listed])
    try:
        url = shared_provider_project.client().get(AUTHORIZE, params={"redirect_to": asked}, expect=302).headers["Location"]
        assert dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))["redirect_uri"] == asked
        refused = shared_provider_project.client().get(AUTHORIZE, params={"redirect_to": asked + "x"}, expect=400).json()
        assert refused["code"] == "redirect_not_allowed"
    finally:
        configure(shared_provider_project, redirect_urls=[PAGE])


def test_endpoint_with_a_query(project, issuer):
    issuer.discovery["authorization_endpoint"] = f"{issuer.url}/authorize?tenant=7"
    assert start(project).startswith(f"{issuer.url}/authorize?tenant=7&client_id=")


@pytest.mark.parametrize(
    "redirect_to",
    ["", PAGE + "/", PAGE + "?x=1", PAGE + "#x", PAGE[:-1], PAGE.upper(), "https://app.example.org", "//evil.example",
     "https://app.example.org@evil.example/signed-in", "https://app.example.org.evil.example/signed-in",
     "https://app.example.org\\@evil.example", "javascript:alert(1)", "/signed-in", PAGE + "\r\nX: y", None],
)
def test_t6_open_redirect(shared_provider_project, redirect_to):
    params = {} if redirect_to is None else {"redirect_to": redirect_to}
    answer = shared_provider_project.client().get(AUTHORIZE, params=params, expect=400).json()
    assert answer["code"] == "redirect_not_allowed"


@pytest.mark.parametrize(
    "params",
    [{"code_challenge": "short"}, {"code_challenge": "=" * 43}, {"code_challenge": "A" * 44}, {"code_challenge": ""},
     {"code_challenge": "A" * 43, "code_challenge_method": "plain"}, {"surprise": "1"}, {"state": "mine"}],
)
def test_bad_start(shared_provider_project, params):
    shared_provider_project.client().get(AUTHORIZE, params={"redirect_to": PAGE, **params}, expect=400)


def test_flows_are_stored_hashed_and_sealed(project, db):
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(start(project)).query))
    ((state_hash, row),) = query(db, project, "select state_hash, f::text from {p}.auth_flows f")
    assert bytes(state_hash) == hashlib.sha256(asked["state"].encode()).digest()
    for secret in (asked["state"], asked["nonce"]):
        assert secret not in row and secret.encode().hex() not in row


def test_starts_are_limited(project):
    configure(project, rate_sign_in_address=3)
    statuses = [project.client().get(AUTHORIZE, params={"redirect_to": PAGE}).status_code for _ in range(9)]
    assert set(statuses) == {302, 429}


# --- finish ---------------------------------------------------------------------------------------


def test_sign_up_then_sign_in(project, issuer, db):
    first = sign_in(project, issuer, email="Ann@Example.org", name="Ann", picture="https://p.example/a.png")
    assert first["is_new_user"] is True and first["user"]["email"] == "ann@example.org"
    assert first["user"]["status"] == "active" and first["user"]["email_confirmed_at"]
    assert first["user"]["metadata"] == {"name": "Ann", "picture": "https://p.example/a.png"}
    assert first["user"]["role_ids"] == [project.role_named("Standard User")["id"]]
    again = sign_in(project, issuer, email="moved@elsewhere.example", name="Other", email_verified=False)
    assert again["is_new_user"] is False and again["user"]["id"] == first["user"]["id"]
    assert again["user"]["email"] == "ann@example.org" and again["user"]["metadata"]["name"] == "Ann"
    client = project.client(token=first["access_token"])
    client.post("/auth/v1/logout", params={"scope": "local"}, expect=204)
    project.client().post("/auth/v1/refresh", {"refresh_token": again["refresh_token"]}, expect=200)
    assert ("auth.sign_up", str(first["user"]["id"])) in query(db, project, "select action, target_id from {p}.audit_log")


def test_issuers_that_pack_and_mark(project, issuer):
    issuer.packed = True
    assert sign_in(project, issuer)["is_new_user"] is True


def test_as_a_form(project, issuer):
    back = issuer.approve(start(project), sub="s1", email="ann@example.org")
    project.client().request("POST", CALLBACK, data=back, expect=200)


def test_sign_up_can_be_off(project, issuer, db):
    configure(project, sign_up=False)
    assert sign_in(project, issuer, expect=403)["code"] == "signup_disabled"
    assert_no_new_accounts(db, project)


@pytest.mark.parametrize("body, field", [({}, "state"), ({"code": "x"}, "state"), ({"state": "x"}, "code"),
                                         ({"code": "", "state": "x"}, "code"), ({"code": 1, "state": "x"}, "code")])
def test_bad_callbacks(shared_provider_project, body, field):
    assert finish(shared_provider_project, body, 400)["errors"][0]["field"] == field


def test_t6_states(project, issuer, db, provider_gateway, servers, recorder):
    operator = Client(f"{provider_gateway.url}/org", token=servers.operator_token)
    other = Project(provider_gateway, operator, recorder)
    configure(other, **OPEN, **issuer.settings)
    for state in ("unknown", "A" * 43, "x" * 500):
        assert finish(project, {"code": "x", "state": state}, 400)["code"] == "flow_state_invalid"
    back = issuer.approve(start(project), sub="s1", email="ann@example.org")
    assert finish(other, back, 400)["code"] == "flow_state_invalid"
    expired = issuer.approve(start(project), sub="s1", email="ann@example.org")
    query(db, project, "update {p}.auth_flows set expires_at = now() where state_hash = %s",
          hashlib.sha256(expired["state"].encode()).digest())
    assert finish(project, expired, 400)["code"] == "flow_state_invalid"
    assert issuer.hits["token"] == 0
    assert_no_new_accounts(db, project)
    finish(project, back)
    assert finish(project, back, 400)["code"] == "flow_state_invalid"
    assert issuer.hits["token"] == 1


def test_t6_a_failed_finish_spends_the_state(project, issuer, db):
    back = issuer.approve(start(project), sub="s1", email="ann@example.org")
    assert finish(project, {**back, "iss": "https://evil.example"}, 400)["code"] == "flow_state_invalid"
    assert finish(project, back, 400)["code"] == "flow_state_invalid"
    assert issuer.hits["token"] == 0
    assert_no_new_accounts(db, project)


@pytest.mark.parametrize("given, expect", [("right", 200), ("wrong", 400), (None, 400), ("", 400)])
def test_t6_the_clients_own_pkce(project, issuer, given, expect):
    verifier = secrets.token_urlsafe(32)
    challenge = b64(hashlib.sha256(verifier.encode()).digest())
    url = start(project, code_challenge=challenge, code_challenge_method="S256")
    back = issuer.approve(url, sub="s1", email="ann@example.org")
    verifiers = {"right": verifier, "wrong": secrets.token_urlsafe(32), "": "", None: None}
    body = {**back, "code_verifier": verifiers[given]}
    answer = finish(project, {k: v for k, v in body.items() if v is not None}, expect)
    assert expect == 200 or answer["code"] == "flow_state_invalid"


def test_t6_pkce_cannot_be_dropped(project, issuer):
    """A verifier for a start without a challenge: an attacker may have removed the challenge (RFC 9700, 4.8.2)."""
    back = issuer.approve(start(project), sub="s1", email="ann@example.org")
    assert finish(project, {**back, "code_verifier": "A" * 43}, 400)["code"] == "flow_state_invalid"


def test_t6_code_replay(project, issuer, db):
    back = issuer.approve(start(project), sub="s1", email="ann@example.org")
    issuer.codes.clear()
    assert finish(project, back, 401)["code"] == "invalid_credentials"
    assert_no_new_accounts(db, project)


def test_t6_settings_change_under_way(project, issuer, issuers, db):
    back = issuer.approve(start(project), sub="s1", email="ann@example.org")
    configure(project, **Issuer(issuers).settings)
    assert finish(project, back, 400)["code"] == "flow_state_invalid"
    assert issuer.hits["token"] == 0


# --- the ID token ---------------------------------------------------------------------------------

NOW = int(time.time())  # not exactly now: all tests are collected before the first one runs
LATER = NOW + 7 * 86400


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "other"}, {"nonce": ...}, {"nonce": ""}, {"nonce": None},
        {"iss": "https://evil.example"}, {"iss": ...}, {"iss": "accounts.google.com"},
        {"aud": "other-client"}, {"aud": ...}, {"aud": ["other-client"]}, {"aud": []},
        {"aud": ["the-client", "other-client"], "azp": ...}, {"azp": "other-client"}, {"aud": ["the-client", 7]},
        {"exp": NOW - 600}, {"exp": ...}, {"exp": "4102444800"}, {"exp": NOW - 600.5}, {"exp": 1e300},
        {"exp": -1e300}, {"iat": LATER + 0.5}, {"nbf": LATER + 0.5}, {"exp": True},
        {"iat": NOW - 3600}, {"iat": LATER}, {"iat": ...}, {"nbf": LATER},
        {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, {"at_hash": ""}, {"at_hash": 7},
        {"sub": ""}, {"sub": ...}, {"sub": 7}, {"sub": "x" * 256},
    ],
)
def test_t6_claims_of_the_id_token(shared_provider_project, issuer, db, claims):
    issuer.claims = claims
    assert sign_in(shared_provider_project, issuer, expect=401)["code"] == "invalid_credentials"
    assert_no_new_accounts(db, shared_provider_project)


@pytest.mark.parametrize("claims", [{"at_hash": ...}, {"azp": ...}, {"aud": ["the-client"]},
                                    {"aud": ["the-client", "other"]}, {"email_verified": "true"},
                                    {"sub": "x" * 255}, {"exp": 4102444800.5}, {"nbf": NOW - 0.75}])
def test_claims_that_may_differ(project, issuer, claims):
    issuer.claims = claims
    sign_in(project, issuer)


def public_pem():
    return rsa_key().public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


@pytest.mark.parametrize(
    "header, sign",
    [
        ({"alg": "none"}, lambda _: b""),
        ({"alg": "None"}, lambda _: b"x"),
        ({"alg": "HS256"}, sign_hs256(Issuer.client_secret.encode())),
        ({"alg": "HS256"}, sign_hs256(public_pem())),
        ({"alg": "ES256"}, sign_rs256(rsa_key())),
        ({"alg": "RS512"}, sign_rs256(rsa_key())),
        ({"alg": "RS256"}, sign_rs256(rsa_key(name="stranger"))),
        ({"alg": "RS256"}, lambda _: b""),
        ({"alg": "RS256", "kid": ...}, sign_rs256(rsa_key(name="stranger"))),
        ({"alg": "RS256", "kid": "k2"}, sign_rs256(rsa_key())),
        ({"alg": "RS256", "crit": ["exp"]}, sign_rs256(rsa_key())),
        ({"alg": "RS256", "kid": "k9", "jwk": rsa_jwk(rsa_key(name="stranger"), "k9")},
         sign_rs256(rsa_key(name="stranger"))),
    ],
)
def test_t1_algorithms_and_keys(shared_provider_project, issuer, db, header, sign):
    issuer.header = {**issuer.header, **header}
    issuer.sign = sign
    assert sign_in(shared_provider_project, issuer, expect=401)["code"] == "invalid_credentials"
    assert_no_new_accounts(db, shared_provider_project)


def test_a_token_without_kid_is_of_the_only_key(project, issuer, db):
    issuer.header = {"alg": "RS256", "kid": ...}
    issuer.jwks = [rsa_jwk(issuer.key, "k1"), rsa_jwk(rsa_key(name="other"), "k2")]
    assert sign_in(project, issuer, expect=401)["code"] == "invalid_credentials", "the token may be signed by either key"
    assert_no_new_accounts(db, project)


def test_a_token_without_kid(project, issuer):
    issuer.header = {"alg": "RS256", "kid": ...}
    issuer.jwks = [{**rsa_jwk(issuer.key, "k1"), "kid": "k1"}, {"kty": "oct", "k": "AAAA"},
                   {**rsa_jwk(rsa_key(name="other"), "k2"), "use": "enc"}]
    issuer.claims = {"iat": time.time() - 0.5}  # times may have fractions
    sign_in(project, issuer)


@pytest.mark.parametrize("change", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "oct"}, {"n": "AQAB"}, {"e": "AQ"},
                                    {"n": "not base64!"}, {"n": ...}])
def test_bad_keys(shared_provider_project, issuer, db, change):
    jwk = rsa_jwk(issuer.key, "k1", **change)
    issuer.jwks = [{k: v for k, v in jwk.items() if v is not ...}, "no key", {}]
    assert sign_in(shared_provider_project, issuer, expect=401)["code"] == "invalid_credentials"
    assert_no_new_accounts(db, shared_provider_project)


def test_short_rsa_keys(project, issuer):
    key = rsa_key(1024)
    issuer.jwks, issuer.sign = [rsa_jwk(key, "k1")], sign_rs256(key)
    sign_in(project, issuer, expect=401)


def test_es256(project, issuer):
    key = ec.generate_private_key(ec.SECP256R1())
    issuer.jwks.append(ec_jwk(key, "e1"))
    issuer.header, issuer.sign = {"alg": "ES256", "kid": "e1"}, sign_es256(key)
    sign_in(project, issuer)


@pytest.mark.parametrize("tamper", [lambda t: t[:-1], lambda t: t + "A", lambda t: t + ".", lambda t: t.replace(".", ".."),
                                    lambda t: "", lambda t: 7, lambda t: None, lambda t: "x" * 9000,
                                    lambda t: t.split(".")[0] + "." + part({"sub": "s1"}) + "." + t.split(".")[2]])
def test_t3_forms_of_the_id_token(shared_provider_project, issuer, db, tamper):
    issuer.tamper = tamper
    assert sign_in(shared_provider_project, issuer, expect=401 if isinstance(tamper("a.b.c"), str) and tamper("a.b.c") else 502)
    assert_no_new_accounts(db, shared_provider_project)


def test_unknown_keys_do_not_hammer_the_issuer(project, issuer):
    """An unknown key id makes the gateway fetch the keys once, and again only after a minute."""
    issuer.header["kid"] = "gone"
    for _ in range(6):
        sign_in(project, issuer, expect=401)
    assert issuer.hits["jwks"] == 1 and issuer.hits["discovery"] == 1


# --- issuers in trouble ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [(500, {}), (503, b"<html>"), (200, b"no json"), (200, {}), (200, b"[]"), (400, {"error": "invalid_request"}),
     (401, {"error": "invalid_client"}), (302, {}), (200, b"{" + b" " * 2000000 + b"}")],
)
def test_token_endpoint_in_trouble(shared_provider_project, issuer, db, answer):
    issuer.answer = answer
    assert sign_in(shared_provider_project, issuer, expect=502)["code"] == "provider_error"
    assert issuer.hits["token"] == 1, "the code was not sent exactly once"
    assert_no_new_accounts(db, shared_provider_project)


@pytest.mark.parametrize(
    "change",
    [{"issuer": "https://evil.example"}, {"issuer": ...}, {"token_endpoint": ...}, {"jwks_uri": "file:///etc/passwd"},
     {"authorization_endpoint": "javascript:alert(1)"}, {"authorization_endpoint": "https://a.example/\r\nX: y"},
     {"authorization_endpoint": 7}, {"authorization_endpoint": "https://a.example/?x=" + "a" * 20000}],
)
def test_discovery_that_lies(shared_provider_project, issuer, change):
    issuer.discovery = change
    answer = shared_provider_project.client().get(AUTHORIZE, params={"redirect_to": PAGE}, expect=502).json()
    assert answer["code"] == "provider_error"


def test_an_address_that_no_header_holds(project, issuer):
    """A login hint that is too long after percent-encoding is refused, not truncated."""
    path = f"{AUTHORIZE}?redirect_to={urllib.parse.quote(PAGE, safe='')}&login_hint="
    assert project.client().get(path + "/" * 1000, expect=302).headers["Location"].endswith("login_hint=" + "%2F" * 1000)
    assert project.client().get(path + "/" * 6000, expect=400).json()["code"] == "invalid_query"


def test_s7_issuers_out_of_reach_look_alike(project, issuers, closed_port):
    """The answers for closed, unknown and missing addresses are the same, so the gateway cannot be used to scan its network."""
    answers = []
    for url in (f"http://127.0.0.1:{closed_port}", "http://nobody.invalid", f"http://127.0.0.1:{issuers.port}/nobody"):
        configure(project, oidc_issuer=url)
        answer = project.client().get(AUTHORIZE, params={"redirect_to": PAGE}, expect=502).json()
        answer.pop("request_id")
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2]


# --- the account of an identity -------------------------------------------------------------------


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email_verified": ...}, {"email_verified": "false"},
                                    {"email_verified": 1}, {"email": ...}, {"email": "no address"}, {"email": 7},
                                    {"email_verified": None}, {"email": ADMIN_EMAIL, "email_verified": False, "hd": "x"}])
def test_t7_unverified_addresses(shared_provider_project, issuer, db, claims):
    assert sign_in(shared_provider_project, issuer, expect=403, **claims)["code"] == "email_not_verified"
    assert_no_new_accounts(db, shared_provider_project)


def test_t7_verified_is_not_enough_to_link(project, issuer, db):
    answer = sign_in(project, issuer, expect=409, email=ADMIN_EMAIL)
    assert answer["code"] == "identity_link_required"
    assert_no_new_accounts(db, project)


@pytest.mark.parametrize("email, hd", [(ADMIN_EMAIL, "example.org"), ("victor@gmail.com", ...),
                                       ("victor@company.example", "company.example")])
def test_t7_what_google_may_say_others_may_not(project, issuer, db, email, hd):
    """gmail.com and `hd` mean something only when the issuer is Google: any other issuer may claim them."""
    if email != ADMIN_EMAIL:
        project.user(email=email)
    assert sign_in(project, issuer, expect=409, email=email, hd=hd)["code"] == "identity_link_required"
    assert query(db, project, "select count(*) from {p}.identities") == [(0,)]


def test_t7_an_administrators_invitation_is_not_accepted_by_claims(project, issuer, db):
    query(db, project, "insert into {p}.users (email, status) values ('boss@example.org', 'invited')")
    query(db, project, "insert into {p}.user_roles (user_id, role_id) select u.id, r.id from {p}.users u, {p}.roles r"
          " where u.email = 'boss@example.org' and r.is_admin")
    assert sign_in(project, issuer, expect=409, email="boss@example.org")["code"] == "identity_link_required"
    configure(project, link_verified_email=True)
    assert sign_in(project, issuer, email="boss@example.org")["is_new_user"] is True


def test_t7_a_project_may_trust_its_issuer(project, issuer):
    assert sign_in(project, issuer, expect=409, email=ADMIN_EMAIL)["code"] == "identity_link_required"
    configure(project, link_verified_email=True)
    assert project.admin.get("/", expect=200).json()["settings"]["link_verified_email"] is True
    assert sign_in(project, issuer, email=ADMIN_EMAIL)["user"]["id"] == project.admin.user["id"]


@pytest.mark.parametrize("email, hd", [("victor@gmail.com", ...), ("victor@company.example", "company.example")])
def test_t7_trusted_issuers_link_confirmed_accounts(project, issuer, db, email, hd):
    configure(project, link_verified_email=True)
    user = project.user(email=email)
    query(db, project, "update {p}.users set email_confirmed_at = coalesce(email_confirmed_at, now())")
    body = sign_in(project, issuer, email=email.upper(), hd=hd)
    assert body["user"]["id"] == user.user["id"] and body["is_new_user"] is False
    project.client().sign_in(email, PASSWORD)  # the owner's password still works
    user.post("/auth/v1/logout", params={"scope": "others"}, expect=204)
    actions = query(db, project, "select action, target_id from {p}.audit_log")
    assert ("auth.identity_linked", str(user.user["id"])) in actions


def test_an_issuer_that_does_not_say_email_verified(project, issuer):
    """Entra's tokens lack the claim. oidc_trust_email fills the gap: it overrules no claim, and does not link accounts on its
    own."""
    for absent in (..., None):
        assert sign_in(project, issuer, expect=403, email_verified=absent)["code"] == "email_not_verified"
    configure(project, oidc_trust_email=True)
    assert project.admin.get("/", expect=200).json()["settings"]["oidc_trust_email"] is True
    body = sign_in(project, issuer, email_verified=...)
    assert body["is_new_user"] and body["user"]["email"] == "ann@example.org" and body["user"]["email_confirmed_at"]
    for wrong in (False, "false", 1):
        assert sign_in(project, issuer, expect=403, sub="s2", email="b@example.org", email_verified=wrong)["code"] == "email_not_verified"
    assert sign_in(project, issuer, expect=409, sub="s3", email=ADMIN_EMAIL, email_verified=...)["code"] == "identity_link_required"


def test_callbacks_as_browsers_get_them(project, issuer):
    """Google adds scope, authuser and prompt, and other issuers add session_state; a user may refuse."""
    extra = {"scope": "email openid", "authuser": "0", "prompt": "none", "session_state": "x"}
    answer = issuer.approve(start(project), sub="s1", email="ann@example.org")
    finish(project, {**answer, **extra})
    for error, expect, code in (("access_denied", 403, "forbidden"), ("server_error", 502, "provider_error"),
                                ("<b>no</b>", 502, "provider_error")):
        state = issuer.approve(start(project), sub="s1", email="ann@example.org")["state"]
        refused = finish(project, {"state": state, "error": error, "error_description": "The user said no", **extra}, expect)
        assert refused["code"] == code and "<" not in refused["detail"]
        assert finish(project, {"state": state, "code": "x"}, 400)["code"] == "flow_state_invalid", "its flow is over"
    assert finish(project, {"state": "unknown", "error": "access_denied"}, 400)["code"] == "flow_state_invalid"
    assert finish(project, {"state": "unknown"}, 400)["errors"][0]["field"] == "code"


def test_t7_addresses_that_only_look_like_it(project, issuer, db):
    for email in ("victor@gmail.com.example.org", "victor@notgmail.com"):
        project.user(email=email)
        assert sign_in(project, issuer, expect=409, sub=email, email=email)["code"] == "identity_link_required"
    assert query(db, project, "select count(*) from {p}.identities") == [(0,)]


def test_t7_a_trap_is_emptied(project, issuer, db):
    """An attacker registered the victim's address first, and keeps a password, a session and a key: all three end when the
    victim signs in."""
    configure(project, link_verified_email=True)
    attacker = project.user(email="victim@gmail.com")
    key = project.key([], client=attacker) if attacker.get("/api-keys").status_code == 200 else None
    query(db, project, "update {p}.users set email_confirmed_at = null, status = 'unconfirmed' where email = %s",
          "victim@gmail.com")
    body = sign_in(project, issuer, email="victim@gmail.com")
    assert body["user"]["id"] == attacker.user["id"] and body["user"]["status"] == "active"
    project.client().post(TOKEN, {"email": "victim@gmail.com", "password": PASSWORD}, expect=401)
    project.client().post("/auth/v1/refresh", {"refresh_token": attacker.refresh_token}, expect=401)
    settle()
    attacker.post("/auth/v1/logout", expect=401)
    assert query(db, project, "select count(*) from {p}.api_keys where user_id = %s", attacker.user["id"]) == [(0,)]
    assert key is None or key.get("/permissions").status_code == 401
    project.client(token=body["access_token"]).post("/auth/v1/logout", params={"scope": "others"}, expect=204)


def test_t7_a_trap_is_left_alone_without_authority(project, issuer, db):
    query(db, project, "insert into {p}.users (email, status, password_hash) values ('a@example.org', 'unconfirmed', 'x')")
    assert sign_in(project, issuer, expect=409, email="a@example.org")["code"] == "identity_link_required"
    assert query(db, project, "select password_hash from {p}.users where email = 'a@example.org'") == [("x",)]


def test_invitations_are_accepted(project, issuer, db):
    configure(project, sign_up=False)
    query(db, project, "insert into {p}.users (email, status) values ('guest@example.org', 'invited')")
    body = sign_in(project, issuer, email="guest@example.org")
    assert body["is_new_user"] is True and body["user"]["status"] == "active" and body["user"]["email_confirmed_at"]


def test_suspended_accounts(project, issuer, db):
    query(db, project, "insert into {p}.users (email, status, email_confirmed_at) values ('b@gmail.com', 'suspended', now())")
    assert sign_in(project, issuer, expect=403, email="b@gmail.com")["code"] == "user_suspended"
    body = sign_in(project, issuer)
    query(db, project, "update {p}.users set status = 'suspended' where id = %s", body["user"]["id"])
    assert sign_in(project, issuer, expect=403)["code"] == "user_suspended"


def test_subjects_are_case_sensitive(project, issuer):
    one = sign_in(project, issuer, sub="Abc", email="one@example.org")
    two = sign_in(project, issuer, sub="abc", email="two@example.org")
    assert one["user"]["id"] != two["user"]["id"]


def test_another_subject_for_the_same_address(project, issuer):
    sign_in(project, issuer, sub="first", email="ann@example.org")
    assert sign_in(project, issuer, expect=409, sub="second")["code"] == "identity_link_required"


# --- linking from a session -----------------------------------------------------------------------


def link(project, issuer, user, expect=200, finisher=None, **claims):
    url = start(project, client=user)
    return finish(project, issuer.approve(url, **{"sub": "s1", "email": "x@elsewhere.example", **claims}), expect,
                  client=finisher or user)


def test_link_from_a_session(project, issuer):
    user = project.user()
    assert link(project, issuer, user)["user"]["id"] == user.user["id"]
    assert sign_in(project, issuer)["user"]["id"] == user.user["id"]


def test_only_the_same_user_finishes_a_link(project, issuer, db):
    user, other = project.user(), project.user()
    for finisher in (other, project.client()):
        assert link(project, issuer, user, 400, finisher)["code"] == "flow_state_invalid"
    assert link(project, issuer, user, 403, email_verified=False)["code"] == "email_not_verified"
    assert query(db, project, "select count(*) from {p}.identities") == [(0,)]


def test_an_identity_has_one_account(project, issuer):
    link(project, issuer, project.user())
    assert link(project, issuer, project.user(), 409)["code"] == "conflict"


def test_a_key_links_nothing(project, issuer, db):
    """A key may start a sign-in like an anonymous client, but does not act as a session of its creator."""
    key = project.key(["svc_users:read"])
    body = link(project, issuer, key, email="new@example.org")
    assert body["is_new_user"] is True and body["user"]["id"] != project.admin.user["id"]


# --- an honest provider ---------------------------------------------------------------------------

FOLDER = pathlib.Path(__file__).parents[1] / "oidc"


def npm_packages():
    """Installs the packages of package-lock.json; returns the reason why it cannot, or None."""
    if not shutil.which("npm"):
        return "npm is not installed"
    if (FOLDER / "node_modules/oidc-provider").is_dir():
        return None
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, text=True)
    return None if done.returncode == 0 else f"npm cannot install oidc-provider: {done.stderr[-500:]}"


@pytest.fixture(scope="module")
def stand_in(stand_in_port):
    trouble = npm_packages()
    if trouble:
        pytest.skip(trouble)
    node = subprocess.Popen(["node", "provider.mjs", str(stand_in_port), PAGE], cwd=FOLDER, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    for line in node.stdout:
        if line.strip() == "listening":
            break
    else:
        pytest.fail(f"provider.mjs ended with {node.wait()}")
    yield f"http://127.0.0.1:{stand_in_port}"
    node.terminate()
    node.wait()
    node.stdout.close()


class Form(html.parser.HTMLParser):
    """The first form of a page: its target and its hidden members."""

    def __init__(self, page):
        super().__init__()
        self.action, self.members = None, {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form" and self.action is None:
            self.action = attrs["action"]
        if tag == "input" and attrs.get("type") == "hidden":
            self.members[attrs["name"]] = attrs.get("value", "")


def browse(url, name):
    """Acts as a user's browser: signs in as `name`, agrees, and returns the parameters of the redirect to the client's page."""
    browser = requests.Session()
    browser.trust_env = False
    answer = browser.get(url, allow_redirects=False)
    for _ in range(12):
        if answer.is_redirect:
            target = urllib.parse.urljoin(answer.url, answer.headers["Location"])
            if target.startswith(PAGE):
                return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))
            answer = browser.get(target, allow_redirects=False)
        else:
            assert answer.status_code == 200, answer.text
            form = Form(answer.text)
            members = {**form.members, "login": name, "password": "any"}
            answer = browser.post(urllib.parse.urljoin(answer.url, form.action), data=members, allow_redirects=False)
    raise AssertionError(f"stuck at {answer.url}")


def test_with_oidc_provider(project, stand_in):
    configure(project, oidc_issuer=stand_in, oidc_client_id="groundwork", oidc_client_secret="stand-in secret")
    ids = []
    for expected in (True, False):
        back = browse(start(project), "ann")
        assert back["iss"] == stand_in
        body = finish(project, back)
        assert body["is_new_user"] is expected and body["user"]["email"] == "ann@example.org"
        assert body["user"]["metadata"]["name"] == "Name of ann"
        ids.append(body["user"]["id"])
    assert ids[0] == ids[1]
    assert finish(project, browse(start(project), "unverified"), 403)["code"] == "email_not_verified"


def test_oidc_provider_refuses_a_used_code(project, stand_in):
    configure(project, oidc_issuer=stand_in, oidc_client_id="groundwork", oidc_client_secret="stand-in secret")
    back = browse(start(project), "bob")
    finish(project, back)
    fresh = browse(start(project), "bob")
    assert finish(project, {**fresh, "code": back["code"]}, 401)["code"] == "invalid_credentials"


def test_oidc_provider_knows_its_client(project, stand_in):
    configure(project, oidc_issuer=stand_in, oidc_client_id="groundwork", oidc_client_secret="another secret")
    assert finish(project, browse(start(project), "bob"), 502)["code"] == "provider_error"

"""Sign-in with a password, refresh, sign-out, access tokens and their signing keys."""
import base64
import concurrent.futures
import ctypes
import hashlib
import hmac
import json
import re
import time

import jwt
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from groundwork.project import ADMIN_EMAIL, PASSWORD
from groundwork.soon import settle

TOKEN = "/auth/v1/token"
REFRESH = "/auth/v1/refresh"
LOGOUT = "/auth/v1/logout"
JWKS = "/auth/v1/.well-known/jwks.json"
ROTATE = "/auth/v1/keys/rotate"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value):
    return b64(json.dumps(value, separators=(",", ":")).encode())


def claims_of(token):
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def header_of(token):
    return jwt.get_unverified_header(token)


def settings(project, **changes):
    project.admin.put("/", {"settings": changes}, expect=200)
    settle()


def sql(db, project, text, *params):
    with db.cursor() as cursor:
        cursor.execute(text.replace("{p}", project.schema(db)), params)
        rows = cursor.fetchall() if cursor.description else []
    db.commit()
    return rows


def hashes_made(gateway, purpose):
    found = re.search(
        r'^groundwork_password_hashes_total\{purpose="%s"\} (\d+)' % purpose, gateway.metrics(), re.MULTILINE
    )
    return int(found.group(1))


def without_id(response):
    body = response.json()
    body.pop("request_id", None)
    return response.status_code, body, response.headers.get("WWW-Authenticate")


def refused(client, path="/auth/v1/logout", code="token_invalid"):
    assert client.post(path, expect=401).json()["code"] == code


# --- sign in --------------------------------------------------------------------------------------


def test_token_body(project, anonymous):
    before = time.time()
    answer = anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=200)
    body = answer.json()
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(body) == {"access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user"}
    assert body["token_type"] == "bearer" and body["expires_in"] == 3600
    assert before - 1 <= body["expires_at"] - 3600 <= time.time()
    assert body["user"]["email"] == ADMIN_EMAIL and body["user"]["status"] == "active"
    assert body["user"]["last_sign_in_at"] and len(body["user"]["role_ids"]) == 1
    claims, header = claims_of(body["access_token"]), header_of(body["access_token"])
    assert header["alg"] == "ES256" and header["typ"] == "at+jwt" and header["kid"]
    assert claims["iss"] == project.base_url and claims["aud"] == project.id
    assert claims["sub"] == str(body["user"]["id"]) and claims["role_ids"] == body["user"]["role_ids"]
    assert isinstance(claims["sid"], int) and claims["exp"] - claims["iat"] == 3600
    assert len(base64.urlsafe_b64decode(body["refresh_token"] + "=")) == 32


def test_forms_of_the_request(anonymous):
    right = {"email": ADMIN_EMAIL, "password": PASSWORD}
    anonymous.post(TOKEN, {**right, "gotrue_meta_security": {"captcha_token": None}}, expect=200)
    anonymous.post(TOKEN, right, params={"grant_type": "password"}, expect=200)
    anonymous.post(TOKEN, {"email": " " + ADMIN_EMAIL, "password": PASSWORD}, expect=200)
    form = {"grant_type": "password", "username": ADMIN_EMAIL, "password": PASSWORD}
    body = anonymous.request("POST", TOKEN, data=form, expect=200).json()
    form = {"grant_type": "refresh_token", "refresh_token": body["refresh_token"]}
    body = anonymous.request("POST", TOKEN, data=form, expect=200).json()
    body = anonymous.post(
        TOKEN, {"refresh_token": body["refresh_token"]}, params={"grant_type": "refresh_token"}, expect=200
    ).json()
    anonymous.request("POST", REFRESH, data={"refresh_token": body["refresh_token"]}, expect=200)


@pytest.mark.parametrize(
    "path, body, field",
    [
        (TOKEN, {}, "email"),
        (TOKEN, {"email": ADMIN_EMAIL}, "password"),
        (TOKEN, {"email": ADMIN_EMAIL, "password": ""}, "password"),
        (TOKEN, {"email": ADMIN_EMAIL, "password": 12345678}, "password"),
        (TOKEN, {"email": [ADMIN_EMAIL], "password": PASSWORD}, "email"),
        (TOKEN, {"grant_type": "refresh_token"}, "refresh_token"),
        (TOKEN, {"grant_type": "client_credentials"}, "grant_type"),
        (REFRESH, {}, "refresh_token"),
        (REFRESH, {"refresh_token": None}, "refresh_token"),
    ],
)
def test_bad_bodies(shared_project, path, body, field):
    answer = shared_project.client().post(path, body, expect=400).json()
    assert answer["errors"][0]["field"] == field


def test_bad_forms(shared_project):
    client = shared_project.client()
    for body in ("username=a&username=b&password=c", "username=%ff&password=x", "username=a&password=%00"):
        client.request("POST", TOKEN, data=body, headers=FORM, expect=400)
    client.request("POST", TOKEN, data="x=" + "y" * 20000, headers=FORM, expect=413)
    client.request("POST", TOKEN, data="<x/>", headers={"Content-Type": "text/xml"}, expect=415)
    client.post(TOKEN, {"email": "a", "password": "b"}, params={"grant_type": "magic"}, expect=400)
    client.post(TOKEN, {"email": "a", "password": "b"}, params={"surprise": "1"}, expect=400)


def test_t8_unknown_and_wrong_answer_alike(gateway, project, anonymous):
    """Both have the same status, body and headers, and cause the same work: an unknown account also costs one hash."""
    settings(project, rate_sign_in_address=1000)
    checks = hashes_made(gateway, "check")
    wrong = anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": "wrong password"})
    unknown = anonymous.post(TOKEN, {"email": "nobody@example.org", "password": "wrong password"})
    assert without_id(wrong) == without_id(unknown)
    assert wrong.status_code == 401 and wrong.json()["code"] == "invalid_credentials"
    assert hashes_made(gateway, "check") == checks + 2


def test_account_without_a_password(gateway, project, anonymous, db):
    sql(db, project, "insert into {p}.users (email, email_confirmed_at) values ('bare@example.org', now())")
    checks = hashes_made(gateway, "check")
    for password in ("x", "null", PASSWORD):
        answer = anonymous.post(TOKEN, {"email": "bare@example.org", "password": password}, expect=401)
        assert answer.json()["code"] == "invalid_credentials"
    assert hashes_made(gateway, "check") == checks + 3


def test_states_of_accounts(project, anonymous, db):
    """The service reveals an account's state only with the right password."""
    project.user(email="p@example.org")
    right, wrong = ({"email": "p@example.org", "password": p} for p in (PASSWORD, "wrong password"))
    for status, code in [("suspended", "user_suspended"), ("unconfirmed", "email_not_confirmed"),
                         ("invited", "email_not_confirmed")]:
        sql(db, project, "update {p}.users set status = %s where email = 'p@example.org'", status)
        assert anonymous.post(TOKEN, right, expect=403).json()["code"] == code
        assert anonymous.post(TOKEN, wrong, expect=401).json()["code"] == "invalid_credentials"
    sql(db, project, "update {p}.users set status = 'active', email_confirmed_at = null where email = 'p@example.org'")
    anonymous.post(TOKEN, right, expect=200)
    settings(project, require_confirmed_email=True)
    assert anonymous.post(TOKEN, right, expect=403).json()["code"] == "email_not_confirmed"


def test_t10_passwords_are_exact_but_for_their_form(project, anonymous):
    """Unicode spellings of the same characters (composed, decomposed) are the same password; any other difference makes
    another password."""
    settings(project, rate_sign_in_account=1000, rate_sign_in_address=1000)
    composed, decomposed = "caf\u00e9 am Abend", "cafe\u0301 am Abend"
    long = "x" * 1024
    for number, password in enumerate([composed, long, " leading and trailing ", "ⓟⓐⓢⓢⓦⓞⓡⓓ"]):
        email = f"p{number}@example.org"
        project.admin.post("/users", {"email": email, "password": password}, expect=201)
        anonymous.post(TOKEN, {"email": email, "password": password}, expect=200)
    anonymous.post(TOKEN, {"email": "p0@example.org", "password": decomposed}, expect=200)
    for email, password in [
        ("p0@example.org", "cafe am Abend"),
        ("p1@example.org", long[:-1]),
        ("p1@example.org", long[:72]),
        ("p2@example.org", "leading and trailing"),
        ("p3@example.org", "password"),
    ]:
        anonymous.post(TOKEN, {"email": email, "password": password}, expect=401)


def test_t10_length_cap_before_hashing(gateway, shared_project):
    client = shared_project.client()
    done = hashes_made(gateway, "check")
    for password in ("x" * 1025, "ä" * 600, "x" * 1000000):
        answer = client.post(TOKEN, {"email": ADMIN_EMAIL, "password": password}, expect=400).json()
        assert answer["errors"][0]["field"] == "password" and answer["errors"][0]["code"] == "too_long"
    assert client.request("POST", TOKEN, data=b'{"email":"a@b.cd","password":"a\\u0000b"}',
                          headers={"Content-Type": "application/json"}).status_code == 400
    assert done == hashes_made(gateway, "check")


def test_t11_guesses_on_one_account(gateway, project, anonymous):
    settings(project, rate_sign_in_account=4, rate_sign_in_address=1000)
    project.admin.post("/users", {"email": "victim@example.org", "password": PASSWORD}, expect=201)
    statuses = [
        anonymous.post(TOKEN, {"email": "victim@example.org", "password": f"guess number {n}"}).status_code
        for n in range(12)
    ]
    assert set(statuses) == {401, 429} and statuses[0] == 401 and statuses.count(401) <= 8  # the minute may end in between
    if statuses[-1] == 429:
        done = hashes_made(gateway, "check")
        answer = anonymous.post(TOKEN, {"email": "victim@example.org", "password": "guess"})
        if answer.status_code == 429:
            assert 1 <= int(answer.headers["Retry-After"]) <= 60 and answer.json()["code"] == "rate_limited"
            assert hashes_made(gateway, "check") == done, "limited before anything is hashed"
    # unknown accounts are limited too, so 429 does not reveal that an account exists
    statuses = [
        anonymous.post(TOKEN, {"email": "ghost@example.org", "password": "guess"}).status_code for _ in range(12)
    ]
    assert set(statuses) == {401, 429}


def test_t11_owner_is_not_locked_out(project, anonymous, db):
    """Guesses from other addresses do not count against an owner who signs in from a known address."""
    settings(project, rate_sign_in_account=3, rate_sign_in_address=1000)
    sql(db, project, "update {p}.sessions set address = '192.0.2.7'")
    guess = {"email": ADMIN_EMAIL, "password": "guess"}
    assert 429 in [anonymous.post(TOKEN, guess).status_code for _ in range(8)]
    sql(db, project, "update {p}.sessions set address = '127.0.0.1'")
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=200)


def test_t11_one_guess_on_many_accounts(project, anonymous):
    settings(project, rate_sign_in_address=5)
    statuses = [
        anonymous.post(TOKEN, {"email": f"u{n}@example.org", "password": "guess"}).status_code for n in range(14)
    ]
    assert set(statuses) == {401, 429}


def test_l8_many_sign_ins_at_once(project):
    """The number of concurrent hashes is limited; other sign-ins wait or are answered with 503, and other routes are not
    affected."""
    settings(project, rate_sign_in_account=1000, rate_sign_in_address=1000)

    def one(number):
        client = project.client()
        if number % 4 == 0:
            return client.get(JWKS).status_code
        return client.post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}).status_code

    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        statuses = list(pool.map(one, range(80)))
    assert set(statuses) <= {200, 503} and statuses.count(200) >= 40
    assert all(status == 200 for status in statuses[::4])


def argon2_hash(password, passes, kib):
    """The hash as PHC text, of the bytes as given."""
    lib = ctypes.CDLL("libargon2.so.1")
    out = ctypes.create_string_buffer(256)
    salt, size = b"somesaltsomesalt", ctypes.c_size_t
    assert lib.argon2id_hash_encoded(
        passes, kib, 1, password, size(len(password)), salt, size(16), size(32), out, size(256)
    ) == 0
    return out.value.decode()


def test_a_hash_of_other_bytes_is_replaced_at_sign_in(project, anonymous, db):
    """Old hashes are of the bytes as typed; after one sign-in with these bytes, every Unicode spelling of the password works."""
    composed, decomposed = "p\u00e4ssword of old", "pa\u0308ssword of old"
    stored = argon2_hash(decomposed.encode(), 2, 19456)
    sql(db, project, "update {p}.users set password_hash = %s where email = %s", stored, ADMIN_EMAIL)
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": composed}, expect=401)
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": decomposed}, expect=200)
    assert sql(db, project, "select password_hash from {p}.users")[0][0] != stored
    for password in (composed, decomposed):
        anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": password}, expect=200)
    change = {"current_password": decomposed, "password": "nai\u0308ve and new"}
    project.admin.put("/users/me", change, expect=200)
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": "na\u00efve and new"}, expect=200)


def test_a_letter_with_its_mark_is_one_character_of_a_password(project):
    for password in ("u\u0308" * 4, "\u00fc" * 4):
        project.admin.post("/users", {"email": "short@example.org", "password": password}, expect=400)
    project.admin.post("/users", {"email": "long@example.org", "password": "u\u0308" * 8}, expect=201)


def test_rehash_when_parameters_rise(project, anonymous, db):
    todays = sql(db, project, "select password_hash from {p}.users")[0][0].rpartition("$")[0].rpartition("$")[0]
    assert todays == f"$argon2id$v=19$m={64 if project.gateway.is_sanitized else 19456},t=2,p=1"
    weak = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$"
    stored = argon2_hash(PASSWORD.encode(), 1, 8)
    assert stored.startswith(weak)
    sql(db, project, "update {p}.users set password_hash = %s where email = %s", stored, ADMIN_EMAIL)
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": "wrong password"}, expect=401)
    assert sql(db, project, "select password_hash from {p}.users")[0][0] == stored
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=200)
    assert sql(db, project, "select password_hash from {p}.users")[0][0].startswith(f"{todays}$")
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=200)


def test_nothing_secret_is_stored(project, db, gateway):
    stored = "".join(
        str(sql(db, project, f"select array_agg(t::text) from {{p}}.{table} t"))
        for table in ("users", "sessions", "refresh_tokens", "settings", "audit_log")
    )
    for secret in (PASSWORD, project.admin.token, project.admin.refresh_token):
        assert secret not in stored and secret not in gateway.log()


# --- access tokens --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forge(shared_project, servers):
    """Signs any claims and header with a key that the file's project knows: forge(claims, header) -> token."""
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.public_key().public_numbers()
    doc = {"alg": "ES256", "active": False, "x": b64(numbers.x.to_bytes(32, "big")),
           "y": b64(numbers.y.to_bytes(32, "big"))}
    with servers.connect() as db:
        sql(db, shared_project, "insert into {p}.settings (kind, key, doc) values ('signing_key', 'forged', %s)", json.dumps(doc))
    db.close()
    right = claims_of(shared_project.admin.token)

    def make(claims=None, header=None, raw=None):
        body = {**right, **(claims or {})}
        body = {name: value for name, value in body.items() if value is not ...}
        head = {"alg": "ES256", "kid": "forged", "typ": "at+jwt", **(header or {})}
        head = {name: value for name, value in head.items() if value is not ...}
        text = f"{part(head)}.{raw or part(body)}"
        r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    make.public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    make.right = right
    return make


def test_forge_can_forge(shared_project, forge):
    """Tokens of this fixture are accepted when their claims are right, so that the tests below prove something."""
    shared_project.client(token=forge()).post(LOGOUT, params={"scope": "others"}, expect=204)


@pytest.mark.parametrize("alg", ["none", "None", "nOnE", "", "HS256", "RS256", "ES384", "es256", 7, None, ...])
def test_t1_algorithms(shared_project, forge, alg):
    refused(shared_project.client(token=forge(header={"alg": alg})))


def test_t1_public_key_as_secret(shared_project, forge):
    text = f"{part({'alg': 'HS256', 'kid': 'forged', 'typ': 'at+jwt'})}.{part(forge.right)}"
    for secret in (forge.public, forge.public.strip(), b""):
        signature = b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())
        refused(shared_project.client(token=f"{text}.{signature}"))
    refused(shared_project.client(token=f"{part({'alg': 'none', 'typ': 'at+jwt'})}.{part(forge.right)}."))


@pytest.mark.parametrize(
    "kid",
    ["../../../etc/passwd", "' or 1=1 --", "http://127.0.0.1:1/jwks", "", "forged ", "FORGED", "x" * 65, "x" * 5000,
     7, None, ["forged"], ...],
)
def test_t2_key_ids(shared_project, forge, kid):
    refused(shared_project.client(token=forge(header={"kid": kid})))


def test_t2_keys_in_the_header(shared_project, forge):
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.public_key().public_numbers()
    jwk = {"kty": "EC", "crv": "P-256", "x": b64(numbers.x.to_bytes(32, "big")), "y": b64(numbers.y.to_bytes(32, "big"))}
    for extra in ({"jwk": jwk}, {"jku": "http://127.0.0.1:1/"}, {"x5u": "http://127.0.0.1:1/"}, {"x5c": ["AAAA"]}):
        text = f"{part({'alg': 'ES256', 'typ': 'at+jwt', 'kid': 'own', **extra})}.{part(forge.right)}"
        r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        refused(shared_project.client(token=f"{text}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"))


def test_t3_forms(shared_project, forge):
    good = forge()
    head, body, signature = good.split(".")
    last = signature[-1]
    noncanonical = signature[:-1] + chr(ord(last) + 1)
    for token in (
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}.{body}.{signature[:-1]}",
        f"{head}.{body}.{signature}.",
        f"{head}.{body}.{signature}.{signature}",
        f"{head}.{body}.{signature}=",
        f"{head}.{body}.{noncanonical}",
        f"{head}.{body}.{b64(bytes(64))}",
        f"{head}.{part({**forge.right, 'sub': '2'})}.{signature}",
        f"{head}. {body}.{signature}",
        f"{head}=.{body}.{signature}",
        good.swapcase(),
        "x" * 9000,
        "a.b.c",
        "...",
        forge(header={"crit": ["exp"]}),
        forge(header={"b64": False, "crit": ["b64"]}),
        forge(raw=b64(json.dumps(forge.right)[:-1].encode() + b',"sub":"2"}')),
        forge(raw=b64(b'["no object"]')),
        forge(raw=b64(b"\xff\xfe")),
    ):
        refused(shared_project.client(token=token))


@pytest.mark.parametrize(
    "claims, code",
    [
        ({"exp": lambda now: now - 3600}, "token_expired"),
        ({"exp": lambda now: now - 40}, "token_expired"),
        ({"exp": lambda now: now - 1}, "token_expired"),
        ({"iat": lambda now: now + 20}, None),  # clocks of two gateways may differ a little
        ({"exp": ...}, "token_invalid"),
        ({"exp": "4102444800"}, "token_invalid"),
        ({"exp": 4102444800.5}, "token_invalid"),
        ({"exp": 1e30}, "token_invalid"),
        ({"exp": None}, "token_invalid"),
        ({"nbf": lambda now: now + 90}, "token_invalid"),
        ({"nbf": "0"}, "token_invalid"),
        ({"iat": lambda now: now + 90}, "token_invalid"),
        ({"iat": 1.5}, "token_invalid"),
        ({"iss": "someone"}, "token_invalid"),
        ({"iss": ...}, "token_invalid"),
        ({"aud": "other-project"}, "token_invalid"),
        ({"aud": ...}, "token_invalid"),
        ({"sub": ...}, "token_invalid"),
        ({"sub": 1}, "token_invalid"),
        ({"sub": "01"}, "token_invalid"),
        ({"sub": "999999"}, "token_invalid"),
        ({"sub": "-1"}, "token_invalid"),
        ({"sid": ...}, "token_invalid"),
        ({"sid": "1"}, "token_invalid"),
        ({"sid": 999999}, "token_invalid"),
    ],
)
def test_t4_claims(shared_project, forge, claims, code):
    now = int(time.time())
    client = shared_project.client(token=forge({k: v(now) if callable(v) else v for k, v in claims.items()}))
    if code:
        refused(client, code=code)
    else:
        client.post(LOGOUT, params={"scope": "others"}, expect=204)


@pytest.mark.parametrize("typ", ["JWT", "id+jwt", "tap+jwt", "", ...])
def test_t4_other_kinds_of_token(shared_project, forge, typ):
    refused(shared_project.client(token=forge(header={"typ": typ})))


def test_tokens_of_another_project(gateway, project, operator, recorder):
    from groundwork.project import Project

    other = Project(gateway, operator, recorder)
    refused(project.client(token=other.admin.token))
    answer = project.client().post(REFRESH, {"refresh_token": other.admin.refresh_token}, expect=401)
    assert answer.json()["code"] == "refresh_token_invalid"
    other.admin.post(LOGOUT, expect=204)


# --- refresh --------------------------------------------------------------------------------------


def refresh(client, token, expect=200):
    return client.post(REFRESH, {"refresh_token": token}, expect=expect).json()


def test_rotation(project, anonymous):
    first = project.admin.refresh_token
    second = refresh(anonymous, first)
    assert second["refresh_token"] != first
    assert claims_of(second["access_token"])["sid"] == claims_of(project.admin.token)["sid"]
    third = refresh(anonymous, second["refresh_token"])
    assert len({first, second["refresh_token"], third["refresh_token"]}) == 3
    project.client(token=third["access_token"]).get("/", expect=200)


def test_repeat_within_ten_seconds(project, anonymous):
    first = project.admin.refresh_token
    second = refresh(anonymous, first)["refresh_token"]
    assert refresh(anonymous, first)["refresh_token"] == second
    refresh(anonymous, second)
    assert refresh(anonymous, first)["refresh_token"] == second  # still within ten seconds
    project.client(token=project.admin.token).get("/", expect=200)


def test_parallel_refreshes_agree(project):
    first = project.admin.refresh_token
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: refresh(project.client(), first)["refresh_token"], range(8)))
    assert len(set(answers)) == 1


def age_tokens(db, project, seconds):
    sql(db, project, "update {p}.refresh_tokens set used_at = used_at - %s * interval '1 second'", seconds)


def test_lost_answer_within_a_minute(project, anonymous, db):
    first = project.admin.refresh_token
    second = refresh(anonymous, first)["refresh_token"]
    age_tokens(db, project, 30)
    assert refresh(anonymous, first)["refresh_token"] == second
    refresh(anonymous, second)


@pytest.mark.parametrize("use_child, age", [(True, 30), (False, 70), (True, 11)])
def test_a9_reuse_ends_the_session(project, anonymous, db, use_child, age):
    first = project.admin.refresh_token
    second = refresh(anonymous, first)["refresh_token"]
    live = project.client(token=project.admin.token)
    live.get("/", expect=200)
    if use_child:
        last = refresh(anonymous, second)["refresh_token"]
    else:
        last = second
    age_tokens(db, project, age)
    assert refresh(anonymous, first, expect=401)["code"] == "refresh_token_reused"
    assert refresh(anonymous, last, expect=401)["code"] == "session_expired"
    settle()  # another worker may have answered
    assert live.get("/", expect=401).json()["code"] == "token_invalid"
    actions = sql(db, project, "select action, actor_kind from {p}.audit_log")
    assert ("auth.refresh_token_reused", "anonymous") in actions


def test_other_sessions_survive_reuse(project, anonymous, db):
    other = project.client().sign_in(ADMIN_EMAIL, PASSWORD)
    first = project.admin.refresh_token
    refresh(anonymous, first)
    age_tokens(db, project, 100)
    refresh(anonymous, first, expect=401)
    refresh(anonymous, other.refresh_token)
    other.get("/", expect=200)


def test_successors_are_forgotten(project, anonymous, db):
    second = refresh(anonymous, project.admin.refresh_token)["refresh_token"]
    age_tokens(db, project, 100)
    refresh(anonymous, second)
    assert sql(db, project, "select count(*) from {p}.refresh_tokens where successor is not null") == [(1,)]


@pytest.mark.parametrize("token", ["x", "A" * 43, "A" * 200, "é", "../..", "' or 1=1"])
def test_unknown_refresh_tokens(shared_project, token):
    answer = refresh(shared_project.client(), token, expect=401)
    assert answer["code"] == "refresh_token_invalid"


def test_limits_of_life(project, anonymous, db):
    sql(db, project, "update {p}.refresh_tokens set created_at = now() - interval '31 days'")
    assert refresh(anonymous, project.admin.refresh_token, expect=401)["code"] == "session_expired"
    other = project.client().sign_in(ADMIN_EMAIL, PASSWORD)
    sql(db, project, "update {p}.sessions set expires_at = now() + interval '100 seconds'")
    body = refresh(anonymous, other.refresh_token)
    assert 0 < body["expires_in"] <= 100, "an access token does not outlive its session"
    sql(db, project, "update {p}.sessions set expires_at = now()")
    assert refresh(anonymous, body["refresh_token"], expect=401)["code"] == "session_expired"


def test_a9_suspended_users_cannot_refresh(project, anonymous, db):
    user = project.user(email="p@example.org")
    sql(db, project, "update {p}.users set status = 'suspended' where email = 'p@example.org'")
    assert refresh(anonymous, user.refresh_token, expect=403)["code"] == "user_suspended"
    sql(db, project, "update {p}.users set status = 'unconfirmed' where email = 'p@example.org'")
    assert refresh(anonymous, user.refresh_token, expect=403)["code"] == "email_not_confirmed"
    sql(db, project, "delete from {p}.users where email = 'p@example.org'")
    assert refresh(anonymous, user.refresh_token, expect=401)["code"] == "refresh_token_invalid"


# --- sign out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope, mine, others", [("local", False, True), ("others", True, False),
                                                ("global", False, False), (None, False, False)])
def test_scopes_of_sign_out(project, anonymous, scope, mine, others):
    me, other = (project.client().sign_in(ADMIN_EMAIL, PASSWORD) for _ in range(2))
    stranger = project.user()
    me.post(LOGOUT, params={"scope": scope} if scope else {}, expect=204)
    settle()
    for client, lives in ((me, mine), (other, others), (stranger, True)):
        answer = client.post(LOGOUT, params={"scope": "others"})
        assert answer.status_code == (204 if lives else 401)
        answer = anonymous.post(REFRESH, {"refresh_token": client.refresh_token})
        assert answer.status_code == (200 if lives else 401)


def test_sign_out_needs_a_user(project, anonymous):
    assert anonymous.post(LOGOUT, expect=401).json()["code"] == "unauthorized"
    project.admin.post(LOGOUT, params={"scope": "everyone"}, expect=400)


def test_a7_keys_cannot_sign_out(project):
    key = project.key(["svc_users:read"])
    assert key.post(LOGOUT, expect=403).json()["code"] == "forbidden"
    bearer = project.client(token=key.key)
    assert bearer.post(LOGOUT, expect=403).json()["code"] == "forbidden"
    both = project.client(token=project.admin.token, key=key.key)
    both.post(LOGOUT, expect=400)


# --- keys -----------------------------------------------------------------------------------------


def test_jwks_verifies_tokens(project, anonymous):
    answer = anonymous.get(JWKS, expect=200)
    assert answer.headers["Cache-Control"] == "public, max-age=60"
    (key,) = answer.json()["keys"]
    assert set(key) == {"kty", "crv", "alg", "use", "kid", "x", "y"}
    public = jwt.algorithms.ECAlgorithm.from_jwk(json.dumps(key))
    claims = jwt.decode(project.admin.token, public, algorithms=["ES256"], audience=project.id, issuer=project.base_url)
    assert claims["sub"] == str(project.admin.user["id"])


def test_rotation_of_keys(project, anonymous, db):
    old = header_of(project.admin.token)["kid"]
    new = project.admin.post(ROTATE, expect=200).json()["kid"]
    assert new != old
    project.admin.get("/", expect=200)  # tokens signed with the old key stay valid
    later = project.client().sign_in(ADMIN_EMAIL, PASSWORD)
    assert header_of(later.token)["kid"] == new
    later.get("/", expect=200)
    assert [key["kid"] for key in anonymous.get(JWKS).json()["keys"]] == [new, old]
    sql(db, project, """update {p}.settings set doc = doc || '{"retired_at": "2020-01-01T00:00:00Z"}'
        where kind = 'signing_key' and key = %s""", old)
    assert [key["kid"] for key in anonymous.get(JWKS).json()["keys"]] == [new]
    newest = project.admin.post(ROTATE, expect=200).json()["kid"]
    assert [key["kid"] for key in anonymous.get(JWKS).json()["keys"]] == [newest, new]
    assert len(sql(db, project, "select 1 from {p}.settings where kind = 'signing_key'")) == 2
    assert ("signing_keys.rotate",) in sql(db, project, "select action from {p}.audit_log")


def test_rotations_at_once_leave_one_active_key(project, db):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: project.client(token=project.admin.token).post(ROTATE, expect=200), range(6)))
    active = sql(db, project, """select count(*) from {p}.settings
        where kind = 'signing_key' and (doc ->> 'active')::boolean""")
    assert active == [(1,)]


def test_rotation_is_for_administrators(project, anonymous):
    assert anonymous.post(ROTATE, expect=401).json()["code"] == "unauthorized"
    assert project.user().post(ROTATE, expect=403).json()["code"] == "admin_required"


# --- clients of other services --------------------------------------------------------------------


def test_errors_as_other_clients_read_them(project, anonymous):
    """Errors have GoTrue's error_code and msg and RFC 6749's error and error_description in addition to our members, only
    below /auth/v1."""
    wrong = anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": "wrong password"}, expect=401).json()
    assert wrong["code"] == wrong["error_code"] == "invalid_credentials" and wrong["error"] == "invalid_grant"
    assert wrong["msg"] == wrong["error_description"] == wrong["detail"]
    assert anonymous.post(TOKEN, {}, expect=400).json()["error"] == "invalid_request"
    unknown = anonymous.post(REFRESH, {"refresh_token": "nothing"}, expect=401).json()
    assert (unknown["code"], unknown["error_code"]) == ("refresh_token_invalid", "refresh_token_not_found")
    refused = project.client(token="nonsense").get("/auth/v1/user", expect=401).json()
    assert (refused["code"], refused["error_code"], refused["error"]) == ("token_invalid", "bad_jwt", "invalid_token")
    assert not {"error_code", "msg", "error"} & set(project.client().get("/users", expect=401).json())


def test_who_is_signed_in(project):
    user = project.user()
    shown, me = user.get("/auth/v1/user", expect=200).json(), user.get("/users/me", expect=200).json()
    assert shown == {member: me[member] for member in shown}
    project.key(["svc_users:read"]).get("/auth/v1/user", expect=403)
    project.client().get("/auth/v1/user", expect=401)


def test_discovery_names_the_project(project, anonymous):
    for path in ("/.well-known/openid-configuration", "/auth/v1/.well-known/openid-configuration"):
        document = anonymous.get(path, expect=200).json()
        assert document["issuer"] == project.base_url == claims_of(project.admin.token)["iss"]
        assert document["jwks_uri"] == project.base_url + JWKS and document["token_endpoint"] == project.base_url + TOKEN
    other = anonymous.get(path, headers={"Host": "api.example.org"}, expect=200).json()
    assert other["issuer"] == f"http://api.example.org/org/{project.id}"


@pytest.mark.parametrize("iss, status", [("https://api.example.org/org/{}", 204), ("groundwork", 204), ("https://x/org/{}x", 401),
                                         ("ftp://x/org/{}", 401), ("https://x/org/other", 401), ("/org/{}", 401)])
def test_the_issuer_is_this_project(shared_project, forge, iss, status):
    token = forge(claims={"iss": iss.format(shared_project.id)})
    shared_project.client(token=token).post(LOGOUT, params={"scope": "others"}, expect=status)

"""The cost of sign-ins for other projects: shares of the hashing threads, counters by network, the operator's ceilings, and
caches that an ordinary user cannot invalidate at will (F1-F4)."""
import json
import socket
import time
import urllib.parse

import pytest

from groundwork.client import Client
from groundwork.deadline import allowed
from groundwork.project import ADMIN_EMAIL, PASSWORD, Project
from groundwork.soon import settle, await_status

TOKEN = "/auth/v1/token"
REFRESH = "/auth/v1/refresh"
LOGOUT = "/auth/v1/logout"
OPEN = {"rate_sign_in_address": 100000, "rate_sign_in_account": 100000}


def configure(project, **settings):
    project.admin.put("/", {"settings": settings}, expect=200)
    settle()


def epoch(db, project):
    with db.cursor() as cursor:
        cursor.execute("select epoch from platform.projects where slug = %s", (project.id,))
        value = cursor.fetchone()[0]
    db.commit()
    return value


# --- shares of the hashing threads ---


def flood(project, count):
    """Sends `count` concurrent sign-ins, each on its own connection, without reading the answers."""
    where = urllib.parse.urlsplit(project.base_url)
    body = json.dumps({"email": ADMIN_EMAIL, "password": "wrong password"}).encode()
    request = (f"POST {where.path}{TOKEN} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
               f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    sockets = []
    for _ in range(count):
        one = socket.create_connection((where.hostname, where.port))
        one.sendall(request)
        sockets.append(one)
    return sockets


def still_open(sockets):
    waiting = 0
    for one in sockets:
        one.setblocking(False)
        try:
            waiting += not one.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            waiting += 1
    return waiting


@pytest.mark.timed
def test_one_projects_sign_ins_leave_others_their_turn(start_gateway, servers):
    """The sign-ins of one project exceed the queue: some of them are answered with 503, and no sign-in of another project is."""
    gateway = start_gateway("turns", WORKERS=1, REQUEST_TIMEOUT_MS=600000)
    operator = Client(f"{gateway.url}/org", token=servers.operator_token)
    loud, quiet = Project(gateway, operator, None), Project(gateway, operator, None)
    configure(loud, **OPEN)
    sockets = flood(loud, 420)
    try:
        times = []
        for _ in range(6):
            begun = time.monotonic()
            quiet.client().post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=200)
            times.append(time.monotonic() - begun)
        waiting = still_open(sockets)
    finally:
        for one in sockets:
            one.close()
    assert waiting > 20, "the flood had already ended"
    assert sorted(times)[2] < allowed(2), times
    gateway.stop()


# --- the operator's ceilings ---


def test_the_operators_ceilings(project, start_gateway):
    configure(project, rate_sign_in_account=1000, rate_read=0, rate_write=5000)
    gateway = start_gateway("ceilings", WORKERS=1, RATE_SIGN_IN_MAX=60, RATE_READ_MAX=900, RATE_WRITE_MAX=10000)
    admin = Client(f"{gateway.url}/org/{project.id}", token=project.admin.token, recorder=project.recorder)
    settings = admin.get("/", expect=200).json()["settings"]
    assert settings["rate_sign_in_account"] == 60 and settings["rate_sign_in_address"] == 30
    assert settings["rate_read"] == 900 and settings["rate_write"] == 5000, "stored limits are not reduced to the ceiling"
    for name, value in (("rate_sign_in_account", 61), ("rate_sign_in_address", 1000000), ("rate_read", 0),
                        ("rate_read", 901), ("rate_write", 0)):
        error = admin.put("/", {"settings": {name: value}}, expect=400).json()["errors"][0]
        assert error["field"] == f"settings.{name}" and error["code"] == "out_of_range" and "operator" in error["message"]
    for name, value in (("rate_sign_in_account", 60), ("rate_read", 900), ("rate_read", None), ("rate_heavy", 0)):
        admin.put("/", {"settings": {name: value}}, expect=200)
    assert project.admin.get("/", expect=200).json()["settings"]["rate_write"] == 5000
    gateway.stop()


# --- addresses ---


@pytest.fixture
def behind_proxy(start_gateway, servers):
    gateway = start_gateway("networks", WORKERS=1, TRUSTED_PROXIES="127.0.0.1")
    project = Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)
    yield project
    gateway.stop()


def guess(project, number, address, path=TOKEN):
    body = {"email": f"u{number}@example.org", "password": "wrong password"}
    if path == REFRESH:
        body = {"refresh_token": f"guess {number}"}
    return project.client().post(path, body, headers={"X-Forwarded-For": address}).status_code


@pytest.mark.parametrize("path", [TOKEN, REFRESH])
def test_ipv6_counts_by_network(behind_proxy, path):
    configure(behind_proxy, rate_sign_in_address=4)
    statuses = [guess(behind_proxy, n, f"2001:db8:1:1::{n:x}", path) for n in range(14)]
    assert set(statuses) == {401, 429} and statuses.count(401) <= 8, statuses  # a minute may end in between
    assert guess(behind_proxy, 20, "2001:db8:1:2::1", path) == 401, "another /64"
    statuses = [guess(behind_proxy, n, f"2001:db8:2:{n:x}::1", path) for n in range(50)]
    assert set(statuses) == {401, 429} and 16 <= statuses.count(401) <= 32, statuses
    assert guess(behind_proxy, 60, "2001:db8:3::1", path) == 401, "another /48"


def test_ipv4_by_its_ipv6_name_is_the_same(behind_proxy):
    configure(behind_proxy, rate_sign_in_address=4)
    addresses = ["198.51.100.7", "::ffff:198.51.100.7", "::ffff:c633:6407", "::FFFF:198.51.100.7"]
    statuses = [guess(behind_proxy, n, addresses[n % 4]) for n in range(16)]
    assert set(statuses) == {401, 429} and statuses.count(401) <= 8, statuses
    assert guess(behind_proxy, 20, "::ffff:198.51.100.8") == 401


def test_an_owner_is_known_by_the_network(behind_proxy):
    """Privacy extensions change an address within its network: guesses from other networks do not lock out the owner's
    network."""
    configure(behind_proxy, rate_sign_in_account=3, rate_sign_in_address=1000)
    right = {"email": ADMIN_EMAIL, "password": PASSWORD}
    behind_proxy.client().post(TOKEN, right, headers={"X-Forwarded-For": "2001:db8:5:1::1"}, expect=200)
    statuses = [
        behind_proxy.client().post(TOKEN, {**right, "password": "guess"},
                                   headers={"X-Forwarded-For": f"2001:db8:{n:x}::1"}).status_code
        for n in range(16, 26)
    ]
    assert 429 in statuses
    behind_proxy.client().post(TOKEN, right, headers={"X-Forwarded-For": "2001:db8:5:1:abcd::2"}, expect=200)


# --- refresh ---


def test_a_refresh_guess_is_refused_by_a_read(project, anonymous, db):
    """A wrong refresh token is answered even while no transaction can lock a row of the table."""
    with db.cursor() as cursor:
        cursor.execute(f"begin; lock table {project.schema(db)}.refresh_tokens in exclusive mode")
        try:
            answer = anonymous.post(REFRESH, {"refresh_token": "a guess"})
        finally:
            cursor.execute("rollback")
    assert answer.status_code == 401 and answer.json()["code"] == "refresh_token_invalid"


def test_refresh_guesses_are_limited(project, anonymous):
    statuses = [anonymous.post(REFRESH, {"refresh_token": f"guess {n}"}) for n in range(90)]
    codes = [answer.status_code for answer in statuses]
    assert set(codes) == {401, 429} and codes.count(401) <= 60, codes
    if codes[-1] == 429:
        assert 1 <= int(statuses[-1].headers["Retry-After"]) <= 60
    anonymous.post(TOKEN, {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=200)


def test_a_session_is_refreshed_so_often(project, anonymous):
    configure(project, rate_sign_in_address=5)
    token, codes = project.admin.refresh_token, []
    for _ in range(14):
        answer = anonymous.post(REFRESH, {"refresh_token": token})
        codes.append(answer.status_code)
        token = answer.json().get("refresh_token", token)
    assert set(codes) == {200, 429} and codes.count(200) <= 10, codes


# --- caches ---


def test_nothing_is_dropped_when_nothing_ended(project, user, db):
    nobody = project.admin.post("/users", {"email": "invited@example.org"}, expect=201).json()["id"]
    before = epoch(db, project)
    for _ in range(3):
        user.post(LOGOUT, params={"scope": "others"}, expect=204)
        user.put("/users/me", {"metadata": {"a": 1}}, expect=200)
    project.admin.put(f"/users/{user.user['id']}", {"metadata": {"b": 1}}, expect=200)
    project.admin.delete("/users/me/sessions/424242", expect=404)
    project.admin.delete(f"/users/{nobody}/sessions", expect=204)
    assert user.get("/users/me", expect=200).json()["metadata"] == {"b": 1}
    assert epoch(db, project) == before
    other = project.client().sign_in(user.user["email"], PASSWORD)
    user.post(LOGOUT, params={"scope": "others"}, expect=204)
    assert epoch(db, project) > before
    await_status(lambda: other.get("/users/me"), 401)
    user.get("/users/me", expect=200)
    before = epoch(db, project)
    user.put("/users/me", {"password": "another horse battery", "current_password": PASSWORD}, expect=200)
    assert epoch(db, project) == before, "the caches were invalidated although no other session ended"


@pytest.mark.parametrize("call", ["logout", "me", "session"])
def test_changes_of_ones_own_account_are_limited(project, user, call):
    configure(project, rate_sign_in_address=5)
    other = project.admin

    def change(client):
        if call == "logout":
            return client.post(LOGOUT, params={"scope": "others"}).status_code
        if call == "session":
            return client.delete("/users/me/sessions/424242").status_code
        return client.put("/users/me", {"metadata": {}}).status_code

    codes = [change(user) for _ in range(14)]
    assert set(codes) - {429} in ({204}, {200}, {404}) and 429 in codes and codes.count(429) >= 4, codes
    assert change(other) in (200, 204, 404), "the limit is not counted by user"


@pytest.mark.parametrize("size, status", [(16384 - 8, 200), (16384 - 7, 400), (200000, 400)])
def test_what_is_kept_with_a_user_is_small(project, user, size, status):
    body = {"a": "x" * size}  # {"a":""} are eight bytes
    for client, method, path, member in [
        (user, "PUT", "/users/me", "metadata"),
        (project.admin, "PUT", f"/users/{user.user['id']}", "metadata"),
        (project.admin, "PUT", f"/user-profiles/{user.user['id']}", "preferences"),
    ]:
        answer = client.request(method, path, json={member: body}, expect=status)
        if status == 400:
            assert answer.json()["errors"][0] | {"message": ""} == {"field": member, "code": "too_long", "message": ""}
    if status == 400:
        project.admin.post("/users", {"email": "big@example.org", "metadata": body}, expect=400)

"""The authorization matrix: every route that the gateway lists, for every kind of caller."""
import json
import pathlib
import re

import pytest

from groundwork.client import Client
from groundwork.project import Project
from groundwork.soon import await_status
from objects import FIXED, ABSENT_ID, VALID_BODIES, SharedObjects, documented_bodies, fill_path, raise_limits, listed_routes

ROOT = pathlib.Path(__file__).parents[3]

# Parameters without which a route answers before it checks its other parameters, or sends a stream.
QUERIES = {
    "GET /permissions/explain": "?path=/users/me", "GET /realtime": "?entities=nothing", "GET /search": "?q=thing",
    "GET /search/public": "?q=thing", "GET /search/suggest": "?q=thi", "GET /entities/{entity}/items/aggregate": "?count=*",
    "GET /integrations/svcpay/payment-options": "?platform=ios",
    "GET /integrations/svcpay/iap-store/test-notification/{token}": "?environment=x",
}
# Permissions that give access to a route as an alternative to the listed permission.
ALTERNATIVE_PERMISSIONS = {
    "GET /integrations/svcpay/payment-methods": "svc_payment_methods:read",
    "GET /integrations/svcpay/payment-methods/{id}": "svc_payment_methods:read",
    "POST /integrations/svcpay/payment-methods/setup-intent": "svc_payment_methods:create",
    "DELETE /integrations/svcpay/payment-methods/{id}": "svc_payment_methods:delete",
}
TOKENS = ("/auth/v1/token", "/auth/v1/refresh", "/auth/v1/verify", "/auth/v1/email-change/confirm", "/files/{id}/shared")  # these answer 401 themselves
LINK_PATHS = {"/mail/previews/{token}", "/files/{id}/shared", "/files/{id}/public"}  # links, to which other sites add utm_source

ALLOWED, ANONYMOUS, REFUSED = "anything but 401, 403 and 5xx", {401}, {403}


@pytest.fixture(scope="module")
def routes(session_gateway, world):
    """All routes. Each has an example that changes nothing: it names objects that do not exist, and a writing route refuses its
    parameter with 400."""
    every = listed_routes(session_gateway)
    bodies = documented_bodies(world.admin)
    assert len(bodies) > 100 and set(bodies) <= {route.name for route in every}
    for route in every:
        route.example = fill_path(route.path, {**FIXED, "entity": "things"}) + QUERIES.get(route.name, "" if route.method == "GET" else "?surprise=1")
        route.body = VALID_BODIES.get(route.name, {"surprise": 1}) if route.name in bodies else None
        route.is_required, route.is_object = bodies.get(route.name, (False, False))
    return every


@pytest.fixture(scope="module")
def world(session_gateway, operator, recorder):
    """A project with one entity, and callers that are created on first use."""
    project = Project(session_gateway, operator, recorder)
    project.entity("things", public_read=True)
    raise_limits(project)
    project.plain = project.user(role_ids=[project.role("Nothing")["id"]])
    project.holders = {}
    return project


def check(routes, call, expected):
    """Calls every route; `expected(route)` is ALLOWED, a set of statuses, or None to skip the route."""
    wrong = []
    for route in routes:
        wanted = expected(route)
        if wanted is None:
            continue
        response = call(route)
        status = response.status_code
        fine = status not in (401, 403) and status < 500 if wanted is ALLOWED else status in wanted
        if not fine:
            wrong.append(f"{route.name} ({route.auth}): {status}, expected {wanted}: {response.text[:200]}")
    assert not wrong, "\n".join(wrong)


def caller(client):
    """Returns a function that calls a route as this client, and calls routes outside projects with the same credentials."""
    root = Client(client.base_url.split("/org/")[0], token=client.token, key=client.key)

    def call(route):
        options = {} if route.body is None else {"json": route.body}
        return (root if route.outside else client).request(route.method, route.example, **options)

    return call


def test_no_one(world, routes):
    check(routes, caller(world.client()), lambda route: None if route.auth == "public" else ANONYMOUS)


def test_public_routes_ask_nobody(world, routes):
    """Public routes may answer with an error, but never with one about missing credentials."""
    def expected(route):
        if route.auth != "public":
            return None
        return {400, 401} if route.path in TOKENS else ALLOWED

    check(routes, caller(world.client()), expected)


def test_a_user_without_the_permission(world, routes):
    def expected(route):
        if route.auth == "public":
            return None
        if route.auth == "operator":
            return ANONYMOUS
        return ALLOWED if route.auth in ("user", "token-only") else REFUSED

    check(routes, caller(world.plain), expected)


def test_a_key_without_the_permission(world, routes):
    def expected(route):
        if route.auth == "public":
            return None
        if route.auth == "operator":
            return ANONYMOUS
        return ALLOWED if route.auth == "user" else REFUSED

    check(routes, caller(world.key([])), expected)


def user_with(world, permissions):
    """A user with exactly these permissions."""
    if permissions not in world.holders:
        world.holders[permissions] = world.user_with(*permissions)
    return world.holders[permissions]


def test_a_user_with_the_permission(world, routes):
    def call(route):
        return caller(user_with(world, route.permissions))(route)

    check(routes, call, lambda route: ALLOWED if route.permission else None)


def test_a_user_with_the_other_permission(world, routes):
    def call(route):
        return caller(user_with(world, (ALTERNATIVE_PERMISSIONS[route.name],)))(route)

    check(routes, call, lambda route: ALLOWED if route.name in ALTERNATIVE_PERMISSIONS else None)


# No endpoint requires these: svc_modules and svc_subscriptions are reserved, and permissions are created and deleted only with
# their entities.
RESERVED = {f"{resource}:{action}" for resource in ("svc_modules", "svc_subscriptions", "svc_permissions")
            for action in ("read", "create", "update", "delete")} - {"svc_permissions:read"}


def test_every_permission_takes_something_away(world, routes):
    """Without one permission and with all others, a user cannot call its routes. Each permission of perm.def has routes or is
    reserved."""
    stated = re.findall(r'^PERM\(\w+, "(\w+)", "(\w+)"', (ROOT / "common/core/catalog/perm.def").read_text(), re.MULTILINE)
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    role, lost = world.role(permissions=every), set()
    user = world.user(role_ids=[role["id"]])

    def without(permissions, calls, status=403):
        left = [name for name in every if name not in permissions]
        world.admin.put(f"/roles/{role['id']}", {"permissions": left}, expect=200)
        for call in calls:
            await_status(call, status)

    for permission in every:
        others = [route for route in routes if ALTERNATIVE_PERMISSIONS.get(route.name) == permission]
        probe = others + [route for route in routes if permission in route.permissions]
        calls = {route.name: lambda route=route: caller(user)(route) for route in probe}
        if probe:
            closed = {permission} | {ALTERNATIVE_PERMISSIONS.get(route.name) for route in probe} | {route.permission for route in others}
            without(closed, calls.values())
            without(closed - {permission}, [calls[route.name] for route in others], set(range(200, 500)) - {403})
            lost.add(permission)
    group = world.admin.post("/groups", {"name": "Those who share"}, expect=201).json()["id"]
    world.admin.post(f"/groups/{group}/members", {"user_ids": [user.user["id"]]}, expect=200)
    ask = [lambda: user.get("/entities/things/items", headers={"X-Group-Id": str(group)})]
    without((), ask, 200)
    without({"svc_group_data:read"}, ask)
    lost.add("svc_group_data:read")
    system = {":".join(pair) for pair in stated}
    assert len(stated) == 92 == len(system & set(every)) and system - lost == RESERVED


def test_a_user_with_everything_is_no_administrator(world, routes):
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    user = world.user_with(*every)
    check(routes, caller(user), lambda route: REFUSED if route.auth == "admin" else None)


def test_a_key_with_the_permission(world, routes):
    keys = {}

    def call(route):
        if route.permissions not in keys:
            keys[route.permissions] = world.key(route.permissions)
        return caller(keys[route.permissions])(route)

    # A key cannot create keys, has no devices and gives no consent.
    no_key = ("POST /api-keys", "POST /api-keys/{id}/rotate", "POST /push/devices", "POST /connections/{id}/authorize", "POST /connections/callback",
              "POST /ai/conversations/{id}/messages/{messageId}/confirm")
    check(routes, call, lambda route: {403} if route.name in no_key else ALLOWED if route.permission else None)


def test_a7_an_administrators_key_on_administrator_and_token_routes(world, routes):
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    key = world.key(every)
    bearer = world.client(token=key.key)
    for client in (key, bearer):
        check(routes, caller(client), lambda route: REFUSED if route.auth in ("admin", "token-only") else None)


def test_the_api_access_flag(world, routes):
    """Routes of entity records require the flag in addition to the permission; other routes do not."""
    entity = [f"things:{action}" for action in ("read", "create", "update", "delete")]
    user = world.user_with(*entity, "svc_entities:read", api_access=False)

    def expected(route):
        if route.auth.startswith("{entity}"):
            return REFUSED
        return ALLOWED if route.auth == "svc_entities:read" else None

    check(routes, caller(user), expected)
    refused = user.get("/entities/things/items", expect=403)
    assert refused.json()["code"] == "api_access_disabled"


def test_an_administrator(world, routes):
    def expected(route):
        if route.auth == "public":
            return None
        return ANONYMOUS if route.auth == "operator" else ALLOWED

    check(routes, caller(world.administrator()), expected)


def test_what_is_explained_is_what_happens(world, routes):
    """GET /permissions/explain and POST /permissions/simulate agree with the answers of the routes."""
    every = [item["name"] for item in world.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    wrong = []
    for client in (world.plain, world.user_with(*every), world.key(every), world.administrator()):
        simulated = simulate(world, client)
        for route in routes:
            if route.outside or route.auth == "operator":
                continue
            status = caller(client)(route).status_code
            told = client.get("/permissions/explain",
                              params={"method": route.method, "path": route.example.split("?")[0]}, expect=200).json()
            refused = told["status"] in (401, 403) and not told["allowed"]
            if route.auth != "public" and refused != (status in (401, 403)):
                wrong.append(f"{route.name}: {status}, explained {told}")
            if simulated and route.auth != "public" and simulated[route.name] == refused:
                wrong.append(f"{route.name}: {status}, simulated allowed: {simulated[route.name]}")
    assert not wrong, "\n".join(wrong)


def simulate(world, client):
    """Returns {"METHOD PATH": allowed} for a user's roles, and None for a key."""
    if client.key:
        return None
    body = {"role_ids": client.get("/users/me", expect=200).json()["role_ids"], "entity": "things"}
    found, page = {}, 1
    while True:
        answer = world.admin.post("/permissions/simulate", body, params={"limit": 500, "page": page}, expect=200).json()
        for item in answer["items"]:
            path = item["path"].replace("/things/", "/{entity}/") if item["entity"] else item["path"]
            found[f"{item['method']} {path}"] = item["allowed"]
        if not answer["has_next_page"]:
            return found
        page += 1


def test_a1_tokens_and_keys_of_another_project(world, routes, operator, recorder, session_gateway):
    other = Project(session_gateway, operator, recorder)
    other.entity("things")
    every = [item["name"] for item in other.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    foreign = [world.client(token=other.admin.token), world.client(token=other.user().token),
               world.client(key=other.key(every).key)]
    for client in foreign:
        check(routes, caller(client), lambda route: None if route.auth == "public" else ANONYMOUS)


def test_the_operator_token_opens_no_project(world, routes, servers):
    client = world.client(token=servers.operator_token)
    check(routes, caller(client), lambda route: None if route.auth in ("public", "operator") else ANONYMOUS)


def test_h8_headers_of_other_systems_are_no_credentials(world, routes):
    headers = {"X-User-Id": "1", "X-Forwarded-User": "admin@example.org", "X-Original-URL": "/healthz",
               "X-HTTP-Method-Override": "GET", "X-Forwarded-For": "127.0.0.1", "Cookie": f"token={world.admin.token}"}
    client = world.client()
    client.session.headers.update(headers)
    root = Client(world.gateway.url)
    root.session.headers.update(headers)

    def call(route):
        options = {} if route.body is None else {"json": route.body}
        return (root if route.outside else client).request(route.method, route.example, **options)

    check(routes, call, lambda route: None if route.auth == "public" else ANONYMOUS)


def test_a_project_that_does_not_exist_is_404_before_anything_else(world, routes):
    for client in (Client(f"{world.gateway.url}/org/no-such-project"),
                   Client(f"{world.gateway.url}/org/no-such-project", token=world.admin.token)):
        wrong = []
        for route in routes:
            if route.outside:
                continue
            options = {} if route.body is None else {"json": route.body}
            response = client.request(route.method, route.example, **options)
            if response.status_code != 404:
                wrong.append(f"{route.name}: {response.status_code}")
        assert not wrong, wrong


def test_head_answers_as_get_does(world, routes):
    wrong = []
    for route in routes:
        if route.method != "GET" or route.outside or route.path in ("/docs/ui",):
            continue
        for client in (world.admin, world.client()):
            got = client.request("GET", route.example)
            head = client.request("HEAD", route.example)
            if head.status_code != got.status_code or head.content:
                wrong.append(f"{route.name}: GET {got.status_code}, HEAD {head.status_code}")
    assert not wrong, wrong


def test_patch_is_put(world, routes):
    wrong = []
    for route in routes:
        if route.method == "PUT":
            put = world.admin.request("PUT", route.example, json=route.body).status_code
            patch = world.admin.request("PATCH", route.example, json=route.body).status_code
            if put != patch:
                wrong.append(f"{route.name}: PUT {put}, PATCH {patch}")
            nobody = world.client().request("PATCH", route.example, json=route.body).status_code
            if nobody != 401:
                wrong.append(f"PATCH {route.path} without credentials: {nobody}")
    assert not wrong, wrong


def test_other_methods_are_405_with_allow(world, routes):
    """Requests without credentials are answered with 405, or with 401 when another route has this path and method."""
    wrong = []
    for route in routes:
        methods = {other.method for other in routes if other.path == route.path}
        for method in {"GET", "POST", "PUT", "DELETE"} - methods:
            response = world.client().request(method, route.example) if not route.outside else None
            if response is None or response.status_code == 401:
                continue
            allowed = {name.strip() for name in response.headers.get("Allow", "").split(",")}
            if response.status_code != 405 or not methods <= allowed or method in allowed:
                wrong.append(f"{method} {route.example}: {response.status_code}, Allow {sorted(allowed)}")
    assert not wrong, wrong


@pytest.fixture(scope="module")
def populated_project(session_gateway, servers, operator, recorder):
    """A project with objects of its administrator: a route finds errors of a body only if its object exists."""
    project = Project(session_gateway, operator, recorder)
    raise_limits(project)
    with servers.connect() as db:
        project.objects = SharedObjects(project, db).user_objects(project.admin)
    return project


def is_absent(path, response):
    """Whether the answer is 404 because an object of this kind does not exist: some kinds need a processor."""
    return response.status_code == 404 and ABSENT_ID in path


def test_j2_duplicate_keys_in_every_body(populated_project, routes):
    """J2: the checked value must be the stored value, so a body with duplicate names is refused."""
    wrong = []
    for route in routes:
        if route.body is None or route.outside:
            continue
        text = json.dumps(route.body or {"any": 1})
        first, value = (json.dumps(each) for each in next(iter(json.loads(text).items())))
        doubled = text[:-1] + f",{first}:{value}" + "}"
        nested = '{"nested":{"a":1,"a":2},' + text[1:]
        escaped = text[:-1] + f',"\\u{ord(first[1]):04x}{first[2:]}:null' + "}"
        for body in (doubled, nested, escaped):
            path = fill_path(route.path, populated_project.objects)
            response = populated_project.admin.request(route.method, path, data=body.encode(), headers={"Content-Type": "application/json"})
            if (response.status_code != 400 or response.json()["code"] != "invalid_json") and not is_absent(path, response):
                wrong.append(f"{route.name} {body}: {response.status_code} {response.text[:120]}")
    assert not wrong, "\n".join(wrong)


def test_unknown_query_parameters_are_named(world, routes):
    wrong = []
    for route in routes:
        if route.outside or route.method != "GET" or route.path.startswith(("/docs/ui", "/auth/")) or route.path in LINK_PATHS:
            continue
        mark = "&" if "?" in route.example else "?"
        response = world.admin.get(f"{route.example}{mark}surprise=1")
        missing = response.status_code == 404 and ABSENT_ID in route.example
        if not missing and (response.status_code != 400 or "surprise" not in response.text):
            wrong.append(f"{route.name}: {response.status_code} {response.text[:120]}")
    assert not wrong, "\n".join(wrong)


def test_a_body_that_is_no_object_is_400_everywhere(populated_project, routes):
    wrong = []
    for route in routes:
        if route.body is None or route.outside:
            continue
        path = fill_path(route.path, populated_project.objects)
        others = ("[]", "null", "1", '"x"') if route.is_object else ()
        for body in ("{", "\ufeff{}", "{}{}", *others, *([""] if route.is_required else ())):
            response = populated_project.admin.request(route.method, path, data=body.encode(), headers={"Content-Type": "application/json"})
            if response.status_code != 400 and not is_absent(path, response):
                wrong.append(f"{route.name} {body!r}: {response.status_code} {response.text[:120]}")
        response = populated_project.admin.request(route.method, path, data=json.dumps(route.body), headers={"Content-Type": "text/plain"})
        if response.status_code not in (415, 400) and not is_absent(path, response):
            wrong.append(f"{route.name} text/plain: {response.status_code} {response.text[:120]}")
    assert not wrong, "\n".join(wrong)

"""Conditional requests, for every path that can be read and changed. The paths come from the routes that the gateway
lists, so a new path without a request in WRITERS fails."""
import concurrent.futures
import threading

import pytest

from groundwork.client import Client
from groundwork.project import PASSWORD
from groundwork.soon import await_status
from groundwork.writers import ONLY_WRITTEN, PAY, WRITERS, World

# The path, and a body for each n that changes the resource, where the requests of WRITERS repeat a body.
DISTINCT = {
    "/entities/{entity}": lambda w, n: (f"/entities/{w['entity']}", {"label": f"n{n}"}),
    "/entities/{entity}/fields/{field}": lambda w, n: (
        f"/entities/{w['entity']}/fields/name", {"default": f"n{n}"}),
    "/entities/{entity}/items/{id}": lambda w, n: (f"/entities/{w['entity']}/items/{w['records'][0]}", {"name": f"n{n}"}),
    "/entities/{entity}/items/{id}/rls-users": lambda w, n: (
        f"/entities/{w['entity']}/items/{w['records'][0]}/rls-users",
        {"items": [] if n >= 100 else [{"user_id": w["user"], "can_update": n % 2 == 0, "can_delete": n % 4 < 2}]}),
    "/entities/{entity}/items/{id}/rls-groups": lambda w, n: (
        f"/entities/{w['entity']}/items/{w['records'][0]}/rls-groups",
        {"items": [] if n >= 100 else [{"role_id": w["role"], "can_update": n % 2 == 0, "can_delete": n % 4 < 2}]}),
    "/roles/{id}": lambda w, n: (f"/roles/{w['role']}", {"description": f"n{n}"}),
    "/charts/{id}": lambda w, n: (f"/charts/{w['chart']}", {"name": f"n{n}"}),
    "/materialized-views/{name}": lambda w, n: (f"/materialized-views/{w['view']}", {"description": f"n{n}"}),
    "/dashboards/home": lambda w, n: ("/dashboards/home", {
        "scope": "user", "dashboard_id": w.make("/dashboards", {"name": f"Home {n}"})}),
    f"{PAY}/settings": lambda w, n: (f"{PAY}/settings", {"grace_days": n % 60}),
    f"{PAY}/processor-connect/fees": lambda w, n: (f"{PAY}/processor-connect/fees", {"percent": n / 10}),
    f"{PAY}/processor-connect/processor-fees": lambda w, n: (f"{PAY}/processor-connect/processor-fees", {"rows": [
        {"country": "*", "percent": n / 10, "currency": "usd"}]}),
    f"{PAY}/offers/{{id}}": lambda w, n: (f"{PAY}/offers/{w['offer']}", {"name": f"Offer {w.number}.{n}"}),
}
# Changed only by DELETE, or only with a processor or a store: their ETag is tested with those.
ELSEWHERE = {
    f"{PAY}/payment-methods/{{id}}", f"{PAY}/subscriptions/{{id}}", f"{PAY}/subscriptions/{{id}}/users",
    f"{PAY}/processor-connect/credentials", f"{PAY}/iap-store/credentials",
    "/api-keys/{id}", "/push/devices/{id}", "/files/tus/{id}", "/tenant-domains/{id}",
}
# The answer is a list, which has no ETag.
LISTS = {"/entities/{entity}/items", "/files", "/push/categories", "/users/{id}/sessions", f"{PAY}/subscriptions/{{id}}/users"}
RESOURCES = {path: DISTINCT.get(path, request) for method, path, request in (
    (*route.split(), request) for route, request in WRITERS.items()) if method == "PUT" and path not in ONLY_WRITTEN | ELSEWHERE | LISTS}


def listed(gateway):
    """Paths that answer GET and PUT or DELETE: {path: methods}."""
    methods = {}
    for line in gateway.run("--list-routes").stdout.splitlines():
        method, path = line.split()[:2]
        methods.setdefault(path, set()).add(method)
    return {path: found for path, found in methods.items()
            if "GET" in found and found & {"PUT", "DELETE"} and not path.startswith("/org")}


@pytest.fixture(scope="module")
def world(shared_project, servers):
    shared_project.servers = servers
    limits = ("read", "write", "heavy", "sign_in_account", "sign_in_address")
    shared_project.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in limits}}, expect=200)
    return World(shared_project)


def test_every_resource_has_its_row(session_gateway):
    lacking = set(listed(session_gateway)) - set(RESOURCES) - ELSEWHERE - LISTS
    assert not lacking, lacking
    assert set(RESOURCES) <= set(listed(session_gateway))


@pytest.fixture(params=sorted(RESOURCES))
def resource(request, world):
    return lambda n: RESOURCES[request.param](world, n)


def test_read_and_changed_under_conditions(world, resource):
    admin, (path, body) = world.admin, resource(0)
    admin.put(path, body, expect=200)
    first = admin.get(path, expect=200)
    tag = first.headers["ETag"]
    assert tag.startswith('"') and admin.get(path, expect=200).headers["ETag"] == tag
    assert admin.head(path, expect=200).headers["ETag"] == tag
    for wanted in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        unchanged = admin.get(path, headers={"If-None-Match": wanted}, expect=304)
        assert unchanged.headers["ETag"] == tag and not unchanged.content
    assert admin.get(path, headers={"If-None-Match": '"other"'}, expect=200).json() == first.json()

    for stale in ('"other"', f"W/{tag}" if "items/" not in path or "rls" in path else '"0-0"'):
        refused = admin.put(path, resource(1)[1], headers={"If-Match": stale}, expect=412).json()
        assert refused["code"] == "precondition_failed"
    assert admin.get(path, expect=200).headers["ETag"] == tag, "a refused change changed it"
    changed = admin.put(path, resource(1)[1], headers={"If-Match": f'"other", {tag}'}, expect=200)
    now = admin.get(path, expect=200)
    assert now.headers["ETag"] != tag
    if "ETag" in changed.headers:
        assert changed.headers["ETag"] == now.headers["ETag"], "PUT and GET return different ETags"
    admin.put(path, resource(2)[1], headers={"If-Match": tag}, expect=412)
    admin.put(path, resource(2)[1], headers={"If-Match": "*"}, expect=200)


def test_of_two_writers_with_one_tag_one_wins(world, resource):
    """Eight clients change the same representation: one succeeds, and the others get 412."""
    admin, path = world.admin, resource(0)[0]
    sessions = [Client(admin.base_url, token=admin.token) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for turn in range(3):
            admin.put(path, resource(100 + turn)[1], expect=200)
            tag = admin.get(path, expect=200).headers["ETag"]
            barrier = threading.Barrier(8)

            def write(n):
                barrier.wait()
                return sessions[n].put(path, resource(10 + 8 * turn + n)[1], headers={"If-Match": tag}).status_code

            assert sorted(pool.map(write, range(8))) == [200] + [412] * 7


@pytest.mark.parametrize("name, path", [
    ("enum", "/enums/{}"), ("group", "/groups/{}"), ("role", "/roles/{}"), ("secret", "/secrets/{}"), ("user", "/users/{}"),
    ("push_template", "/push/templates/{}"), ("device", "/push/devices/{}"), ("workflow", "/workflows/{}"), ("plan", PAY + "/subscription-plans/{}"), ("offer", PAY + "/offers/{}"),
    ("entity", "/entities/{}"), ("field", "/entities/{}/fields/amount"), ("mail_domain", "/tenant-domains/{}"),
    ("sender", "/tenant-sender-addresses/{}"),
])
def test_deleted_under_conditions(shared_project, servers, name, path):
    shared_project.servers = servers
    world = World(shared_project)
    admin = world.admin
    path = path.format(world["entity" if name == "field" else name])
    tag = admin.get(path, expect=200).headers["ETag"]
    refused = admin.delete(path, headers={"If-Match": '"other"'}, expect=412)
    assert refused.json()["code"] == "precondition_failed"
    admin.get(path, expect=200)
    assert admin.delete(path, headers={"If-Match": tag}).status_code < 300
    admin.delete(path, headers={"If-Match": tag}, expect=404)


@pytest.mark.parametrize("path, body", [
    (f"{PAY}/iap-store/credentials", None), (f"{PAY}/processor-connect/credentials", {"mode": "own", "secret_key": "sk_test_abcdefgh12345678"}),
])
def test_credentials(project, path, body):
    """Missing credentials have an ETag too: their representation says that there are none."""
    admin = project.admin
    tag = admin.get(path, expect=200).headers["ETag"]
    admin.delete(path, headers={"If-Match": '"other"'}, expect=412)
    if body:
        admin.put(path, body, headers={"If-Match": '"other"'}, expect=412)
        admin.put(path, body, headers={"If-Match": tag}, expect=200)
        admin.put(path, body, headers={"If-Match": tag}, expect=412)
        tag = admin.get(path, expect=200).headers["ETag"]
    admin.delete(path, headers={"If-Match": tag}, expect=204)


def test_the_tag_is_of_what_the_caller_sees(shared_project):
    """A change of a field that is hidden from the caller does not change the caller's ETag."""
    world = World(shared_project)
    path = f"/entities/{world['entity']}"
    role = shared_project.role(permissions=["svc_entities:read", f"{world['entity']}:read"], field_access=[
        {"entity": world["entity"], "action": "read", "fields": ["name"]}])
    user = shared_project.user(role_ids=[role["id"]])
    tag = user.get(path, expect=200).headers["ETag"]
    shared_project.admin.put(f"{path}/fields/amount", {"default": 5}, expect=200)
    assert user.get(path, expect=200).headers["ETag"] == tag
    shared_project.admin.put(f"{path}/fields/name", {"default": "x"}, expect=200)
    assert user.get(path, expect=200).headers["ETag"] != tag


def test_what_the_service_notes_is_no_edit(project):
    """A sign-in changes the representation and its ETag, but If-Match with the earlier ETag still succeeds; a user's edit
    makes it fail."""
    user = project.user()
    path = f"/users/{user.user['id']}"
    first = project.admin.get(path, expect=200)
    tag, signed_in = first.headers["ETag"], first.json()["last_sign_in_at"]
    project.client().sign_in(user.user["email"], PASSWORD)
    seen = project.admin.get(path, headers={"If-None-Match": tag}, expect=200)
    assert seen.json()["last_sign_in_at"] != signed_in and seen.headers["ETag"] != tag, "a cached copy was still taken for current"
    changed = project.admin.put(path, {"metadata": {"n": 1}}, headers={"If-Match": tag}, expect=200)
    for old in (tag, seen.headers["ETag"]):
        project.admin.put(path, {"metadata": {"n": 2}}, headers={"If-Match": old}, expect=412)
        project.admin.delete(path, headers={"If-Match": old}, expect=412)
    project.client().sign_in(user.user["email"], PASSWORD)
    project.admin.delete(path, headers={"If-Match": changed.headers["ETag"]}, expect=204)


def test_the_use_of_a_key_is_no_edit(project):
    key = project.key(["svc_roles:read"])
    path = f"/api-keys/{key.info['id']}"
    tag = project.admin.get(path, expect=200).headers["ETag"]
    key.get("/roles", expect=200)
    await_status(lambda: project.admin.get(path, headers={"If-None-Match": tag}), 200)
    project.admin.delete(path, headers={"If-Match": '"other"'}, expect=412)
    project.admin.delete(path, headers={"If-Match": tag}, expect=204)


def test_the_documents_say_so(admin):
    (document,) = admin.get("/docs", expect=200).json()["module_documentation"].values()
    tags = 0
    for path, operations in document["paths"].items():
        tagged = "ETag" in operations.get("get", {}).get("responses", {}).get("200", {}).get("headers", {})
        if not tagged:
            continue
        tags += 1
        assert "304" in operations["get"]["responses"], path
        for method in ("put", "delete"):
            if method in operations:
                names = [parameter.get("name") for parameter in operations[method]["parameters"]]
                assert "If-Match" in names and "412" in operations[method]["responses"], (method, path)
    assert tags > 20


def test_no_writer_passed_by_its_conditions(session_gateway):
    """Must run last: no handler that the tests called so far has bypassed its conditions by writing outside of `sql_begin()`."""
    assert "conditional.unlocked" not in session_gateway.log()

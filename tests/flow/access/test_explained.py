"""Explained = answered. For every route of a project, callers of every kind make requests about their own objects, objects of
another user and missing objects: GET /permissions/explain must predict the status and code of the route's own answer. A
request to a writing route is made so that the route refuses it with 400 when all checks pass, so that nothing changes
(A21)."""
import pytest

from groundwork.project import Project
from objects import VALID_BODIES, SharedObjects, raise_limits, listed_routes

REFUSED = (401, 403, 404)
# "METHOD PATH": the reason why the test cannot request it.
EXCLUDED_ROUTES = {
    "POST /auth/v1/logout": "it ends the session of the caller, whatever the request says besides",
}


@pytest.fixture(scope="module")
def routes(session_gateway):
    every = [route for route in listed_routes(session_gateway) if not route.outside]
    assert set(EXCLUDED_ROUTES) <= {route.name for route in every}
    return [route for route in every if route.name not in EXCLUDED_ROUTES]


@pytest.fixture(scope="module")
def world(session_gateway, servers, operator, recorder):
    project = Project(session_gateway, operator, recorder)
    raise_limits(project)
    with servers.connect() as db:
        project.shared = SharedObjects(project, db)
    project.admin.is_administrator = True
    project.every = [item["name"] for item in project.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    project.other = project.shared.user_objects(project.user_with(*project.every))
    project.admins = project.shared.user_objects(project.admin)
    return project


def explain_and_request(client, route, path):
    """Returns the explanation of a request, and the answer to the request."""
    told = client.get("/permissions/explain", params={"method": route.method, "path": path}, expect=200).json()
    options = {"allow_redirects": False, "headers": {"Tus-Resumable": "1.0.0"} if "/tus" in path else {}}
    if route.name in VALID_BODIES and not told["allowed"]:
        options["json"] = VALID_BODIES[route.name]
    elif route.method != "GET":
        options |= {"params": {"surprise": "1"}, "json": {"surprise": 1}}
    return told, client.request(route.method, path, **options)


def differences(client, route, path):
    told, answer = explain_and_request(client, route, path)
    status = answer.status_code
    if status not in REFUSED:
        if not told["allowed"]:
            yield f"{status}, explained {told['status']} {told['reason']}"
        if route.method != "GET" and status not in (400, 415):
            yield f"{status}, the request should have been refused for its content"
        return
    problem = answer.json()
    if told["allowed"] or (told["status"], told["code"]) != (status, problem["code"]):
        yield f"{status} {problem['code']} {problem.get('detail')}, explained {told['status']} {told['reason']}"
    if told["checks"] and not client.is_administrator:
        if [check["passed"] for check in told["checks"]] != [True] * (len(told["checks"]) - 1) + [False]:
            yield f"checks after the first that fails: {told['checks']}"


def check(routes, asked):
    """`asked(route)` returns (client, path) of each request."""
    wrong = [f"{route.method} {path}: {difference}" for route in routes for client, path in asked(route)
             for difference in differences(client, route, path)]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


def test_an_administrator(world, routes):
    check(routes, lambda route: [(world.admin, path) for path in route.paths(world.admins, world.other)])


def test_a_user_without_permissions(world, routes):
    plain = world.user_with()
    plain.is_administrator = False
    check(routes, lambda route: [(plain, path) for path in route.paths(world.other, world.other)])


def test_a_user_with_the_permission_alone(world, routes):
    """The user created its objects while it had all permissions. Both the explanation and the route's answer use the user's
    current permissions, because the connection stays with one worker."""
    role = world.role(permissions=world.every)
    holder = world.user(role_ids=[role["id"]])
    holder.is_administrator = False
    own = world.shared.user_objects(holder)
    held = None

    def asked(route):
        nonlocal held
        if held != route.permissions:
            held = route.permissions
            world.admin.put(f"/roles/{role['id']}", {"permissions": list(held)}, expect=200)
        return [(holder, path) for path in route.paths(own, world.other)]

    check(sorted(routes, key=lambda route: route.permissions), asked)


def test_a_key_of_an_administrator_with_the_permission_alone(world, routes):
    keys = {}

    def asked(route):
        if route.permissions not in keys:
            keys[route.permissions] = world.key(route.permissions)
            keys[route.permissions].is_administrator = False
        return [(keys[route.permissions], path) for path in route.paths(world.admins, world.other)]

    check(routes, asked)

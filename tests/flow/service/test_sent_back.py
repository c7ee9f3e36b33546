"""A caller may send the result of a GET back to the same path: the PUT accepts it and changes nothing."""
import pytest

from groundwork.writers import ONLY_WRITTEN, WRITERS, World

PUTS = [route.split()[1] for route in WRITERS if route.startswith("PUT ")]
# These PUTs change one element of the list that the GET returns, or take only a secret's value, which the GET does not return.
OTHERS = {"/push/categories", "/dashboards/home", "/secrets/{name}"}
MOMENTS = {"updated_at", "version"}


@pytest.fixture(scope="module")
def project(shared_project, servers):
    shared_project.admin.put("/", {"settings": {"auth_page_url": "https://app.example.com/", "rate_write": 1000000}}, expect=200)
    shared_project.servers = servers
    return shared_project


def edited(shown):
    return {name: value for name, value in shown.items() if name not in MOMENTS}


def test_the_list_is_whole(session_gateway):
    listed = [line.split()[:2] for line in session_gateway.run("--list-routes").stdout.splitlines()]
    shown = {path for method, path in listed if method == "GET"}
    assert {path for path in PUTS if path not in shown} == ONLY_WRITTEN


@pytest.mark.parametrize("route", [path for path in PUTS if path not in ONLY_WRITTEN | OTHERS])
def test_a_resource_is_sent_back_as_it_was_read(project, route):
    path, body = WRITERS[f"PUT {route}"](World(project), 0)
    project.admin.put(path, body, expect=200)
    shown = project.admin.get(path, expect=200).json()
    project.admin.put(path, shown, expect=200)
    assert edited(project.admin.get(path, expect=200).json()) == edited(shown)


def test_a_member_that_differs_is_refused(project):
    world = World(project)
    for path in (f"/groups/{world['group']}", f"/roles/{world['role']}", f"/users/{world['user']}", f"/menus/{world['menu']}"):
        shown = project.admin.get(path, expect=200).json()
        for name, value in (("created_at", "2020-01-01T00:00:00.000Z"), ("id", 424242), ("nothing", None)):
            refused = project.admin.put(path, {**shown, name: value}, expect=400).json()
            assert [error["field"] for error in refused["errors"]] == [name]


def test_what_a_caller_may_not_read_is_not_compared(project):
    """Otherwise the answer would reveal when the group was created."""
    world = World(project)
    path = f"/groups/{world['group']}"
    made = project.admin.get(path, expect=200).json()["created_at"]
    for permissions, status in ((["svc_groups:update"], 400), (["svc_groups:update", "svc_groups:read"], 200)):
        role = project.admin.post("/roles", {"name": f"Writers {world.number} {status}", "permissions": permissions}, expect=201).json()
        writer = project.user(role_ids=[role["id"]])
        writer.put(path, {"created_at": made}, expect=status)

"""The operator's API: projects are created, listed, inspected and removed with the operator token."""
import uuid

import pytest

from groundwork.client import Client
from groundwork.project import ADMIN_EMAIL, PASSWORD, Project


def slug():
    return f"o{uuid.uuid4().hex[:10]}"


def body(project_id, **changes):
    return {
        "project_id": project_id,
        "name": "Shop",
        "admin": {"email": ADMIN_EMAIL, "password": PASSWORD},
        **changes,
    }


def test_health(gateway, recorder):
    client = Client(gateway.url, recorder=recorder)
    assert client.get("/healthz", expect=200).json() == {"status": "ok"}


@pytest.mark.parametrize("token", [None, "wrong-operator-token", ""])
def test_needs_the_token(gateway, token):
    client = Client(f"{gateway.url}/org", token=token)
    for method, path in [("GET", ""), ("POST", ""), ("GET", "/demo"), ("DELETE", "/demo")]:
        assert client.request(method, path, expect=401).json()["code"] == "unauthorized"


def test_no_token_no_api(start_gateway):
    """Without GROUNDWORK_OPERATOR_TOKEN there is no operator API."""
    gateway = start_gateway(WORKERS=1, OPERATOR_TOKEN="")
    client = Client(f"{gateway.url}/org", token="")
    assert client.get("", expect=404).json()["code"] == "route_not_found"
    assert client.post("", body(slug()), expect=404).json()["code"] == "route_not_found"
    gateway.stop()


def test_create_is_ready_at_once(gateway, operator):
    project_id = slug()
    answer = operator.post("", body(project_id), expect=201)
    made = answer.json()
    assert made["project_id"] == project_id and made["name"] == "Shop" and made["state"] == "active"
    assert made["base_url"] == f"{gateway.url}/org/{project_id}"
    assert answer.headers["Location"] == f"/org/{project_id}"
    admin = Client(made["base_url"]).sign_in(ADMIN_EMAIL, PASSWORD)
    assert admin.user["email"] == ADMIN_EMAIL
    assert admin.get("/", expect=200).json()["project_id"] == project_id


def test_administrators_address_is_kept_in_lower_case(operator, gateway):
    project_id = slug()
    operator.post("", body(project_id, admin={"email": "Boss@Example.org", "password": PASSWORD}), expect=201)
    client = Client(f"{gateway.url}/org/{project_id}").sign_in("bOSS@example.ORG", PASSWORD)
    assert client.user["email"] == "boss@example.org"


def test_exists(operator):
    project_id = slug()
    operator.post("", body(project_id), expect=201)
    assert operator.post("", body(project_id), expect=409).json()["code"] == "already_exists"


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"project_id": "Upper"}, "project_id"),
        ({"project_id": "a"}, "project_id"),
        ({"project_id": "a" * 49}, "project_id"),
        ({"project_id": "1abc"}, "project_id"),
        ({"project_id": "a_b"}, "project_id"),
        ({"project_id": "a/b"}, "project_id"),
        ({"project_id": 7}, "project_id"),
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"admin": None}, "admin"),
        ({"admin": {"email": "nobody", "password": PASSWORD}}, "admin.email"),
        ({"admin": {"email": ADMIN_EMAIL, "password": "short12"}}, "admin.password"),
        ({"admin": {"email": ADMIN_EMAIL, "password": "a" * 1025}}, "admin.password"),
        ({"admin": {"email": ADMIN_EMAIL, "password": "ä" * 600}}, "admin.password"),
        ({"admin": {"email": ADMIN_EMAIL}}, "admin.password"),
        ({"owner": "x"}, "owner"),
    ],
)
def test_bad_create(operator, changes, field):
    answer = operator.post("", {**body(slug()), **changes}, expect=400).json()
    assert answer["errors"][0]["field"] == field


def test_inspect(operator, project, gateway):
    seen = operator.get(f"/{project.id}", expect=200).json()
    assert seen["project_id"] == project.id and seen["state"] == "active"
    assert (seen["users"], seen["entities"]) == (1, 0)
    assert seen["base_url"] == project.base_url
    assert operator.get("/nope-nope", expect=404).json()["code"] == "not_found"


def test_list(operator, project):
    page = operator.get("", params={"limit": 500, "sort": "-id"}, expect=200).json()
    assert set(page) == {"items", "total_items", "page", "page_size", "has_next_page"}
    found = next(item for item in page["items"] if item["project_id"] == project.id)
    assert found["base_url"] == project.base_url
    assert operator.get("", params={"limit": 1}, expect=200).json()["page_size"] == 1
    operator.get("", params={"limit": 501}, expect=400)
    operator.get("", params={"nope": 1}, expect=400)


def test_delete_needs_confirmation(operator, project):
    for params in ({}, {"confirm": ""}, {"confirm": "other"}, {"confirm": project.id + "x"}):
        assert operator.delete(f"/{project.id}", params=params, expect=400).json()["code"] == "validation_failed"
    project.admin.get("/", expect=200)


def test_delete_leaves_nothing(gateway, operator, recorder, db):
    project = Project(gateway, operator, recorder, name=slug())
    schema = project.schema(db)
    operator.delete(f"/{project.id}", params={"confirm": project.id}, expect=204)
    operator.get(f"/{project.id}", expect=404)
    assert project.admin.get("/", expect=404).json()["code"] == "not_found"
    operator.delete(f"/{project.id}", params={"confirm": project.id}, expect=404)
    with db.cursor() as cursor:
        cursor.execute("select count(*) from pg_namespace where nspname = %s", (schema,))
        assert cursor.fetchone()[0] == 0
        cursor.execute("select count(*) from platform.projects where slug = %s", (project.id,))
        assert cursor.fetchone()[0] == 0


def test_name_can_be_used_again(gateway, operator, recorder):
    project_id = slug()
    first = Project(gateway, operator, recorder, name=project_id)
    first.delete()
    second = Project(gateway, operator, recorder, name=project_id)
    # the second project refuses the first project's token, although user and session ids are the same
    assert second.client(token=first.admin.token).get("/", expect=401).json()["code"] == "token_invalid"
    second.delete()


def test_operator_token_opens_no_project(project, servers):
    client = project.client(token=servers.operator_token)
    assert client.get("/", expect=401).json()["code"] == "token_invalid"


def test_base_url_without_its_slash_is_the_project(project, gateway, operator):
    """For all callers but the operator, the base URL without its slash is the project."""
    assert project.admin.get("", expect=200).json() == project.admin.get("/", expect=200).json()
    assert project.admin.head("", expect=200).text == ""
    assert project.client().get("", expect=401).json()["code"] == "unauthorized"
    assert project.client(token="nonsense").get("", expect=401).json()["code"] == "token_invalid"
    assert project.admin.delete("", expect=401).json()["code"] == "unauthorized"
    assert operator.get(f"/{project.id}", expect=200).json()["state"] == "active"


def test_404_says_what_is_missing(project):
    project.entity("things", [{"name": "name", "type": "varchar"}])

    def detail(path):
        return project.admin.get(path, expect=404).json()["detail"]

    assert detail("/nothing/here") == "No endpoint has this path."
    assert "entity" in detail("/entities/absent/items") and "record" in detail("/entities/things/items/77")
    for path, word in [("/users/999", "user"), ("/roles/999", "role"), ("/groups/999", "group"), ("/tasks/999", "task"),
                       ("/api-keys/999", "API key"), ("/users/not-a-number", "user")]:
        assert detail(path) == f"There is no such {word}.", path
    unknown = project.client()
    unknown.base_url += "-absent"
    assert unknown.get("/users/me", expect=404).json()["detail"] == "There is no such project."


def test_brackets_of_other_conventions_are_explained(project):
    project.entity("things", [{"name": "name", "type": "varchar"}])
    for path in ("/users?sort[]=email", "/entities/things/items?sort[]=name", "/users?sort[0]=email",
                 "/entities/things/items?fields[]=name"):
        problem = project.admin.get(path, expect=400).json()
        assert problem["code"] == "invalid_query" and "brackets" in problem["errors"][0]["message"], problem
        assert "commas" in problem["errors"][0]["message"]

"""/secrets: answers contain names only, and a secret that a workflow uses cannot be deleted."""
import concurrent.futures
import json

import pytest


CANARY = "canary-7f3a9c-äöü-\"quoted\"\\and/more"


def make(client, name="MAIL_KEY", value="value", **expect):
    return client.post("/secrets", {"name": name, "value": value}, **{"expect": 201, **expect})


def test_create_list_replace_delete(project):
    admin = project.admin
    answer = make(admin)
    secret = answer.json()
    assert set(secret) == {"name", "version", "allowed_hosts", "created_at", "updated_at"}
    assert secret["name"] == "MAIL_KEY" and secret["version"] == 1
    assert answer.headers["Location"].endswith("/secrets/MAIL_KEY")
    assert admin.get("/secrets/MAIL_KEY", expect=200).json() == secret and secret["allowed_hosts"] is None
    make(admin, "_a9")
    page = admin.get("/secrets", expect=200).json()
    assert [item["name"] for item in page["items"]] == ["MAIL_KEY", "_a9"] and page["total_items"] == 2
    assert page["items"][0] == secret
    changed = admin.put("/secrets/MAIL_KEY", {"value": "other"}, expect=200).json()
    assert changed["version"] == 2 and changed["created_at"] == secret["created_at"]
    assert changed["updated_at"] > secret["updated_at"]
    admin.delete("/secrets/MAIL_KEY", expect=204)
    admin.delete("/secrets/MAIL_KEY", expect=404)
    admin.put("/secrets/MAIL_KEY", {"value": "other"}, expect=404)
    for name in ("MAIL_KEY", "1", "a.b", "A" * 65):
        admin.get(f"/secrets/{name}", expect=404)
    assert [item["name"] for item in admin.get("/secrets").json()["items"]] == ["_a9"]
    assert make(admin).json()["version"] == 1


def test_names_are_unique_even_at_once(project):
    make(project.admin, "TWICE")
    refused = make(project.admin, "TWICE", expect=409).json()
    assert refused["code"] == "unique_violation" and refused["errors"][0]["field"] == "name"
    make(project.admin, "twice")  # names are case-sensitive
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(
            lambda i: project.admin.post("/secrets", {"name": "RACE", "value": f"value {i}"}).status_code, range(8)))
    assert sorted(codes) == [201] + [409] * 7


@pytest.mark.parametrize("body, field", [
    ({}, "name"), ({"name": "A"}, "value"), ({"name": 3, "value": "x"}, "name"), ({"name": "A", "value": 3}, "value"),
    *[({"name": name, "value": "x"}, "name") for name in ("", "1A", "A-B", "Ä", "A B", "A" * 65, "A\n", "A.b")],
    *[({"name": "A", "value": value}, "value") for value in ("", "x" * 16385, None, ["x"], "x", "xyz", "äöü", " abc\n", "    ")],
    ({"name": "A", "value": "x", "version": 3}, "version"),
    *[({"name": "A", "value": "value", "allowed_hosts": [host]}, "allowed_hosts[0]")
      for host in ("", "https://a.example", "a.example/", "a.example:443", "*", "a b", ".a", "a.", "ä.example", "u@a.example", "a" * 254)],
    ({"name": "A", "value": "value", "allowed_hosts": []}, "allowed_hosts"), ({"name": "A", "value": "value", "allowed_hosts": "a"}, "allowed_hosts"),
    ({"name": "A", "value": "value", "allowed_hosts": ["a"] * 51}, "allowed_hosts"),
])
def test_bad_bodies(shared_project, body, field):
    answer = shared_project.admin.post("/secrets", body, expect=400).json()
    assert any(error["field"] == field for error in answer["errors"])


def test_a_short_value_is_refused_with_the_reason(project):
    """A short value could not be masked without masking unrelated text."""
    make(project.admin, value="four")
    for answer in (project.admin.put("/secrets/MAIL_KEY", {"value": "abc"}, expect=400), make(project.admin, "B", "abc", expect=400)):
        finding, = answer.json()["errors"]
        assert (finding["field"], finding["code"]) == ("value", "out_of_range") and "mask" in finding["message"]


def test_limits(project):
    make(project.admin, "A" * 64, "ä" * 16384)
    project.admin.put(f"/secrets/{'A' * 64}", {"value": "x" * 16384}, expect=200)
    project.admin.put(f"/secrets/{'A' * 64}", {"value": "x" * 16385}, expect=400)
    project.admin.put(f"/secrets/{'A' * 64}", {"value": "x", "name": "B"}, expect=400)
    for name in ("A" * 65, "1", "%20", "a.b", "%00"):
        assert project.admin.put(f"/secrets/{name}", {"value": "value"}).status_code in (400, 404)
        assert project.admin.delete(f"/secrets/{name}").status_code in (400, 404)


def test_sorting_and_pages(project):
    for name in ("B", "A", "C"):
        make(project.admin, name)

    def names(query):
        return [item["name"] for item in project.admin.get(f"/secrets?{query}", expect=200).json()["items"]]

    assert names("sort=name") == ["A", "B", "C"] and names("sort=-name") == ["C", "B", "A"]
    assert names("sort=created_at") == ["B", "A", "C"] and names("limit=1&page=2") == ["B"]
    project.admin.get("/secrets?sort=value", expect=400)
    project.admin.get("/secrets?value=x", expect=400)


def test_each_action_has_its_permission(project):
    make(project.admin, "HELD")
    calls = {
        "read": lambda client: client.get("/secrets/HELD"),
        "create": lambda client: client.post("/secrets", {"name": "NEW", "value": "value"}),
        "update": lambda client: client.put("/secrets/HELD", {"value": "value"}),
        "delete": lambda client: client.delete("/secrets/HELD"),
    }
    for action in calls:
        client = project.user_with(f"svc_secrets:{action}")
        for other, call in calls.items():
            if other != action:
                assert call(client).status_code == 403
        assert calls[action](client).status_code in (200, 201, 204)


def test_changes_are_audited_without_values(project):
    make(project.admin, "AUDITED", CANARY)
    project.admin.put("/secrets/AUDITED", {"value": CANARY + "2"}, expect=200)
    project.admin.delete("/secrets/AUDITED", expect=204)
    page = project.admin.get("/audit-log?limit=50", expect=200).json()
    mine = [item for item in page["items"] if item["target"] == "secret"]
    assert sorted(item["action"] for item in mine) == ["secrets.create", "secrets.delete", "secrets.update"]
    assert all(item["detail"] == {"name": "AUDITED"} for item in mine)
    assert "canary" not in json.dumps(page)


def test_values_are_nowhere(project, gateway, db):
    """C3: a value is not in an answer, not in the log, and not in the text of the database."""
    admin = project.admin
    seen = [make(admin, "CANARY", CANARY).text, make(admin, "CANARY", CANARY, expect=409).text]
    seen.append(admin.put("/secrets/CANARY", {"value": CANARY}, expect=200).text)
    seen.append(admin.get("/secrets").text)
    seen.append(admin.post("/secrets", {"name": "1", "value": CANARY}, expect=400).text)
    seen.append(admin.post("/secrets", {"name": "N", "value": CANARY * 1000}, expect=400).text)
    seen.append(admin.get("/audit-log").text)
    assert not [text for text in seen if "canary-7f3a" in text]
    with db.cursor() as cursor:
        cursor.execute(f"select string_agg(s::text, ' ') from {project.schema(db)}.secrets s")
        dump = cursor.fetchone()[0]
    assert CANARY.encode().hex() not in dump and "canary" not in dump
    assert "canary-7f3a" not in gateway.log()


# --- secrets that workflows use ----------------------------------------------------------------------


def workflow(project, reference):
    step = {"key": "call", "action": "CallAnApi",
            "params": {"method": "POST", "url": "https://example.com/x", "headers": {"Authorization": reference}}}
    return project.admin.post("/workflows", {
        "name": "Nightly", "enabled": True, "trigger": {"kind": "manual"}, "start_step": "call", "steps": [step],
    }, expect=201).json()


def test_a_secret_in_use_stays(project):
    make(project.admin, "TOKEN")
    make(project.admin, "TOKEN_2")
    flow = workflow(project, "Bearer {{ $svc.secrets.TOKEN_2 }}")
    refused = project.admin.delete("/secrets/TOKEN_2", expect=409).json()
    assert refused["code"] == "in_use" and f"Nightly ({flow['id']})" in refused["detail"]
    project.admin.delete("/secrets/TOKEN", expect=204)  # the workflow contains this name only as the beginning of TOKEN_2
    project.admin.put("/secrets/TOKEN_2", {"value": "newer"}, expect=200)
    project.admin.put(f"/workflows/{flow['id']}", {"enabled": False}, expect=200)
    project.admin.delete("/secrets/TOKEN_2", expect=204)
    assert project.admin.put(f"/workflows/{flow['id']}", {"enabled": True}).status_code == 400


def test_only_the_newest_version_counts(project):
    make(project.admin, "OLD")
    flow = workflow(project, '{{ $svc.secrets["OLD"] }}')
    assert project.admin.delete("/secrets/OLD").json()["code"] == "in_use"
    steps = flow["steps"]
    steps[0]["params"]["headers"] = {"X-Note": "OLD is mentioned"}
    project.admin.put(f"/workflows/{flow['id']}", {"steps": steps}, expect=200)
    project.admin.delete("/secrets/OLD", expect=204)

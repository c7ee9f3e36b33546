"""Data steps: what they return, and that they have exactly the rights of their workflow's last editor (A13, A14, X1)."""
import time

import pytest
from groundwork.deadline import until
from groundwork.records import rows, table
from groundwork.runs import wait_ended, step
from groundwork.soon import settle
from groundwork.workflows import create, start, workflow

FIELDS = [{"name": "name", "type": "varchar"}, {"name": "price", "type": "float"}, {"name": "amount", "type": "integer"},
          {"name": "extra", "type": "json"}, {"name": "code", "type": "varchar", "unique": True}]


@pytest.fixture
def orders(project):
    return project.entity("orders", FIELDS)


def read(key="read", **params):
    return step(key, "ReadData", {"entity": "orders", **params})


def run(project, steps, data=None, editor=None):
    made = workflow(editor or project.admin, steps=steps)
    return wait_ended(project, start(project.admin, made, {} if data is None else data))


def output(job, at=-1):
    assert job["status"] == "succeeded", job["error"]
    return job["steps"][at]["output"]["data"]


def failure(job):
    assert job["status"] == "failed", job
    return job["error"]["code"]


# --- effects of the steps ---


def test_create(project, db, runner, orders):
    job = run(project, [create(values={"name": "{{ $svc.trigger.data.name }}", "price": "{{ $svc.trigger.data.n }}", "extra": {"a": ["{{ $svc.trigger.data }}"]}})],
              {"name": "Chair", "n": 4.5})
    (record,) = output(job)
    assert record == project.admin.get(f"/entities/orders/items/{record['id']}", expect=200).json()
    assert (record["name"], record["price"], record["extra"]) == ("Chair", 4.5, {"a": [{"name": "Chair", "n": 4.5}]})
    assert job["steps"][0]["input"] == {"entity": "orders", "values": {"name": "Chair", "price": 4.5, "extra": {"a": [{"name": "Chair", "n": 4.5}]}}}


def test_create_that_is_refused(project, db, runner, orders):
    job = run(project, [create(values={"name": 5, "amount": "many"})])
    assert failure(job) == "validation_failed"
    assert {e["field"]: e["code"] for e in job["steps"][0]["error"]["errors"]} == {"name": "type_mismatch", "amount": "type_mismatch"}
    project.item("orders", code="one")
    assert failure(run(project, [create(values={"code": "one"})])) == "unique_violation"
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]


def test_data_is_never_a_template(project, runner, orders):
    """X1: a template inside of data is not resolved."""
    text = "{{ $svc.trigger.data.secret }} {{ $svc.secrets.K }}"
    job = run(project, [create("a", values={"name": "{{ $svc.trigger.data.text }}"}, next="b"),
                        create("b", values={"name": "again {{ $svc.steps.a.data[0].name }}"})], {"text": text, "secret": "s3cret"})
    assert output(job, 0)[0]["name"] == text and output(job)[0]["name"] == "again " + text


def test_read_one_or_none(project, runner, orders):
    made = project.item("orders", name="a", price=1)
    assert output(run(project, [read(id="{{ $svc.trigger.data.id }}", fields=["id", "name"])], {"id": made["id"]})) == [{"id": made["id"], "name": "a"}]
    assert output(run(project, [read(id="{{ $svc.trigger.data.id }}")], {"id": str(made["id"])}))[0]["price"] == 1
    for missing in (424242, None):
        assert output(run(project, [read(id="{{ $svc.trigger.data.id }}")], {"id": missing})) == []
    for wrong in ("x", 0, -1, [1], {"a": 1}, 1.5, "1 or 1=1"):
        assert failure(run(project, [read(id="{{ $svc.trigger.data.id }}")], {"id": wrong})) == "type_mismatch"


def test_read_list(project, runner, orders):
    for n in range(25):
        project.item("orders", name=f"n{n:02}", amount=n, price=n / 2, code=f"c{n}")
    project.item("orders", name="none, at all")

    def names(**params):
        return [item["name"] for item in output(run(project, [read(**params)], {"low": 20, "names": ["n01", "n03"], "null": None, "odd": ["none, at all"]}))]

    assert len(names()) == 20 and len(names(limit=500)) == 26
    assert names(filter={"amount": {"gte": "{{ $svc.trigger.data.low }}"}}, sort="-amount", limit=3) == ["n24", "n23", "n22"]
    assert names(filter={"amount": {"gte": "{{ $svc.trigger.data.low }}"}}, sort="-amount", limit=3, page=2) == ["n21", "n20"]
    assert names(filter={"name": "n05"}) == ["n05"] and names(filter={"name": "none, at all"}) == ["none, at all"]
    assert names(filter={"name": {"in": "{{ $svc.trigger.data.names }}"}}, sort="id") == ["n01", "n03"]
    assert names(filter={"amount": {"between": [3, 4]}}, sort="name") == ["n03", "n04"]
    assert names(filter={"amount": "{{ $svc.trigger.data.null }}"}) == ["none, at all"] == names(filter={"amount": {"null": True}})
    assert len(names(filter={"amount": {"ne": None}}, limit=100)) == 25
    assert names(filter={"or": [{"amount": 1}, {"and": [{"amount": {"gt": 22}}, {"price": {"lt": 12}}]}]}, sort="id") == ["n01", "n23"]
    assert output(run(project, [read(filter={"amount": 7}, fields="amount,name")])) == [{"amount": 7, "name": "n07"}]
    assert names(filter={"name": {"in": "{{ $svc.trigger.data.odd }}"}}) == ["none, at all"]
    assert failure(run(project, [read(filter={"name": "{{ $svc.trigger.data.odd }}"})], {"odd": {"a": 1}})) in ("type_mismatch", "invalid_query")
    assert failure(run(project, [read(filter={"amount": "{{ $svc.trigger.data.odd }}"})], {"odd": "abc"})) == "invalid_query"


def test_read_more_than_an_output_holds(project, runner, orders):
    for n in range(12):
        project.item("orders", extra={"text": "x" * 100000})
    assert failure(run(project, [read()])) == "output_too_large"
    assert len(output(run(project, [read(limit=9)]))) == 9


def test_update_and_delete(project, db, runner, orders):
    made = project.item("orders", name="a", amount=1)
    steps = [step("up", "UpdateData", {"entity": "orders", "id": "{{ $svc.trigger.data.id }}", "values": {"name": "b {{ $svc.trigger.data.id }}"}})]
    (record,) = output(run(project, steps, {"id": made["id"]}))
    assert (record["name"], record["amount"]) == (f"b {made['id']}", 1)
    assert failure(run(project, steps, {"id": 424242})) == "not_found"
    assert failure(run(project, steps, {"id": "1; drop"})) == "type_mismatch"
    assert failure(run(project, steps, {"id": None})) == "required"
    steps = [step("del", "DeleteData", {"entity": "orders", "id": "{{ $svc.trigger.data.id }}"})]
    assert output(run(project, steps, {"id": made["id"]})) == [{"id": made["id"]}]
    assert failure(run(project, steps, {"id": made["id"]})) == "not_found"
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(0,)]


def test_bulk_create(project, db, runner, orders):
    bulk = [step("bulk", "BulkCreateData", {"entity": "orders", "items": "{{ $svc.trigger.data.items }}"}, next="read"),
            read(id="{{ $svc.steps.bulk.data[1].id }}")]
    job = run(project, bulk, {"items": [{"name": "a"}, {"name": "b"}]})
    assert output(job)[0]["name"] == "b" and job["steps"][0]["output"]["created"] == 2
    assert failure(run(project, bulk, {"items": [{"name": "c"}, {"name": 5}]})) == "validation_failed"
    assert failure(run(project, bulk, {"items": {"name": "c"}})) == "validation_failed"
    assert failure(run(project, bulk, {"items": [{"name": "x"}] * 1001})) == "validation_failed"
    assert failure(run(project, bulk, {"items": [{"code": "x"}, {"code": "x"}]})) == "unique_violation"
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(2,)]


def test_an_entity_that_was_removed(project, runner, orders):
    made = workflow(project.admin, steps=[create(values={"name": "x"})])
    job = wait_ended(project, start(project.admin, made))
    assert job["status"] == "succeeded"
    project.admin.delete("/entities/orders", expect=204)
    settle()
    assert failure(wait_ended(project, start(project.admin, made))) == "not_found"


def test_a_model_that_changes_between_steps(project, runner, orders):
    """A field that is added after a runner has cached the workflow can be used by the next job."""
    made = workflow(project.admin, steps=[create(values={"name": "x"})])
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"
    project.admin.post("/entities/orders/fields", {"name": "colour", "type": "varchar", "default": "red"}, expect=201)
    settle()
    assert output(wait_ended(project, start(project.admin, made)))[0]["colour"] == "red"


def test_events_carry_the_depth(project, db, runner, orders):
    """A record that a job writes has a depth of one more than the job, so that a chain of workflows ends."""
    workflow(project.admin, {"kind": "event", "event": "EntityCreated", "entity": "orders"}, [create(values={"name": "child"})])
    settle()
    project.item("orders", name="root")
    schema = project.schema(db)
    until(lambda: rows(db, f"select 1 from {schema}.jobs_now where status = 'skipped' and reason = 'loop_guard'"),
          lambda: rows(db, f"select id, status, depth, error from {schema}.jobs_now"))
    time.sleep(0.5)
    assert rows(db, f"select depth, status from {schema}.jobs_now order by depth") == [(n, "succeeded") for n in range(8)] + [(8, "skipped")]
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(9,)]


LIST = "{{ $svc.trigger.data.list }}"


@pytest.fixture(scope="module")
def stocked(shared_project):
    """Five orders that no test changes."""
    shared_project.entity("orders", FIELDS)
    for name in ("a,b", "a", "b", "c", ""):
        shared_project.item("orders", name=name)
    return shared_project


@pytest.mark.parametrize("op, values, found", [
    ("in", ["a,b", "c"], ["a,b", "c"]), ("nin", ["a,b", "c"], ["", "a", "b"]), ("in", [], []), ("nin", [], ["", "a", "a,b", "b", "c"]),
    ("in", [""], [""]), ("between", ["a,", "b"], ["a,b", "b"]),
])
def test_lists_are_taken_item_by_item(stocked, runner, op, values, found):
    """A comma inside of a value does not split the value."""
    assert sorted(r["name"] for r in output(run(stocked, [read(filter={"name": {op: LIST}})], {"list": values}))) == found


@pytest.mark.parametrize("op, values", [
    ("between", ["a"]), ("between", ["a", "b", "c"]), ("gt", ["a", "b"]), ("in", list(range(501))), ("in", [[1]])])
def test_lists_that_do_not_fit(stocked, runner, op, values):
    job = run(stocked, [read(filter={"name": {op: LIST}})], {"list": values})
    assert failure(job) in ("invalid_query", "type_mismatch")


# --- the editor's rights ---


def editor_of(project, *permissions, **settings):
    return project.user_with("svc_workflows:create", "svc_workflows:read", "svc_workflows:update", "svc_workflows:trigger", *permissions, **settings)


STEPS = {
    "read": read(),
    "create": create(values={"name": "x"}),
    "update": step("save", "UpdateData", {"entity": "orders", "id": "{{ $svc.trigger.data.id }}", "values": {"name": "y"}}),
    "delete": step("save", "DeleteData", {"entity": "orders", "id": "{{ $svc.trigger.data.id }}"}),
    "bulk": step("save", "BulkCreateData", {"entity": "orders", "items": [{"name": "x"}]}),
}


@pytest.mark.parametrize("action", STEPS)
def test_a_step_needs_the_editors_permission(project, db, runner, orders, action):
    """A13: a step needs the permission of the workflow's editor, no matter which user starts the workflow."""
    needed = {"bulk": "create"}.get(action, action)
    made = project.item("orders", name="a")
    others = [f"orders:{a}" for a in ("read", "create", "update", "delete") if a != needed]
    editor = editor_of(project, *others)
    job = run(project, [STEPS[action]], {"id": made["id"]}, editor)
    assert failure(job) == "forbidden" and f"orders:{needed}" in job["error"]["message"]
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]
    no_api = editor_of(project, *others, f"orders:{needed}", api_access=False)
    assert failure(run(project, [STEPS[action]], {"id": made["id"]}, no_api)) == "api_access_disabled"


def test_the_editors_rows(project, runner, orders):
    """A13, A14: a record that the editor cannot see does not exist for the workflow, even if the trigger names its id."""
    editor = editor_of(project, "orders:read", "orders:create", "orders:update", "orders:delete")
    theirs = project.item("orders", name="theirs")
    mine = project.item("orders", client=editor, name="mine")
    assert [r["name"] for r in output(run(project, [STEPS["read"]], editor=editor))] == ["mine"]
    assert output(run(project, [read(id="{{ $svc.trigger.data.id }}")], {"id": theirs["id"]}, editor)) == []
    assert failure(run(project, [STEPS["update"]], {"id": theirs["id"]}, editor)) == "not_found"
    assert failure(run(project, [STEPS["delete"]], {"id": theirs["id"]}, editor)) == "not_found"
    assert output(run(project, [STEPS["update"]], {"id": mine["id"]}, editor))[0]["name"] == "y"
    (made,) = output(run(project, [STEPS["create"]], editor=editor))
    assert made["created_by"] == editor.user["id"]
    assert project.admin.get(f"/entities/orders/items/{theirs['id']}", expect=200).json()["name"] == "theirs"


def test_rights_as_of_now(project, runner, orders):
    """A revoked permission also affects workflows that were saved before."""
    role = project.role(permissions=["svc_workflows:create", "svc_workflows:read", "orders:create"])
    editor = project.user(role_ids=[role["id"]])
    made = workflow(editor, steps=[STEPS["create"]])
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"
    project.admin.put(f"/roles/{role['id']}", {"permissions": ["svc_workflows:create", "svc_workflows:read"]}, expect=200)
    settle()
    assert failure(wait_ended(project, start(project.admin, made))) == "forbidden"


def test_a_workflow_saved_with_a_key_has_the_keys_rights(project, runner, orders):
    key = project.key(["svc_workflows:create", "svc_workflows:read", "orders:read"])
    made = workflow(key, steps=[{**read(), "next": "save"}, STEPS["create"]])
    job = wait_ended(project, start(project.admin, made))
    assert failure(job) == "forbidden" and [s["status"] for s in job["steps"]] == ["succeeded", "failed"]
    project.admin.delete(f"/api-keys/{key.info['id']}", expect=204)
    settle()
    assert failure(wait_ended(project, start(project.admin, made))) == "editor_gone"


def test_fields_that_the_editor_may_not_use(project, runner, orders):
    role = project.role(permissions=["svc_workflows:create", "svc_workflows:read", "orders:read", "orders:create"],
                        field_access=[{"entity": "orders", "action": "read", "fields": ["name"]},
                                      {"entity": "orders", "action": "create", "fields": ["name"]}])
    editor = project.user(role_ids=[role["id"]])
    project.item("orders", client=editor, name="mine")
    (found,) = output(run(project, [read()], editor=editor))
    assert "price" not in found and found["name"] == "mine"
    assert failure(run(project, [read(filter={"price": 1})], editor=editor)) == "invalid_query"
    assert failure(run(project, [create(values={"name": "x", "price": 1})], editor=editor)) == "validation_failed"

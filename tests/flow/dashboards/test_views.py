"""Materialised views: their rows, when they are refreshed, who reads them, and that no reader meets a gap."""
import concurrent.futures
import threading

import pytest
import requests
from groundwork.chaos import kill
from groundwork.client import Client
from groundwork.deadline import until
from groundwork.records import execute, rows as found
from groundwork.runs import TableLock
from groundwork.soon import await_status

VIEW = "/materialized-views"


@pytest.fixture(scope="module")
def mill(shared_project, start_runner):
    project = shared_project
    project.runner = start_runner(SWEEP_MS=200)
    project.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}}, expect=200)
    project.entity("fields", [{"name": "farm", "type": "varchar"}], row_level_security=False)
    project.entity("loads", [
        {"name": "grain", "type": "varchar"}, {"name": "tons", "type": "integer"}, {"name": "price", "type": "decimal"},
        {"name": "day", "type": "date"}, {"name": "field", "type": "relation", "options": {"entity": "fields"}}],
        row_level_security=False)
    for farm in ("Hill", "Dale"):
        project.item("fields", farm=farm)
    for n in range(12):
        project.item("loads", grain=("rye", "oats")[n % 2], tons=n, price="1.25", day=f"2026-0{n % 3 + 1}-11", field=n % 2 + 1)
    return project


def definition(name, **changes):
    return {"name": name, "entity": "loads", "aggregates": [{"function": "sum", "field": "tons"}, {"function": "count"}],
            "group_by": [{"field": "day", "bucket": "month"}, {"field": "field.farm"}], **changes}


def make(mill, name, **changes):
    mill.admin.post(VIEW, definition(name, **changes), expect=201)
    return view_until(mill, name, "ready")


def view_until(mill, name, status, **wanted):
    shown = {}

    def is_so():
        shown.update(mill.admin.get(f"{VIEW}/{name}", expect=200).json())
        return shown["status"] == status and all(shown[key] == value for key, value in wanted.items())

    until(is_so, lambda: shown)
    return shown


def rows(client, name, query="", expect=200):
    return client.get(f"{VIEW}/{name}/rows{query}", expect=expect).json()


def test_made_anew_in_the_order_of_another_locale(mill, project):
    """The runner of `mill` refreshes the views of every project, so also the view of this project after its locale changes."""
    project.entity("loads", [{"name": "grain", "type": "varchar"}], row_level_security=False)
    for grain in ("Zeder", "Ähre"):
        project.item("loads", grain=grain)
    project.admin.post(VIEW, {"name": "grains", "entity": "loads", "aggregates": [{"function": "min", "field": "grain"}],
                              "group_by": [{"field": "grain"}]}, expect=201)

    def shown():
        return [row["grain"] for row in project.admin.get(f"{VIEW}/grains/rows", expect=200).json()["items"]]

    view_until(project, "grains", "ready")
    assert shown() == ["Ähre", "Zeder"]
    project.admin.put("/", {"settings": {"locale": "sv"}}, expect=200)
    until(lambda: shown() == ["Zeder", "Ähre"], within=20)


def test_made_read_changed_deleted(mill):
    shown = make(mill, "monthly")
    assert shown["columns"] == [{"name": "day", "type": "date"}, {"name": "field_farm", "type": "varchar"},
                                {"name": "sum_tons", "type": "integer"}, {"name": "count", "type": "integer"}]
    assert shown["row_count"] == 6 and shown["refreshed_at"] and shown["refresh_ms"] >= 0 and shown["error"] is None
    page = rows(mill.admin, "monthly", "?sort=-sum_tons&limit=2")
    assert page["total_items"] == 6 and page["has_next_page"]
    assert page["items"][0] == {"id": page["items"][0]["id"], "day": "2026-03-01", "field_farm": "Dale", "sum_tons": 16, "count": 2}
    assert [row["count"] for row in rows(mill.admin, "monthly", "?filter[field_farm]=Hill&filter[sum_tons][gt]=6&fields=count")["items"]] == [2, 2]
    walked = rows(mill.admin, "monthly", "?cursor=start&limit=4")
    assert len(rows(mill.admin, "monthly", f"?cursor={walked['next_cursor']}&limit=4")["items"]) == 2
    for wrong in ("filter[nothing]=1", "sort=nothing", "fields=tons", "expand=field", "filter[sum_tons]=x"):
        rows(mill.admin, "monthly", f"?{wrong}", expect=400)
    mill.admin.put(f"{VIEW}/monthly", {"group_by": [{"field": "grain"}], "aggregates": [{"function": "avg", "field": "price"}]}, expect=200)
    changed = view_until(mill, "monthly", "ready", row_count=2)
    assert [column["name"] for column in changed["columns"]] == ["grain", "avg_price"]
    assert [float(row["avg_price"]) for row in rows(mill.admin, "monthly")["items"]] == [1.25, 1.25]
    mill.admin.put(f"{VIEW}/monthly", {"name": "by_grain"}, expect=200)
    mill.admin.get(f"{VIEW}/monthly", expect=404)
    mill.admin.post(VIEW, definition("by_grain"), expect=409)
    assert [each["name"] for each in mill.admin.get(VIEW, expect=200).json()["items"]] == ["by_grain"]
    mill.admin.delete("/entities/loads", expect=409)
    mill.admin.delete(f"{VIEW}/by_grain", expect=204)
    for call in (mill.admin.get(f"{VIEW}/by_grain/rows"), mill.admin.post(f"{VIEW}/by_grain/refresh"), mill.admin.delete(f"{VIEW}/by_grain")):
        assert call.status_code == 404


def test_deleted_while_a_refresh_drops_its_tables(mill, db, servers):
    """A deletion and a refresh both know the view's table; the deletion succeeds although the refresh has already dropped the
    table."""
    make(mill, "felled")
    with db.cursor() as cursor:
        cursor.execute("select c.oid::regclass::text from pg_class c join {0}.materialized_views v on c.relname ~ ('^v_' || v.id || '_')"
                       " where v.name = 'felled' and c.relnamespace = '{0}'::regnamespace and c.relkind = 'r'".format(mill.schema(db)))
        (table,), = cursor.fetchall()
    with TableLock(servers, table) as held, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(mill.admin.delete, f"{VIEW}/felled")
        until(lambda: held.is_awaited(db), "the view is being deleted")
        with held.connection.cursor() as cursor:
            cursor.execute(f"drop table {table}")
        held.connection.commit()
        assert answer.result().status_code == 204


@pytest.mark.parametrize("field, changes", [
    ("name", {"name": "Bad name"}), ("name", {"name": "svc_x"}), ("entity", {"entity": "nothing"}), ("aggregates", {"aggregates": []}),
    ("aggregates[0].field", {"aggregates": [{"function": "sum", "field": "grain"}]}), ("group_by[0].field", {"group_by": [{"field": "nothing"}]}),
    ("group_by", {"group_by": [{"field": "id"}]}), ("group_by", {"group_by": [{"field": "day"}] * 4}), ("cron", {"cron": "often"}),
    ("timezone", {"timezone": "Mars/Phobos"}), ("filter[nothing]", {"filter": {"nothing": 1}}), ("role_ids", {"role_ids": [424242]}),
    ("sql", {"sql": "select 1"}), ("aggregates[1].field", {"aggregates": [{"function": "count"}] * 2}),
])
def test_what_is_refused(mill, field, changes):
    refused = mill.admin.post(VIEW, {**definition("refused"), **changes}, expect=400).json()
    assert field in [error["field"] for error in refused["errors"]]


def test_asked_for_timed_and_by_change(mill):
    by = {"group_by": [], "aggregates": [{"function": "count"}], "filter": {"grain": {"in": ["barley", "spelt"]}}}
    make(mill, "asked", **by)
    make(mill, "watched", on_change=True, **by)
    timed = make(mill, "timed", cron="0 4 1 1 *", timezone="Europe/Vienna", **by)
    assert timed["next_refresh_at"] > timed["refreshed_at"]
    load = mill.item("loads", grain="barley", tons=1)
    assert mill.admin.post(f"{VIEW}/asked/refresh", expect=202).json()["status"] in ("pending", "refreshing")

    def counted(name):
        """Changes the record and returns whether the view has counted it: PostgreSQL's statistics receive the changes of a
        connection with its next statement, or after ten seconds."""
        mill.admin.put(f"/entities/loads/items/{load['id']}", {"tons": 2}, expect=200)
        return [row["count"] for row in rows(mill.admin, name)["items"]] == [1]

    for name in ("asked", "watched"):
        until(lambda name=name: counted(name), name, 15, pause=0.3)
    assert [row["count"] for row in rows(mill.admin, "timed")["items"]] == [0]
    mill.admin.delete(f"/entities/loads/items/{load['id']}", expect=204)
    for name in ("asked", "watched", "timed"):
        mill.admin.delete(f"{VIEW}/{name}", expect=204)


def view_storage(mill, db, name):
    """Returns the table that the view selects from, the table of views, and the view's id."""
    schema = mill.schema(db)
    with db.cursor() as cursor:
        cursor.execute(f"select v.entity_id, v.id from {schema}.materialized_views v where v.name = %s", (name,))
        source, number = cursor.fetchone()
    return f"{schema}.e_{source}", f"{schema}.materialized_views", number


def test_a_refresh_that_fails_leaves_what_was_there(mill, db, servers):
    mill.entity("brief", [{"name": "kind", "type": "varchar"}, {"name": "n", "type": "integer"}], row_level_security=False)
    mill.item("brief", kind="a", n=1)
    made = make(mill, "brief_kinds", entity="brief", group_by=[{"field": "kind"}], aggregates=[{"function": "sum", "field": "n"}])
    source, _, _ = view_storage(mill, db, "brief_kinds")
    with TableLock(servers, source):
        mill.admin.post(f"{VIEW}/brief_kinds/refresh", expect=202)
        failed = view_until(mill, "brief_kinds", "failed")
        assert failed["error"] and failed["refreshed_at"] == made["refreshed_at"]
        assert [row["sum_n"] for row in rows(mill.admin, "brief_kinds")["items"]] == [1]
    mill.admin.delete("/entities/brief/fields/n", expect=204)
    assert "deleted" in rows(mill.admin, "brief_kinds", expect=409)["detail"]  # the values of a deleted field are deleted with it
    mill.admin.post(f"{VIEW}/brief_kinds/refresh", expect=202)
    until(lambda: "n" in (mill.admin.get(f"{VIEW}/brief_kinds", expect=200).json()["error"] or ""), "the error names the field")
    mill.admin.put(f"{VIEW}/brief_kinds", {"aggregates": [{"function": "count"}]}, expect=200)
    assert view_until(mill, "brief_kinds", "ready")["error"] is None
    mill.admin.delete(f"{VIEW}/brief_kinds", expect=204)


def test_a_runner_that_is_killed_in_a_refresh(mill, db, servers, start_runner):
    """The old rows stay readable; after the end of the lease another runner refreshes the view and removes what the killed
    runner left."""
    made = make(mill, "cut_down", group_by=[{"field": "grain"}], aggregates=[{"function": "count"}])
    before = rows(mill.admin, "cut_down")["items"]
    source, views, number = view_storage(mill, db, "cut_down")
    load = mill.item("loads", grain="rye", tons=1)

    def lease():
        """Returns the seconds until the end of the lease, and its end."""
        return found(db, f"select extract(epoch from v.lease_until - clock_timestamp())::float, v.lease_until from {views} v where v.id = %s", number)[0]

    def renewed(held):
        """Starts a refresh and returns True when the runner has extended its lease, False when the runner gave up first: it
        waits two seconds for a lock."""
        mill.admin.post(f"{VIEW}/cut_down/refresh", expect=202)
        first = until(lambda: held.is_awaited(db) and lease()[1], "the view is being made")
        while leased := lease()[1]:
            if leased > first:
                return True
        return False

    def killed(held):
        """Kills the runner during a refresh; returns False when the runner had given up the refresh before."""
        if renewed(held):
            kill(mill.runner)
            if lease()[1]:
                return True
            mill.runner = start_runner(SWEEP_MS=200)
        return False

    with TableLock(servers, source) as held:
        assert any(killed(held) for _ in range(5))
        assert lease()[0] <= 6
        execute(db, f"update {views} set lease_until = now() + interval '1 hour' where id = %s", number)  # longer than the checks take
        assert rows(mill.admin, "cut_down")["items"] == before
        assert mill.admin.get(f"{VIEW}/cut_down", expect=200).json()["status"] == "refreshing"
    until(lambda: not found(db, "select 1 from pg_class where relnamespace = %s::regnamespace and relname ~ ('^v_' || %s || '_')"
                                 " and relname !~ '_1$' and relkind = 'r'", mill.schema(db), str(number)), "its table is gone")
    shown = rows(mill.admin, "cut_down")["items"]
    assert shown == before and mill.admin.get(f"{VIEW}/cut_down", expect=200).json()["refreshed_at"] == made["refreshed_at"]
    execute(db, f"update {views} set lease_until = now() where id = %s", number)  # as if the lease had ended
    assert mill.admin.get(f"{VIEW}/cut_down", expect=200).json()["status"] == "pending"
    mill.runner = start_runner(SWEEP_MS=200)
    until(lambda: {row["grain"]: row["count"] for row in rows(mill.admin, "cut_down")["items"]} == {"rye": 7, "oats": 6}, "the view is refreshed again")
    mill.admin.delete(f"{VIEW}/cut_down", expect=204)
    mill.admin.delete(f"/entities/loads/items/{load['id']}", expect=204)


def test_a_gateway_that_is_killed_while_it_asks_for_a_refresh(mill, db, servers, start_gateway):
    made = make(mill, "unasked")
    one = start_gateway("views-killed", WORKERS=1)
    client = Client(f"{one.url}/org/{mill.admin.project.id}", token=mill.admin.token)
    _, views, _ = view_storage(mill, db, "unasked")
    with TableLock(servers, views, mode="share") as held, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(client.post, f"{VIEW}/unasked/refresh")
        until(lambda: held.is_awaited(db), "the refresh is being requested")
        kill(one)
        assert isinstance(answer.exception(), requests.RequestException)
        assert len(rows(mill.admin, "unasked")["items"]) == made["row_count"]
    mill.admin.post(f"{VIEW}/unasked/refresh", expect=202)
    until(lambda: mill.admin.get(f"{VIEW}/unasked", expect=200).json()["refreshed_at"] > made["refreshed_at"], "the view is refreshed again")
    mill.admin.delete(f"{VIEW}/unasked", expect=204)


def test_who_reads_it(mill):
    make(mill, "shared")
    reader, half, stranger = mill.user(permissions=["loads:read", "fields:read"]), mill.user(permissions=["loads:read"]), mill.user()
    assert len(rows(reader, "shared")["items"]) == 6
    for client in (half, stranger):
        rows(client, "shared", expect=403)
    blind = mill.user(role_ids=[mill.role(permissions=["svc_entities:read", "loads:read", "fields:read"], field_access=[
        {"entity": "loads", "action": "read", "fields": ["grain", "day", "field"]}])["id"]])
    rows(blind, "shared", expect=403)
    half.post(VIEW, definition("theirs"), expect=400)
    stranger.post(VIEW, definition("theirs"), expect=403)
    mill.admin.put("/entities/fields", {"row_level_security": True}, expect=200)
    await_status(lambda: reader.get(f"{VIEW}/shared/rows"), 403)
    reader.put(f"{VIEW}/shared", {"role_ids": reader.user["role_ids"]}, expect=403)
    mill.admin.put(f"{VIEW}/shared", {"role_ids": stranger.user["role_ids"]}, expect=200)
    assert len(rows(stranger, "shared")["items"]) == 6
    mill.admin.put("/entities/fields", {"row_level_security": False}, expect=200)
    mill.admin.delete(f"{VIEW}/shared", expect=204)


@pytest.fixture
def payroll(mill):
    """Entity wages, which most callers may not read, and entity news, which they may. Deletes both, and all views, after the
    test."""
    mill.entity("wages", [{"name": "person", "type": "varchar"}, {"name": "amount", "type": "integer"}], row_level_security=False)
    mill.entity("news", [{"name": "title", "type": "varchar"}], row_level_security=False)
    mill.item("wages", person="Ann Example", amount=7341)
    mill.item("news", title="Harvest")
    yield mill
    for view in mill.admin.get(VIEW, expect=200).json()["items"]:
        mill.admin.delete(f"{VIEW}/{view['name']}", expect=204)
    for name in ("wages", "news"):
        mill.admin.delete(f"/entities/{name}", expect=204)


WAGES = {"entity": "wages", "aggregates": [{"function": "max", "field": "amount"}], "group_by": [{"field": "person"}]}
NEWS = {"entity": "news", "aggregates": [{"function": "count"}], "group_by": []}
EDITOR = ["svc_entities:read", "svc_entities:create", "svc_entities:update", "svc_entities:delete"]


def make_unfinished_view(payroll, name):
    """Makes the view and kills the runner, so that no later change of the definition is carried out."""
    make(payroll, name, **WAGES)
    kill(payroll.runner)


def test_rows_are_served_by_what_they_were_made_of(payroll, start_runner):
    """A change of the definition gives no access to rows of the former definition."""
    editor = payroll.user(permissions=["news:read", *EDITOR])
    make_unfinished_view(payroll, "pay")
    try:
        payroll.admin.put(f"{VIEW}/pay", NEWS, expect=200)
        assert "Ann" not in editor.get(f"{VIEW}/pay/rows", expect=403).text
        shown = editor.get(f"{VIEW}/pay", expect=200).json()
        assert [shown[name] for name in ("columns", "row_count", "refreshed_at", "refresh_ms")] == [None] * 4
        assert shown["aggregates"] == [{"function": "count", "field": None}]
        assert len(rows(payroll.admin, "pay")["items"]) == 1
    finally:
        payroll.runner = start_runner(SWEEP_MS=200)
    view_until(payroll, "pay", "ready")
    assert rows(editor, "pay")["items"] == [{"id": 1, "count": 1}]


def test_a_definition_over_fields_of_others_is_not_the_callers_to_change(payroll):
    editor = payroll.user(permissions=["news:read", *EDITOR])
    make(payroll, "pay", **WAGES)
    for change in (NEWS, {"group_by": []}, {"timezone": "Europe/Berlin"}):
        editor.put(f"{VIEW}/pay", change, expect=403)
    editor.put(f"{VIEW}/pay", {"description": "Pay"}, expect=200)


def test_sharing_holds_for_the_definition_that_was_shared(payroll, start_runner):
    """A view that an administrator redefines and shares in one request gives no access to rows of the former definition."""
    reader = payroll.user(permissions=["svc_entities:read"])
    make_unfinished_view(payroll, "pay")
    try:
        payroll.admin.put(f"{VIEW}/pay", {**NEWS, "role_ids": reader.user["role_ids"]}, expect=200)
        assert "Ann" not in rows(reader, "pay", expect=403)["detail"]
    finally:
        payroll.runner = start_runner(SWEEP_MS=200)
    view_until(payroll, "pay", "ready")
    assert [row["count"] for row in rows(reader, "pay")["items"]] == [1]


@pytest.mark.parametrize("change", [{"aggregates": [{"function": "count"}]}, {"group_by": []}, {"filter": {"amount": {"gt": 1}}},
                                    {"timezone": "Europe/Berlin"}, {"name": "renamed"}, {"cron": "0 5 * * *"}, {"on_change": True},
                                    {"description": "x"}, NEWS, {"role_ids": []}])
def test_only_administrators_change_what_is_shared(payroll, change):
    member = payroll.user(permissions=["wages:read", "news:read", *EDITOR])
    key = payroll.key(["svc_entities:read", "svc_entities:update", "wages:read", "news:read"])
    make(payroll, "pay", **WAGES, role_ids=member.user["role_ids"])
    for client in (member, key):
        client.put(f"{VIEW}/pay", change, expect=403)
    payroll.admin.put(f"{VIEW}/pay", change, expect=200)


def test_a_view_over_rows_that_a_rule_hides_is_for_administrators(payroll):
    """A count of hidden rows would answer questions about them, so only administrators may make a view over such rows."""
    payroll.admin.put("/entities/wages", {"row_level_security": True}, expect=200)
    member = payroll.user(permissions=["wages:read", "news:read", *EDITOR])
    key = payroll.key([*EDITOR, "wages:read", "news:read"])
    payroll.admin.post(VIEW, {"name": "pay", **WAGES, "filter": {"amount": {"gt": 7340}}}, expect=201)
    view_until(payroll, "pay", "ready")
    for client in (member, key):
        client.post(VIEW, {"name": "mine", **WAGES, "filter": {"amount": {"gt": 7340}}}, expect=403)
        client.post(VIEW, {"name": f"mine{client is key:d}", **NEWS}, expect=201)
        client.put(f"{VIEW}/mine{client is key:d}", WAGES, expect=403)
    for shown in (member.get(f"{VIEW}/pay", expect=200).json(), *member.get(VIEW, params={"sort": "id"}, expect=200).json()["items"][:1]):
        assert shown["name"] == "pay" and shown["row_count"] is None and shown["columns"] is None and shown["error"] is None
        assert shown["group_by"] == [{"field": "person", "bucket": None}]  # the member may read the fields, though not all rows
    rows(member, "pay", expect=403)
    assert key.get(f"{VIEW}/pay", expect=200).json()["row_count"] == 1
    assert len(rows(key, "pay")["items"]) == 1


def test_an_administrators_key_reads_by_its_own_permissions(payroll):
    make(payroll, "pay", **WAGES)
    chart = payroll.admin.post("/charts", {"name": "Pay", "kind": "table", "view": "pay", "aggregates": [
        {"function": "max", "field": "max_amount"}], "group_by": [{"field": "person"}]}, expect=201).json()
    narrow, wide = payroll.key(["svc_entities:read"]), payroll.key(["svc_entities:read", "wages:read"])
    paths = (f"{VIEW}/pay/rows", f"/charts/{chart['id']}/data", f"/charts/{chart['id']}/image.svg")
    for path in paths:
        assert "Ann" not in narrow.get(path, expect=403).text
        assert "Ann" in wide.get(path, expect=200).text or path.endswith("svg")  # an SVG draws its letters
    for path in (VIEW, f"{VIEW}/pay", "/charts", f"/charts/{chart['id']}"):
        assert "person" not in narrow.get(path, expect=200).text and "amount" not in narrow.get(path, expect=200).text
        assert "person" in wide.get(path, expect=200).text
    payroll.admin.put(f"{VIEW}/pay", {"role_ids": payroll.admin.get("/users/me", expect=200).json()["role_ids"]}, expect=200)
    for path in paths:
        narrow.get(path, expect=403)


def test_definitions_do_not_name_fields_that_the_caller_may_not_read(payroll):
    clerk = payroll.user(role_ids=[payroll.role(permissions=[*EDITOR, "wages:read", "svc_dashboards:read"], field_access=[
        {"entity": "wages", "action": "read", "fields": ["person"]}])["id"]])
    make(payroll, "pay", **WAGES, filter={"amount": {"gt": 5}})
    payroll.admin.put(f"{VIEW}/pay", {"role_ids": clerk.user["role_ids"]}, expect=200)
    chart = payroll.admin.post("/charts", {"name": "Pay", "kind": "table", **WAGES, "filter": {"amount": {"gt": 5}}}, expect=201).json()
    board = payroll.admin.post("/dashboards", {"name": "Pay", "role_ids": clerk.user["role_ids"]}, expect=201).json()
    listed = {"kind": "list", "entity": "wages"}
    for more in ({"fields": "person,amount"}, {"sort": "-amount"}, {"filter": {"amount": {"gt": 5}}}, {"fields": "person", "sort": "person"}):
        payroll.admin.post(f"/dashboards/{board['id']}/widgets", {**listed, **more}, expect=201)
    payroll.admin.put("/dashboards/home", {"scope": "role", "role_id": clerk.user["role_ids"][0], "dashboard_id": board["id"]}, expect=200)
    path = f"/charts/{chart['id']}"
    for read in (VIEW, f"{VIEW}/pay", "/charts", path, f"/dashboards/{board['id']}", "/dashboards/home"):
        assert "amount" not in clerk.get(read, expect=200).text.replace("max_amount", ""), read  # a column of the view that is shared with the clerk
    assert clerk.get(f"/dashboards/{board['id']}", expect=200).json()["widgets"][3]["fields"] == "person"
    for read in (f"{path}/data", f"{path}/image.svg"):
        assert "amount" not in clerk.get(read, expect=403).text
    for change in ({"limit": 5}, {"group_by": []}):
        assert "amount" not in clerk.put(path, change, expect=403).text
    assert "amount" not in clerk.put(path, {"name": "Wages"}, expect=200).text


def test_a_field_that_was_deleted_shows_nothing_more(payroll):
    reader = payroll.user(permissions=["wages:read", "svc_entities:read"])
    make(payroll, "pay", **WAGES)
    make(payroll, "lent", **WAGES, role_ids=reader.user["role_ids"])
    assert len(rows(reader, "pay")["items"]) == 1
    payroll.admin.delete("/entities/wages/fields/person", expect=204)
    rows(payroll.admin, "pay", expect=409)
    rows(reader, "lent", expect=409)
    rows(reader, "pay", expect=403)
    payroll.admin.post("/entities/wages/fields", {"name": "person", "type": "varchar"}, expect=201)
    for client, name in ((payroll.admin, "pay"), (reader, "lent")):
        assert "Ann" not in rows(client, name, expect=409)["detail"]  # the new field only has the same name
    reader.get(f"{VIEW}/pay", expect=200)


def test_charts_of_a_view(mill):
    make(mill, "charted")
    chart = {"name": "Tons", "kind": "bar", "view": "charted", "aggregates": [{"function": "sum", "field": "sum_tons"}],
             "group_by": [{"field": "day", "bucket": "quarter"}]}
    made = mill.admin.post("/charts", chart, expect=201).json()
    assert made["view"] == "charted" and made["entity"] is None
    path = f"/charts/{made['id']}"
    assert mill.admin.get(f"{path}/data", expect=200).json()["rows"] == [["2026-01-01", 66]]
    assert mill.admin.get(f"{path}/image.svg", expect=200).content
    assert mill.admin.put(path, {"name": "Weight"}, expect=200).json()["view"] == "charted"
    refused = mill.admin.put(path, {"view": None, "entity": "loads"}, expect=400).json()
    assert refused["errors"][0]["field"] == "aggregates[0].field"
    stranger = mill.user()
    stranger.get(f"{path}/data", expect=403)
    stranger.post("/charts/preview", chart, expect=403)
    mill.admin.post("/charts/preview", {**chart, "entity": "loads"}, expect=400)
    mill.admin.post("/charts/preview", {**chart, "view": "nothing"}, expect=404)
    mill.admin.put(f"{VIEW}/charted", {"name": "recharted", "aggregates": [{"function": "count"}]}, expect=200)
    view_until(mill, "recharted", "ready")
    assert "sum_tons" in mill.admin.get(f"{path}/data", expect=409).text
    mill.admin.put(path, {"aggregates": [{"function": "sum", "field": "count"}]}, expect=200)
    assert mill.admin.get(f"{path}/data", expect=200).json()["rows"] == [["2026-01-01", 12]]
    mill.admin.delete(f"{VIEW}/recharted", expect=204)
    mill.admin.get(path, expect=404)


def test_no_reader_meets_a_gap(mill, db):
    make(mill, "busy", on_change=False)
    wrong, ended = [], threading.Event()

    def read():
        while not ended.is_set():
            answer = mill.admin.get(f"{VIEW}/busy/rows")
            if answer.status_code != 200 or len(answer.json()["items"]) != 6:
                wrong.append(answer.text)

    readers = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(6):
        before = mill.admin.get(f"{VIEW}/busy", expect=200).json()["refreshed_at"]
        mill.admin.post(f"{VIEW}/busy/refresh", expect=202)
        until(lambda before=before: mill.admin.get(f"{VIEW}/busy", expect=200).json()["refreshed_at"] != before, "the view is refreshed again", pause=0.02)
    ended.set()
    for reader in readers:
        reader.join()
    assert not wrong, wrong[:3]
    mill.admin.delete(f"{VIEW}/busy", expect=204)
    with db.cursor() as cursor:
        cursor.execute("select relname from pg_class where relnamespace = %s::regnamespace and relname ~ '^v_'", (mill.schema(db),))
        assert cursor.fetchall() == []

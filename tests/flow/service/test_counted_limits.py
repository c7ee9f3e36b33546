"""Limits on the number of resources hold against concurrent writers. With room for one more, one of sixteen writers gets the
answer of a writer that comes alone, and the others get the refusal of a writer that comes too late."""
import concurrent.futures
import itertools

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import TableLock
from groundwork.workflows import document

WRITERS = 16
NAME = {"name": "name", "type": "varchar", "options": {"max_length": 50}}
_numbers = itertools.count(1)


class Kind:
    """How the API creates a resource, and which columns differ from row to row (SQL of n)."""

    def __init__(self, path, body, most, refusal, table=None, of="true", method="POST", writers=WRITERS, **differs):
        self.path, self.body, self.most, self.method, self.writers = path, body, most, method, writers
        self.refusal = refusal.format(most)
        self.table, self.of, self.differs = table or path.strip("/").replace("-", "_").replace("/", "_"), of, differs

    def send(self, project, client=None):
        made = project.ids
        path, of = self.path.format(**made), self.body(next(_numbers), made)
        return (client or project.admin).request(self.method, path, json=of)

    def where(self, project):
        return self.of.format(**project.ids)

    def count(self, project, db):
        return rows(db, f"select count(*) from {project.schema(db)}.{self.table} where {self.where(project)}")[0][0]

    def fill(self, project, db, most):
        """Inserts copies of the newest row, until there are `most` rows."""
        schema = project.schema(db)
        values = ", ".join(f"'{column}', {value}" for column, value in self.differs.items())
        execute(db, f"insert into {schema}.{self.table} select r.*"
                    f" from (select to_jsonb(t) as doc from {schema}.{self.table} t where {self.where(project)} order by t desc limit 1) x,"
                    f" generate_series(1000001, 1000000 + {most - self.count(project, db)}) n,"
                    f" jsonb_populate_record(null::{schema}.{self.table}, x.doc || jsonb_build_object({values})) r")

    def empty(self, project, db):
        """Deletes the copies, for the tests of other kinds."""
        execute(db, f"delete from {project.schema(db)}.{self.table} where ({self.where(project)})"
                    f" and {next(iter(self.differs))}::text ~ '^n?1[0-9]{{6}}$'")


def chart(n, ids):
    return {"name": f"c{n}", "kind": "metric", "entity": "counted", "aggregates": [{"function": "count"}]}


def sender(n, ids):
    return {"email": f"n{n}@{ids['mail_domain']}"}


ID, NAMED = {"id": "n"}, {"id": "n", "name": "'n' || n"}
PROJECT = "A project has at most {} %s."
KINDS = {
    "menus": Kind("/menus", lambda n, ids: {"key": f"n{n}", "label": "x"}, 100, PROJECT % "menus", **ID, key="'n' || n"),
    "menu items": Kind("/menus/{menu}/items", lambda n, ids: {"label": "x", "kind": "group"}, 500, "A menu has at most {} items.",
                       "menu_items", "menu_id = {menu}", **ID, position="n - 1000000"),
    "integrations": Kind("/integrations", lambda n, ids: {"name": f"n{n}", "base_url": "https://example.org"}, 200,
                         PROJECT % "integrations", **NAMED),
    "imported integrations": Kind(
        "/integrations/import", lambda n, ids: {"name": f"n{n}", "base_url": "https://example.org", "document": {
            "openapi": "3.0.3", "paths": {"/a": {"get": {"operationId": "a"}}}}}, 200, PROJECT % "integrations", "integrations", **NAMED),
    "connections": Kind("/connections", lambda n, ids: {"integration_id": ids["integration"], "name": f"n{n}",
                                                        "credentials": {"token": "long enough"}}, 2000,
                        "An integration has at most {} connections.", of="integration_id = {integration}", **NAMED),
    "charts": Kind("/charts", chart, 1000, PROJECT % "charts", **NAMED),
    "views": Kind("/materialized-views", lambda n, ids: {"name": f"v{n}", "entity": "counted", "aggregates": [{"function": "count"}]},
                  200, PROJECT % "materialised views", **NAMED),
    "dashboards": Kind("/dashboards", lambda n, ids: {"name": f"n{n}"}, 1000, PROJECT % "dashboards", **NAMED),
    "widgets": Kind("/dashboards/{dashboard}/widgets", lambda n, ids: {"kind": "text", "text": "x"}, 60,
                    "A dashboard has at most {} widgets.", "dashboard_widgets", "dashboard_id = {dashboard}", **ID, y="(n - 1000000) * 5"),
    "secrets": Kind("/secrets", lambda n, ids: {"name": f"N{n}", "value": "long enough"}, 1000, PROJECT % "secrets", name="'n' || n"),
    "push templates": Kind("/push/templates", lambda n, ids: {"template_type": f"t{n}", "name": "x"}, 1000, PROJECT % "templates",
                           template_type="'n' || n"),
    "push categories": Kind("/push/categories", lambda n, ids: {"category": f"c{n}"}, 200, PROJECT % "groups", method="PUT",
                            category="'n' || n"),
    "synced push categories": Kind("/push/categories/sync", lambda n, ids: {"categories": [{"id": f"c{n}", "actions": []}]}, 200,
                                   PROJECT % "groups", "push_categories", category="'n' || n"),
    "devices": Kind("/push/devices", lambda n, ids: {"provider": "fcm", "token": f"n{n}"}, 100, "A user has at most {} devices.",
                    of="user_id = {user}", **ID, token="'t' || n", token_hash="'\\x' || md5(n::text)"),
    "conversations": Kind("/ai/conversations", lambda n, ids: {"title": f"n{n}"}, 2000, "A user has at most {} conversations.",
                          of="user_id = {user}", **ID),
    # A project may make only ten changes a minute.
    "domains": Kind("/tenant-domains", lambda n, ids: {"domain": f"n{n}.example.org"}, 20, PROJECT % "domains", "mail_domains", writers=6,
                    **ID, domain="'n' || n"),
    "senders": Kind("/tenant-sender-addresses", sender, 200, PROJECT % "sender addresses", "mail_senders", **ID,
                    email="'n' || n", is_default="false"),
    "workflows": Kind("/workflows", lambda n, ids: document(), 1000, PROJECT % "workflows", **NAMED),
    # The model counts these under its lock. Entities are counted in the same way, but creating a thousand takes too long.
    "enums": Kind("/enums", lambda n, ids: {"name": f"n{n}", "values": ["a"]}, 1000, PROJECT % "enums", "settings",
                  "kind = 'enum'", **ID, key="'n' || n"),
    "fields": Kind("/entities/counted/fields", lambda n, ids: {"name": f"n{n}", "type": "integer"}, 200,
                   "An entity has at most {} fields.", "fields", "entity_id = {entity}", **NAMED),
}


@pytest.fixture(scope="module")
def project(shared_project, servers):
    """A project with the objects to which the resources belong."""
    made, admin = shared_project, shared_project.admin
    admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}}, expect=200)
    entity = made.entity("counted", [NAME])
    with servers.connect() as db:
        execute(db, f"insert into {made.schema(db)}.mail_domains (domain, token, selector, public_key, status, records)"
                    " values ('counted.example.org', 'x', 'x', 'x', 'verified', '[]')")
    made.ids = {
        "menu": admin.post("/menus", {"key": "counted", "label": "x"}, expect=201).json()["id"],
        "dashboard": admin.post("/dashboards", {"name": "counted"}, expect=201).json()["id"],
        "integration": admin.post("/integrations", {"name": "counted", "base_url": "http://10.0.0.1", "auth": {"scheme": "bearer"}},
                                  expect=201).json()["id"],
        "user": admin.get("/users/me", expect=200).json()["id"],
        "mail_domain": "counted.example.org",
        "entity": entity["id"],
    }
    return made


@pytest.mark.parametrize("name", KINDS)
def test_writers_at_the_last_free_place(project, db, servers, name):
    kind = KINDS[name]
    schema = project.schema(db)
    assert kind.send(project).status_code in (200, 201)
    kind.fill(project, db, kind.most - 2)
    alone = kind.send(project)
    assert alone.status_code in (200, 201), alone.text
    clients = [project.client(token=project.admin.token) for _ in range(kind.writers)]
    with concurrent.futures.ThreadPoolExecutor(kind.writers) as pool:
        with TableLock(servers, f"{schema}.{kind.table}", mode="share"):  # a share lock: rows can be counted, but not added
            sent = [pool.submit(kind.send, project, client) for client in clients]
            until(lambda: len(rows(db, "select 1 from pg_stat_activity where wait_event_type = 'Lock'")) > 1, "two writers wait")
        answers = [one.result() for one in sent]
    refused = [answer for answer in answers if answer.status_code != alone.status_code]
    assert kind.count(project, db) == kind.most
    assert len(refused) == kind.writers - 1
    assert {(answer.status_code, answer.json()["detail"]) for answer in refused} == {(409, kind.refusal)}
    kind.empty(project, db)

"""The search index in a chaos run: callers create, change, delete and grant notes and rebuild their index; two indexers run."""
import json
import uuid

from clients import LoggingClient

WORDS = "astrolabe walnut linen cotton harbour lantern meadow cinder quartz thimble".split()
NOTES = "/entities/notes/items"


def set_up(world):
    """Sets up an entity whose records are searchable, also by words of the records that they refer to."""
    project = world.project
    project.entity("shelves", [{"name": "label", "type": "varchar", "searchable": True}])
    project.entity("notes", [
        {"name": "mark", "type": "varchar"}, {"name": "title", "type": "varchar", "searchable": True},
        {"name": "body", "type": "text", "searchable": True},
        {"name": "shelf", "type": "relation", "searchable": True, "options": {"entity": "shelves", "on_delete": "set_null"}}])
    world.shelves = [project.item("shelves", label=f"shelf {word}")["id"] for word in WORDS[:4]]
    world.readers = project.admin.post("/groups", {"name": "readers"}, expect=201).json()["id"]


class Writer(LoggingClient):
    """Creates, changes, grants and deletes notes; now and then renames a shelf or rebuilds the index."""

    def __init__(self, world, log, stop, seed, rate):
        super().__init__(world, log, stop, seed, rate)
        self.mine = []

    def text(self, count):
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def step(self):
        dice, mark = self.random.random(), uuid.uuid4().hex
        if dice < 0.5 or not self.mine:
            made = self.call("note", mark, "POST", NOTES, {"mark": mark, "title": self.text(3), "body": self.text(8),
                                                            "shelf": self.random.choice(self.world.shelves)})
            if made:
                self.mine.append(made["id"])
        elif dice < 0.75:
            self.call("change", mark, "PUT", f"{NOTES}/{self.random.choice(self.mine)}", {"title": self.text(3)})
        elif dice < 0.85:
            gone = self.mine.pop(self.random.randrange(len(self.mine)))
            self.call("remove", str(gone), "DELETE", f"{NOTES}/{gone}")
        elif dice < 0.95:
            self.call("grant", mark, "PUT", f"{NOTES}/{self.random.choice(self.mine)}/rls-groups",
                      {"items": [{"group_id": self.world.readers}] if self.random.random() < 0.7 else []})
        else:
            self.call("shelf", mark, "PUT", f"/entities/shelves/items/{self.random.choice(self.world.shelves)}",
                      {"label": f"shelf {self.random.choice(WORDS)}"})


def rebuild(world):
    """Requests another generation of the index of notes, unless one is being built."""
    connection = world.servers.connect()
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"insert into {world.schema}.search_indexes (entity_id, state) select id, 'building' from "
                       f"{world.schema}.entities where name = 'notes' on conflict do nothing")
    connection.close()


def open_work(cursor, schema):
    cursor.execute(f"select (select count(*) from {schema}.outbox where pending & 2 <> 0) + (select count(*) from {schema}.search_work) "
                   f"+ (select count(*) from {schema}.search_indexes where state in ('building', 'dropped'))")
    return cursor.fetchone()[0]


def dump(world, query, cursor, folder):
    schema = world.schema
    entity = query(cursor, f"select id from {schema}.entities where name = 'notes'")[0]["id"]
    names = {row["name"]: row["id"] for row in query(cursor, f"select id, name from {schema}.fields where entity_id = {entity}")}
    shelves = query(cursor, f"select e.id, f.id as label from {schema}.entities e join {schema}.fields f on f.entity_id = e.id "
                            f"where e.name = 'shelves'")[0]
    live = f"(select x.id from {schema}.search_indexes x where x.entity_id = {entity} and x.state = 'live')"
    data = {
        "fields": [names["title"], names["body"], names["shelf"]],
        "indexes": query(cursor, f"select id, state, field_ids, documents, error from {schema}.search_indexes where entity_id = {entity}"),
        "notes": query(cursor, f"select t.id, t.created_by as owner, t.f_{names['mark']} as mark, t.f_{names['title']} as title, "
                               f"t.f_{names['body']} as body, s.f_{shelves['label']} as shelf from {schema}.e_{entity} t "
                               f"left join {schema}.e_{shelves['id']} s on s.id = t.f_{names['shelf']}"),
        "grants": query(cursor, f"select record_id, kind, grantee_id from {schema}.record_grants where entity_id = {entity}"),
        "terms": {row["id"]: row["term"] for row in query(cursor, f"select id, term from {schema}.search_terms")},
        "docs": query(cursor, f"select record_id, encode(terms, 'hex') as terms from {schema}.search_docs where idx in {live}"),
        "leaves": query(cursor, f"select term_id, field, base, n, encode(docs, 'hex') as docs from {schema}.search_postings "
                                f"where idx in {live} order by term_id, field, base"),
        "pending": open_work(cursor, schema),
    }
    (folder / "searches.json").write_text(json.dumps(data))
    return data

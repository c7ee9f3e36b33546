"""Changes that affect many records, other projects during a flood, purges, and writers with an outdated model."""
import time

import pytest
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.search import Index
from groundwork.soon import settle

BOOKS = "/entities/books/items"


def column(entity, name):
    return next(f"f_{field['id']}" for field in entity["fields"] if field["name"] == name)


def insert(index, entity, count, name="title", extra="", values=""):
    """Inserts records without events."""
    index.execute(f"insert into {{p}}.e_{entity['id']} (created_by, {column(entity, name)}{extra}) "
                  f"select 1, 'walnut ' || n{values} from generate_series(1, {count}) n")


def rebuild(index, entity):
    before = index.live_generation(entity)
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", entity["id"])
    index.wait(lambda: index.live_generation(entity) not in (None, before), within=20)
    index.settle(within=20)


def test_a_removal_that_takes_more_along_than_is_looked_through(project, index, indexer):
    index.entity("authors", name={"type": "varchar"})
    books = index.entity("books", title={"type": "varchar", "searchable": True},
                         author={"type": "relation", "options": {"entity": "authors", "on_delete": "cascade"}})
    index.wait_built(books)
    ann, bob = [project.admin.post("/entities/authors/items", {"name": name}, expect=201).json()["id"] for name in ("Ann", "Bob")]
    insert(index, books, 10_050, extra=f", {column(books, 'author')}", values=f", {ann}")
    insert(index, books, 10, extra=f", {column(books, 'author')}", values=f", {bob}")
    rebuild(index, books)
    assert len(index.find(books, "walnut")) == 10_060
    project.admin.delete(f"/entities/authors/items/{ann}", expect=204)
    index.wait(lambda: len(index.find(books, "walnut")) == 10, within=20)
    index.settle()
    index.check(books)


def test_a_target_that_many_refer_to(project, index, indexer):
    index.entity("authors", name={"type": "varchar"})
    books = index.entity("books", title={"type": "varchar", "searchable": True},
                         author={"type": "relation", "searchable": True, "options": {"entity": "authors", "on_delete": "set_null"}})
    index.wait_built(books)
    ann = project.admin.post("/entities/authors/items", {"name": "Ann Smith"}, expect=201).json()["id"]
    insert(index, books, 2500, extra=f", {column(books, 'author')}", values=f", {ann}")
    rebuild(index, books)
    assert len(index.find(books, "smith")) == 2500
    project.admin.put(f"/entities/authors/items/{ann}", {"name": "Ann Jones"}, expect=200)
    index.wait(lambda: len(index.find(books, "jones")) == 2500)
    index.settle()
    assert index.find(books, "smith") == set()


def test_what_was_granted_to_a_role_that_goes(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    role = project.role("Readers")["id"]
    insert(index, books, 2500)
    index.execute(f"insert into {{p}}.record_grants (entity_id, record_id, kind, grantee_id) select {books['id']}, id, 3, {role} from "
                  f"{{p}}.e_{books['id']}")
    rebuild(index, books)
    assert len(index.find(books, f"@r{role}")) == 2500
    project.admin.delete(f"/roles/{role}", expect=204)
    index.wait(lambda: not index.find(books, f"@r{role}"))
    index.settle()
    index.check(books, "title")


def test_members_cost_nothing(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    index.settle()
    group = project.admin.post("/groups", {"name": "readers"}, expect=201).json()["id"]
    user = project.user()
    project.admin.post(f"/groups/{group}/members", {"user_ids": [user.user["id"]]})
    assert index.rows("select (select count(*) from {p}.outbox) + (select count(*) from {p}.search_work where kind <> 'check')")[0][0] == 0


@pytest.mark.full
def test_beside_a_flood(project, index, indexer, gateway, operator, recorder, db, servers):
    """Another project's record, and the newest record of the flooded project, are indexed before the flood ends."""
    books = index.entity()
    index.wait_built(books)
    insert(index, books, 12_000)
    other = Project(gateway, operator, recorder)
    theirs = Index(other, db, servers.folder)
    their_books = theirs.entity()
    theirs.wait_built(their_books)
    index.settle()
    index.execute(f"insert into {{p}}.outbox (pending, event, entity_id, record_id, payload) select 2, 'EntityUpdated', {books['id']}, id, '{{{{}}}}' "
                  f"from {{p}}.e_{books['id']}")
    newest = project.admin.post(BOOKS, {"title": "astrolabe"}, expect=201).json()["id"]
    single = other.admin.post(BOOKS, {"title": "astrolabe"}, expect=201).json()["id"]
    theirs.wait(lambda: single in theirs.find(their_books, "astrolabe"))
    index.wait(lambda: newest in index.find(books, "astrolabe"))
    assert index.rows("select 1 from {p}.outbox where pending & 2 <> 0 limit 1"), "the record was found only after the flood"
    index.settle(within=40)
    index.check(books, "title")


def test_purged(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    insert(index, books, 100)
    rebuild(index, books)
    index.execute("update {p}.search_indexes set state = 'dropped' where entity_id = %s and state in ('live', 'building', 'failed')",
                  books["id"])
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'purged') on conflict do nothing", books["id"])
    project.admin.post(BOOKS, {"title": "walnut again"}, expect=201)
    index.settle()
    assert index.live_generation(books) is None and index.rows("select count(*) from {p}.search_postings")[0][0] == 0
    assert index.rows("select count(*) from {p}.search_terms")[0][0] == 0
    project.admin.post("/entities/books/fields", {"name": "more", "type": "varchar", "searchable": True}, expect=201)
    time.sleep(1)
    index.settle()
    assert index.live_generation(books) is None, "the index stays purged"
    rebuild(index, books)
    assert len(index.find(books, "walnut")) == 101
    assert [state for state in index.state(books)] == ["live"]


def test_writers_who_did_not_know(project, index, indexer):
    """Records are indexed although they have no row in the outbox, as written by a process that read the model before the
    entity was searchable."""
    books = index.entity()
    index.wait_built(books)
    insert(index, books, 3)
    index.wait(lambda: len(index.find(books, "walnut")) == 3, within=20)


def test_only_indexers_are_notified_of_what_nobody_else_takes(project, index, db, redis_client):
    books = index.entity()
    index.wait_built(books)
    settle()
    (partition,), = index.rows("select partition from platform.projects where slug = %s", project.id)
    told = lambda topic: redis_client.xlen(f"{topic}:{{p{partition}}}") if redis_client.exists(f"{topic}:{{p{partition}}}") else 0
    others, indexers = told("evt"), told("search")
    project.admin.post(BOOKS, {"title": "walnut"}, expect=201)
    until(lambda: told("search") > indexers, "indexers are notified")
    assert told("evt") == others


def test_records_of_many_words(project, index, indexer):
    """Records with more words than one transaction takes are indexed in several; the last one removes the outbox rows."""
    books = index.entity()
    index.wait_built(books)
    index.settle()
    notes = column(books, "notes")
    for step in (7, 11):
        index.execute(f"truncate {{p}}.e_{books['id']}") if step == 11 else None
        index.execute(f"insert into {{p}}.e_{books['id']} (id, {notes}) overriding system value select n, (select string_agg('w' || (k + n * {step}),"
                      " ' ') from generate_series(1, 20000) k) from generate_series(1, 40) n")
        index.execute(f"insert into {{p}}.outbox (pending, event, entity_id, record_id, payload) select 2, 'EntityUpdated', {books['id']}, id,"
                      f" '{{{{}}}}' from {{p}}.e_{books['id']}")
        index.settle(within=60)
        assert index.rows("select sum(n), count(distinct idx) from {p}.search_postings where field > 0")[0] == (800_000, 1)
        assert index.find(books, f"w{20 * step}") == {n for n in range(1, 41) if 20 * step > n * step}
        assert index.rows("select count(*) from {p}.search_docs")[0][0] == 40

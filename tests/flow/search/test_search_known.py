"""Caches of indexes and settings: no answer comes from a stale cache, and a search with a warm cache needs no statement to read
them."""
import contextlib
import re

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.searching import wait_indexed, find_ids, search

FIELDS = [{"name": "title", "type": "varchar", "searchable": True}, {"name": "remark", "type": "text", "searchable": True}]
ROUNDS = 40


@pytest.fixture
def books(project, db, indexer):
    project.entity("books", FIELDS)
    project.number = project.item("books", title="Blue chair", remark="lantern")["id"]
    wait_indexed(project, db, "books")
    for _ in range(8):  # enough searches that both workers have answered some
        assert find_ids(project.admin, "chair") == [project.number]
    return project


@contextlib.contextmanager
def told(servers, indexer):
    """Makes PostgreSQL log each statement while no indexer runs; yields a function that returns the statements since its last
    call."""
    indexer.stop()
    root = servers.connect(superuser=True)
    log = open(f"{root.info.host}/log", errors="replace")

    def since():
        """Returns the statements that were logged since the last call."""
        return re.split(r"^\d{4}-\d\d-\d\d .*?\] LOG:  execute ", log.read(), flags=re.M)[1:]

    try:
        execute(root, "alter system set log_statement = 'all'")
        execute(root, "select pg_reload_conf()")
        until(lambda: rows(root, "show log_statement") == [("all",)], "statements are not logged")
        yield since
    finally:
        execute(root, "alter system reset log_statement")
        execute(root, "select pg_reload_conf()")
        root.close()
        log.close()
        indexer.start()


@pytest.mark.parametrize("path, q, most", [("/search", '"chair"', 2), ("/search/suggest", "blue chai", 1)])
def test_statements_of_a_search(books, db, servers, indexer, path, q, most):
    """A search takes one statement to find terms and read lists and one to fetch the page, also for callers under row rules."""
    caller = books.user(entities=["books"])
    books.item("books", client=caller, title="Blue chairs, a chair")
    wait_indexed(books, db, "books")
    schema = books.schema(db)
    with told(servers, indexer) as since:
        for client in (books.admin, caller):
            ask = lambda: client.get(path, params={"q": q, "e": "books"}, expect=200).json()["items"]
            assert all([ask() for _ in range(8)])
            since()
            assert all([ask() for _ in range(ROUNDS)])
            spent = [statement for statement in since() if f"{schema}." in statement]
            assert ROUNDS * most <= len(spent) <= (most + 0.5) * ROUNDS, (len(spent), spent)


def test_an_index_that_is_new(books, db):
    """A search finds the records of an entity as soon as it has an index, next to an entity whose index is cached."""
    books.entity("plans", FIELDS)
    wait_indexed(books, db, "books", "plans")
    plan = books.item("plans", title="Blue chair")["id"]
    wait_indexed(books, db, "books", "plans")
    for _ in range(8):
        assert sorted(find_ids(books.admin, "chair")) == sorted([books.number, plan])
        assert find_ids(books.admin, "chair", e="plans") == [plan]


def test_an_index_that_is_exchanged_or_gone(books, db):
    schema = books.schema(db)
    for _ in range(3):
        execute(db, f"update {schema}.search_indexes set id = id + 1000 where state = 'live'")
        execute(db, f"update {schema}.search_postings set idx = idx + 1000")
        execute(db, f"update {schema}.search_docs set idx = idx + 1000")
        for _ in range(4):
            assert find_ids(books.admin, "chair") == [books.number]
    books.admin.delete("/search/purge/books", expect=204)
    for _ in range(4):
        assert find_ids(books.admin, "chair") == []
        assert books.admin.get("/search/suggest", params={"q": "cha"}, expect=200).json()["items"] == []


def test_settings_hold_at_once(books):
    """Each change of the settings holds at once in both workers, although they cache settings."""
    for number in range(6):
        words = {"synonyms": [{"words": ["stool", "chair"]}]} if number % 2 == 0 else {"synonyms": None}
        books.admin.put("/search/settings", words, expect=200)
        for _ in range(4):
            assert find_ids(books.admin, "stool") == ([books.number] if number % 2 == 0 else [])


def test_the_public_is_let_in_and_out_at_once(books):
    books.admin.put("/entities/books", {"public_read": True}, expect=200)
    for number in range(6):
        books.admin.put("/search/settings", {"public": number % 2 == 0}, expect=200)
        for _ in range(4):
            search(books.client(), "chair", public=True, expect=200 if number % 2 == 0 else 404)


def test_fields_of_queries(books, db):
    """A word before a colon names a field as soon as the index has that field."""
    assert find_ids(books.admin, "remark:lantern") == [books.number] and find_ids(books.admin, "shelf:lantern") == []
    field = {"name": "shelf", "type": "varchar", "searchable": True}
    books.admin.post("/entities/books/fields", field, expect=201)
    wait_indexed(books, db, "books")
    books.admin.put(f"/entities/books/items/{books.number}", {"shelf": "walnut"}, expect=200)
    wait_indexed(books, db, "books")
    for _ in range(4):
        assert find_ids(books.admin, "shelf:walnut") == [books.number] and find_ids(books.admin, "shelf:lantern") == []

"""Rebuilds of two projects in one process: no other indexer runs beside it."""
import time

import pytest
from groundwork.project import Project
from groundwork.records import column, execute
from groundwork.search import Index


@pytest.fixture
def both(project, index, gateway, operator, recorder, db, servers):
    """Two projects, each with its entity."""
    theirs = Index(Project(gateway, operator, recorder), db, servers.folder)
    return [(index, index.entity()), (theirs, theirs.entity())]


def insert(index, entity, count):
    """Records behind everybody's back."""
    index.execute(f"insert into {{p}}.e_{entity['id']} (created_by, {column(entity, 'title')}) "
                  f"select 1, 'walnut ' || n from generate_series(1, {count}) n")


def test_rebuilds_take_turns(both, start_indexer):
    """They do not fit its memory at once."""
    running = start_indexer(INDEX_PAGE=100, INDEX_BYTES=1048576)
    for one, entity in both:
        one.ready(entity, 60)
        insert(one, entity, 3000)
        one.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", entity["id"])
    for one, entity in both:
        one.settle(120)
        one.wait(lambda: len(one.find(entity, "walnut")) == 3000, 30)
        one.check(entity, "title")
    running.stop()


def die_in_a_rebuild(index, entity):
    """As a process that did leaves it: a generation, and behind its cursor a leaf."""
    index.execute("insert into {p}.search_indexes (entity_id, state, shape, field_ids, total, began_at) select entity_id, 'building', shape,"
                  " field_ids, 2000, now() from {p}.search_indexes where entity_id = %s and state = 'live'", entity["id"])
    index.execute("insert into {p}.search_postings select id, 1, 1, 5, 1, '\\x0105' from {p}.search_indexes where state = 'building'")


def test_rebuilds_that_begin_at_once(both, start_indexer, servers):
    """Both wait for the database as they begin: one of them has the process's memory, and the other leaves it alone."""
    running = start_indexer()
    held = []
    for one, entity in both:
        one.ready(entity, 60)
        one.settle()
        insert(one, entity, 2000)
    running.stop()
    for one, entity in both:
        one.execute("delete from {p}.search_work")
        die_in_a_rebuild(one, entity)
        held.append(servers.connect())
        held[-1].autocommit = False
        execute(held[-1], f"select 1 from {one.p}.search_postings where base = 5 for update")

    def waits(connection):
        return both[0][0].rows("select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", connection.info.backend_pid) != []

    def built(one, count):
        return one.rows("select 1 from {p}.search_indexes where state = 'building' and documents >= %s", count) != []

    start_indexer(INDEX_PAGE=10)
    both[0][0].wait(lambda: any(map(waits, held)), 60)
    soon(lambda: all(map(waits, held)))
    first = next(n for n, connection in enumerate(held) if waits(connection))
    (one, entity), (other, _) = both[first], both[1 - first]
    held[first].rollback()
    one.wait(lambda: built(one, 100))
    execute(held[first], f"lock table {one.p}.e_{entity['id']} in access exclusive mode")
    one.wait(lambda: waits(held[first]))
    held[1 - first].rollback()
    soon(lambda: built(other, 10))
    held[first].rollback()
    for one, entity in both:
        one.settle(120)
        assert len(one.find(entity, "walnut")) == 2000
        one.check(entity, "title")
    for connection in held:
        connection.close()


def soon(condition):
    """What may not come at all."""
    since = time.monotonic()
    while not condition() and time.monotonic() - since < 1:
        time.sleep(0.01)

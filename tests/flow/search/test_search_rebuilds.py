"""Rebuilds of two projects in one process, while no other indexer runs."""
import time

import pytest
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.records import column, execute
from groundwork.search import Index


@pytest.fixture
def both(project, index, gateway, operator, recorder, db, servers):
    """Two projects, each with an entity, as [(index, entity), ...]."""
    theirs = Index(Project(gateway, operator, recorder), db, servers.folder)
    return [(index, index.entity()), (theirs, theirs.entity())]


def insert(index, entity, count):
    """Inserts records without events."""
    index.execute(f"insert into {{p}}.e_{entity['id']} (created_by, {column(entity, 'title')}) "
                  f"select 1, 'walnut ' || n from generate_series(1, {count}) n")


def test_rebuilds_take_turns(both, start_indexer):
    """Rebuilds that together exceed the indexer's memory are done one after the other."""
    running = start_indexer(INDEX_PAGE=100, INDEX_BYTES=1048576)
    for one, entity in both:
        one.wait_built(entity)
        insert(one, entity, 3000)
        one.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", entity["id"])
    for one, entity in both:
        one.settle(within=20)
        one.wait(lambda: len(one.find(entity, "walnut")) == 3000)
        one.check(entity, "title")
    running.stop()


def insert_generation(index, entity, state, cursor, idx=1000):
    """Inserts a second generation of an index, with rows of its own, and returns its id."""
    index.execute(f"insert into {{p}}.search_postings select {idx}, t, f, 1 + t, 1, '\\x0100' from generate_series(1, 6000) t,"
                  " generate_series(0, 1) f")
    index.execute(f"insert into {{p}}.search_docs select {idx}, n, '\\x000101' from generate_series(1, 11000) n")
    index.execute("insert into {p}.search_indexes (id, entity_id, state, shape, field_ids, total, began_at, cursor_id, documents) select %s, entity_id,"
                  " %s, shape, field_ids, 2000, now(), %s, 11000 from {p}.search_indexes where entity_id = %s and state = 'live'",
                  idx, state, cursor, entity["id"])
    return idx


def count_left(index, idx):
    return index.rows("select (select count(*) from {p}.search_postings where idx = %s), (select count(*) from {p}.search_docs where idx = %s)",
                      idx, idx)[0]


def test_what_stands_behind_the_cursor_of_a_rebuild_goes(project, index, start_indexer):
    """A rebuild removes all rows after its cursor, also if they are more than one step removes."""
    running = start_indexer()
    books = index.entity()
    index.wait_built(books)
    insert(index, books, 300)
    index.settle()
    running.stop()
    idx = insert_generation(index, books, "building", 0)
    assert count_left(index, idx) == (12_000, 11_000)
    running = start_indexer(INDEX_PAGE=50)
    index.wait(lambda: index.live_generation(books) == idx)
    index.settle()
    index.check(books)
    running.stop()


@pytest.mark.parametrize("cursor", [0, 5, 777])
def test_all_that_a_generation_had_goes(project, index, start_indexer, cursor):
    """All rows of a dropped generation are removed, also if they are more than one step removes, wherever its cursor was."""
    running = start_indexer()
    books = index.entity()
    index.wait_built(books)
    idx = insert_generation(index, books, "dropped", cursor)
    project.admin.post("/entities/books/items", {"title": "walnut"}, expect=201)
    index.settle()
    assert count_left(index, idx) == (0, 0)
    assert len(index.find(books, "walnut")) == 1
    index.check(books)
    running.stop()


def records(row):
    """Returns the words of a row of the lexicon."""
    row, found = bytes(row), []
    while row:
        found.append(row[6:6 + row[5]].decode())
        row = row[6 + row[5]:]
    return found


def test_prefixes_of_many_words(project, index, start_indexer):
    """After a rebuild, prefixes of one, two and three letters have the words with the highest counts over all records."""
    running = start_indexer()
    books = index.entity()
    index.wait_built(books)
    index.execute(f"insert into {{p}}.e_{books['id']} (created_by, {column(books, 'title')}) select 1, 'zqa' || chr(97 + n / 26) || chr(97 + n % 26)"
                  " || ' common zq' || case when n % 2 = 0 then 'bb' else 'cc' end from generate_series(0, 99) n".replace("%", "%%"))
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", books["id"])
    index.settle()
    index.wait(lambda: len(index.find(books, "common")) == 100)
    index.settle()
    rows = dict(index.rows("select key, data from {p}.search_lexicon where key like '*%%' and octet_length(data) > 0"))
    assert sorted(rows) == ["*z", "*zq", "*zqa"]
    for key, row in rows.items():
        words = records(row)
        assert len(words) == 64 and len(set(words)) == 64
        assert words[:2] == ["zqbb", "zqcc"] if key != "*zqa" else all(word.startswith("zqa") for word in words), words
    running.stop()


def test_records_change_while_pages_are_read_ahead(project, index, start_indexer):
    """Changes during a rebuild are indexed: changes before a record is read, after it was read, and after the last page."""
    running = start_indexer()
    books = index.entity()
    index.wait_built(books)
    insert(index, books, 8000)
    index.settle()
    running.stop()
    before = index.live_generation(books)
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", books["id"])
    running = start_indexer(INDEX_PAGE=10, INDEX_BYTES=1048576)
    changed = 0
    while index.live_generation(books) == before:
        for record in (1, 8000 - changed, 10 * changed % 8000 + 1):
            project.admin.put(f"/entities/books/items/{record}", {"title": f"cotton {changed}"}, expect=200)
        project.admin.post("/entities/books/items", {"title": f"linen {changed}"}, expect=201)
        changed += 1
    index.settle()
    assert changed > 0
    assert len(index.find(books, "linen")) == changed
    index.check(books)
    running.stop()


def die_in_a_rebuild(index, entity):
    """Leaves what a process leaves that dies in a rebuild: a generation, and a list after its cursor."""
    index.execute("insert into {p}.search_indexes (entity_id, state, shape, field_ids, total, began_at) select entity_id, 'building', shape,"
                  " field_ids, 2000, now() from {p}.search_indexes where entity_id = %s and state = 'live'", entity["id"])
    index.execute("insert into {p}.search_postings select id, 1, 1, 5, 1, '\\x0105' from {p}.search_indexes where state = 'building'")


def test_rebuilds_that_begin_at_once(both, start_indexer, servers):
    """Two rebuilds wait for the database as they begin: one gets the process's memory, and the other does not touch that
    memory."""
    running = start_indexer()
    held = []
    for one, entity in both:
        one.wait_built(entity)
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
    both[0][0].wait(lambda: any(map(waits, held)))
    watch_for(lambda: all(map(waits, held)))
    first = next(n for n, connection in enumerate(held) if waits(connection))
    (one, entity), (other, _) = both[first], both[1 - first]
    held[first].rollback()
    one.wait(lambda: built(one, 100))
    execute(held[first], f"lock table {one.p}.e_{entity['id']} in access exclusive mode")
    one.wait(lambda: waits(held[first]))
    held[1 - first].rollback()
    watch_for(lambda: built(other, 10))
    held[first].rollback()
    for one, entity in both:
        one.settle(within=20)
        assert len(one.find(entity, "walnut")) == 2000
        one.check(entity, "title")
    for connection in held:
        connection.close()


def test_a_record_of_too_many_words(project, index, start_indexer):
    """A record of too many words is found by its first fields; where its indexed words end depends on its text alone."""
    running = start_indexer(LEASE_MS=60000)
    books = index.entity("books", **{f"part{n}": {"type": "text", "searchable": True} for n in range(5)})
    index.wait_built(books)
    columns = {f"f_{field['id']}": n for n, field in enumerate(books["fields"])}
    texts = ", ".join(f"(select string_agg('w' || (k + {n} * 100000), ' ') from generate_series(1, 30000) k)" for n in columns.values())
    index.execute(f"insert into {{p}}.e_{books['id']} (id, {', '.join(columns)}) overriding system value select 1000, {texts}")
    index.execute(f"insert into {{p}}.outbox (pending, event, entity_id, record_id, payload) select 2, 'EntityCreated', {books['id']}, id,"
                  f" '{{{{}}}}' from {{p}}.e_{books['id']}")
    index.settle(within=20)
    (words,), = index.rows("select sum(n) from {p}.search_postings where field > 0")
    assert 50_000 <= words <= 100_000
    for n, found in ((0, True), (1, True), (4, False)):
        assert bool(index.find(books, f"w{n * 100000 + 30000}")) == found, n
    index.execute(f"insert into {{p}}.e_{books['id']} ({next(iter(columns))}) select 'others w' || n from generate_series(1, 30) n")
    done = running.run("--verify", project.id, timeout=120)
    assert "31 records, 30 with outdated words, 0 lists" in done.stdout, "the limit is the same although other words came first"
    running.stop()


def watch_for(condition):
    """Waits up to a second for a condition that may never hold."""
    since = time.monotonic()
    while not condition() and time.monotonic() - since < 1:
        time.sleep(0.01)


def read_of(index, entity, least=0):
    """Returns how many rows statements have read from the entity's records and documents; waits until they are at least `least`
    and ending sessions have reported all of theirs."""
    statement = ("select sum(coalesce(t.seq_tup_read, 0)) + (select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.schemaname = '{p}'"
                 f" and i.relname in ('e_{entity['id']}', 'search_docs')) from pg_stat_user_tables t where t.schemaname = '{{p}}'"
                 f" and t.relname in ('e_{entity['id']}', 'search_docs')")
    taken = []

    def is_all():
        taken.append(int(index.rows(statement)[0][0]))
        return len(taken) > 2 and taken[-3] == taken[-1] >= least

    until(is_all, lambda: taken, pause=0.5)
    return taken[-1]


def test_a_check_reads_each_record_some_times(project, index, start_indexer):
    """A check reads each record a few times, not once in each of its three hundred steps."""
    count = 3000
    running = start_indexer()
    books = index.entity()
    index.wait_built(books)
    insert(index, books, count)
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", books["id"])
    index.wait(lambda: len(index.find(books, "walnut")) == count)
    index.execute("update {p}.search_work set due_at = now()")  # the work that follows a first build is due at once
    index.wait(lambda: not index.rows("select 1 from {p}.search_work") and not index.has_work())
    running.stop()
    before = read_of(index, books)
    running = start_indexer(INDEX_BATCH=10)
    index.execute("insert into {p}.search_work (kind, entity_id) values ('check', %s)", books["id"])
    project.admin.post("/entities/books/items", {"title": "bell"}, expect=201)
    index.wait(lambda: not index.rows("select 1 from {p}.search_work"))
    running.stop()
    taken = read_of(index, books, before + 2 * count) - before
    assert taken <= 50 * count, taken


def test_a_removal_while_records_are_looked_through(project, index, servers, start_indexer):
    """Records that a check has read before a removal are checked again; several waiting checks become one."""
    running = start_indexer(STATEMENT_TIMEOUT_MS=60000)
    index.entity("authors", name={"type": "varchar"})
    books = index.entity("books", title={"type": "varchar", "searchable": True},
                         author={"type": "relation", "options": {"entity": "authors", "on_delete": "cascade"}})
    index.wait_built(books)
    authors = [project.admin.post("/entities/authors/items", {"name": name}, expect=201).json()["id"] for name in ("Ann", "Bob", "Eve")]
    for author in authors:
        index.execute(f"insert into {{p}}.e_{books['id']} (created_by, {column(books, 'title')}, {column(books, 'author')}) "
                      f"select 1, 'walnut ' || n, {author} from generate_series(1, 10050) n")
    insert(index, books, 10)
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", books["id"])
    project.admin.post("/entities/books/items", {"title": "bell"}, expect=201)
    index.wait(lambda: len(index.find(books, "walnut")) == 30_160)
    index.execute("update {p}.search_work set due_at = now()")  # the work that follows a first build is due at once
    index.wait(lambda: not index.rows("select 1 from {p}.search_work") and not index.has_work())
    waits = servers.connect()
    execute(waits, "select pg_advisory_lock(77)")
    index.execute("create function {p}.slow() returns trigger language plpgsql as 'begin while not pg_try_advisory_xact_lock_shared(77) loop"
                  " perform pg_sleep(0.02); end loop; return new; end'")
    index.execute("create trigger slow before update on {p}.search_work for each row execute function {p}.slow()")
    index.execute("insert into {p}.search_work (kind, entity_id) values ('check', %s)", books["id"])
    project.admin.post("/entities/books/items", {"title": "bell"}, expect=201)
    index.wait(lambda: index.rows("select count(*) from pg_stat_activity where wait_event = 'PgSleep'")[0][0])
    for author in authors:
        project.admin.delete(f"/entities/authors/items/{author}", expect=204)
    waits.close()
    index.wait(lambda: index.rows("select count(*) from {p}.search_work")[0][0] == 1)
    index.wait(lambda: len(index.find(books, "walnut")) == 10, within=20)
    index.settle()
    index.check(books)
    running.stop()

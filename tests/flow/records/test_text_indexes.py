"""Indexes of texts in the order of the project's locale: for new fields, in projects without them, for another locale, and
after a kill."""
import pytest
from groundwork.chaos import kill
from groundwork.deadline import until
from groundwork.records import column, execute, rows, table
from groundwork.soon import settle

RUNNER = {"SWEEP_MS": 200}
ITEMS = "/entities/words/items"


@pytest.fixture
def words(project):
    return project.entity("words", [
        {"name": "w", "type": "varchar", "indexed": True}, {"name": "code", "type": "text", "unique": True, "options": {"max_length": 100}},
        {"name": "n", "type": "integer", "indexed": True}, {"name": "free", "type": "varchar"}], row_level_security=False)


def indexes(project, db, words):
    """Returns {column: collation} of the indexes for sorting, with "" for an index that is not finished."""
    found = rows(db, """
        select a.attname, case when i.indisvalid then o.collname else '' end
        from pg_index i join pg_class c on c.oid = i.indexrelid join pg_collation o on o.oid = i.indcollation[0]
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = %s::regclass and c.relname like 'c\\_%%'""", table(project, db, words))
    assert len(dict(found)) == len(found), found
    names = {column(words, field["name"]): field["name"] for field in words["fields"]}
    return {names[of]: name for of, name in found}


def made(name):
    return {"w": f"{name}-x-icu", "code": f"{name}-x-icu"}


def drop(project, db, words):
    """Drops the indexes, as in a project of an earlier release."""
    for (name,) in rows(db, "select c.oid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid "
                            "where i.indrelid = %s::regclass and c.relname like 'c\\_%%'", table(project, db, words)):
        execute(db, f"drop index {name}")
    assert indexes(project, db, words) == {}


def locale(project, name):
    project.admin.put("/", {"settings": {"locale": name}}, expect=200)
    settle()


def test_with_the_field(project, db, words):
    assert indexes(project, db, words) == made("und")
    project.admin.put("/entities/words/fields/w", {"indexed": False}, expect=200)
    assert "w" not in indexes(project, db, words)
    locale(project, "sv")
    project.admin.put("/entities/words/fields/w", {"indexed": True}, expect=200)
    project.admin.put("/entities/words/fields/free", {"unique": True}, expect=200)
    assert indexes(project, db, words) == {"w": "sv-x-icu", "code": "und-x-icu", "free": "sv-x-icu"}
    project.admin.put("/entities/words/fields/free", {"unique": False, "indexed": False}, expect=200)
    project.item("words", w="12", code="1")
    project.admin.put("/entities/words/fields/w", {"type": "integer"}, expect=200)
    assert indexes(project, db, words) == {"code": "und-x-icu"}
    project.admin.delete("/entities/words/fields/code", expect=204)
    assert indexes(project, db, words) == {}


def test_a_large_table_waits_for_a_runner(project, db, words, start_test_runner):
    """A change of the model blocks other requests, so it makes only indexes of small tables; a runner makes those of large
    tables."""
    name, key = table(project, db, words), column(words, "free")
    execute(db, f"insert into {name} ({key}) select md5(n::text) from generate_series(1, 60000) n")
    project.admin.put("/entities/words/fields/free", {"indexed": True}, expect=200)
    assert indexes(project, db, words) == made("und")
    start_test_runner()
    until(lambda: indexes(project, db, words) == {**made("und"), "free": "und-x-icu"}, within=20)


def test_of_a_project_that_had_none(project, db, words, start_test_runner):
    drop(project, db, words)
    execute(db, "delete from platform.text_index_checks")
    start_test_runner()
    until(lambda: indexes(project, db, words) == made("und"), within=20)
    until(lambda: rows(db, "select 1 from platform.text_index_checks l join platform.projects p on p.number = l.number where p.slug = %s", project.id))


def test_a_sorted_list_reads_the_index(project, db, words):
    name, key = table(project, db, words), column(words, "w")
    execute(db, f"insert into {name} ({key}) select case mod(n, 2) when 0 then 'same' else md5(n::text) end from generate_series(1, 20000) n")
    execute(db, f"analyze {name}")
    execute(db, f"delete from {name} where {key} is null")
    project.admin.put("/entities/words/fields/w", {"required": True}, expect=200)

    def scans():
        (scanned, read), = rows(db, "select sum(idx_scan)::bigint, sum(idx_tup_read)::bigint from pg_stat_user_indexes "
                                    "where relid = %s::regclass and indexrelname like 'c\\_%%'", name)
        return scanned, read

    cursor = project.admin.get(f"{ITEMS}?limit=20&sort=-w&cursor=start", expect=200).json()["next_cursor"]
    for query in ("sort=w", "sort=-w", "sort=w&filter[w][gt]=c", "sort=w&cursor=start", f"sort=-w&cursor={cursor}"):
        scanned, read = scans()
        until(lambda: project.admin.get(f"{ITEMS}?limit=20&count=false&{query}", expect=200) and scans()[0] > scanned, query)
        more, further = scans()
        assert (further - read) / (more - scanned) < 100, query


def test_another_locale(project, db, words, start_test_runner):
    start_test_runner()
    locale(project, "sv")
    until(lambda: indexes(project, db, words) == made("sv"), within=20)
    locale(project, None)
    until(lambda: indexes(project, db, words) == made("und"), within=20)


def test_what_is_not_of_a_field_goes(project, db, words, start_test_runner):
    """The runner drops an index of a field that is no longer indexed, as an earlier release leaves it, and replaces an index of
    another version of ICU, which would miss records."""
    execute(db, f"update {project.schema(db)}.fields set indexed = false where name = 'w'")
    stale, = rows(db, "select c.oid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid "
                      "where i.indrelid = %s::regclass and c.relname ~ %s", table(project, db, words), f"^c_{column(words, 'code')[2:]}_")
    execute(db, f"alter index {stale[0]} rename to c_{column(words, 'code')[2:]}_00000000")
    start_test_runner()
    until(lambda: indexes(project, db, words) == {"code": "und-x-icu"}
          and not rows(db, "select 1 from pg_class where relname like 'c\\_%%\\_00000000'"), within=20)


@pytest.fixture
def writer(project, db, words, servers):
    """A transaction on the table, without indexes, that blocks the end of every concurrent index build."""
    drop(project, db, words)
    held = servers.connect()
    held.autocommit = False
    with held.cursor() as cursor:
        cursor.execute(f"insert into {table(project, db, words)} ({column(words, 'w')}) values ('held')")
    yield held
    held.close()


def test_a_runner_that_ends_while_one_is_made(project, db, words, start_runner, start_test_runner, writer):
    """A runner that stops does not wait for the index, which PostgreSQL continues to build."""
    runner = start_runner(**RUNNER, DRAIN_TIMEOUT_MS=600000)
    until(lambda: "" in indexes(project, db, words).values(), within=20)
    runner.stop()
    assert "" in indexes(project, db, words).values()
    start_test_runner()
    writer.commit()
    until(lambda: indexes(project, db, words) == made("und"), within=30)


@pytest.mark.parametrize("ended", [True, False])
def test_a_runner_that_dies_while_one_is_made(project, db, words, start_test_runner, writer, ended):
    """A runner is killed while its index waits for a writing transaction; the index is then unfinished or complete, and the
    next runner finishes it, while other writes continue. `ended`: the PostgreSQL process is terminated as well, which would
    otherwise complete the index."""
    runner = start_test_runner()
    until(lambda: "" in indexes(project, db, words).values(), within=20)
    project.item("words", w="meanwhile", code="1")
    assert [item["w"] for item in project.admin.get(f"{ITEMS}?sort=w", expect=200).json()["items"]] == ["meanwhile"]
    kill(runner)
    making = "from pg_stat_activity a where a.query like 'create index concurrently c\\_%%' and a.state = 'active'"
    if ended:
        rows(db, f"select pg_terminate_backend(a.pid) {making}")
        until(lambda: not rows(db, f"select 1 {making}"))
    assert "" in indexes(project, db, words).values()
    start_test_runner()
    start_test_runner()
    writer.commit()
    until(lambda: indexes(project, db, words) == made("und"), within=30)
    assert [item["w"] for item in project.admin.get(f"{ITEMS}?sort=w", expect=200).json()["items"]] == ["held", "meanwhile"]

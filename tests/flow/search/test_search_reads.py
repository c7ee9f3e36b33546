"""Statements with which searches read lists are planned once. PostgreSQL plans a statement at each call if it estimates that a
plan for any values costs more than a plan for the present values; planning takes several times as long as the statement."""
import pytest
from groundwork.plans import array, statements

SQL = "services/api-gateway/areas/search/search.sql"
TERMS = "array['w100', 'w200', 'w300', 'w400']"
LISTS = {"term_ids": array(100, 4), "terms": 4, "fields": array(1, 4), "lists": 4}
READS = {
    "search_plain": {"terms": TERMS, "prefix": "'w100'", "candidates": 4096, "limit": 64, "postings": 700000, "most": 68,
                     "targets": 1, "live_ids": "array[1]::bigint[]",
                     "entity_ids": "array[1]::bigint[]", "indexes": "array[1, 1, 1, 1]::bigint[]", "fields": array(1, 4), "lists": 4},
    "search_terms_find": {"terms": TERMS, "count": 4},
    "search_terms_prefix": {"prefix": "'w100'", "candidates": 4096, "limit": 64},
    "search_lexicon_rows": {"keys": TERMS, "count": 4},
    "search_leaves": {"idx": 1, **LISTS},
    "search_window": {"idx": 1, **LISTS, "from": 500},
    "search_top": {"idx": 1, **LISTS},
}
ROUNDS = 12  # the first five are planned for their values


@pytest.fixture
def cursor(project, db):
    """Tables with an index of some thousand words, as a connection finds them. Autovacuum is off, because new statistics would
    cause new plans."""
    cursor, schema = db.cursor(), project.schema(db)
    cursor.execute(f"""
      insert into {schema}.search_postings (idx, term_id, field, base, n, docs)
        select 1, n, f, b * 1000, 1, decode(repeat('01', 1000), 'hex') from generate_series(1, 2000) n, generate_series(1, 2) f, generate_series(0, 2) b;
      insert into {schema}.search_terms (id, term, df) select n, 'w' || n, 1 from generate_series(1, 20000) n;
      insert into {schema}.search_lexicon (key, part, data) select 'w' || n, 0, decode(repeat('01', 1000), 'hex') from generate_series(1, 2000) n;
      alter table {schema}.search_postings set (autovacuum_enabled = false);
      alter table {schema}.search_terms set (autovacuum_enabled = false);
      alter table {schema}.search_lexicon set (autovacuum_enabled = false);
      analyze {schema}.search_postings; analyze {schema}.search_terms; analyze {schema}.search_lexicon""")
    return cursor


@pytest.mark.parametrize("name", READS)
def test_a_read_keeps_its_plan(project, db, cursor, name):
    statement = statements(SQL)[name]
    types = ", ".join(kind for _, kind, _ in statement.params)
    values = ", ".join(str(READS[name][param]) for param, _, _ in statement.params)
    cursor.execute(f"prepare {name} ({types}) as {statement.text.replace('{p}', project.schema(db))}")
    for _ in range(ROUNDS):
        cursor.execute(f"execute {name} ({values})")
        assert cursor.fetchall()
    cursor.execute("select generic_plans, custom_plans from pg_prepared_statements where name = %s", [name])
    assert cursor.fetchone() == (ROUNDS - 5, 5)

"""Statements of the indexer read only the rows that they write, also with plans that were made while the tables were small."""
import pytest

from groundwork.plans import array, current_plans, texts

ROWS = 40000
SQL = "services/search-indexer/"
LISTS = {"idx": 1, "terms": array(7001), "fields": "array_fill(1::bigint, array[100])"}
BYTES = {"ns": "array_fill(1::bigint, array[100])", "ats": "array_fill(1::bigint, array[100])", "lens": "array_fill(2::bigint, array[100])",
         "data": r"'\x0101'"}


def fill(cursor, schema, first, last):
    """Inserts, for each number, a list in two generations, a document, a term and a row of the lexicon."""
    cursor.execute(f"""
      insert into {schema}.search_postings (idx, term_id, field, base, n, docs)
        select g, n, 1, 0, 1, '\\x0101' from generate_series({first}, {last}) n, generate_series(1, 2) g;
      insert into {schema}.search_docs (idx, record_id, terms) select 1, n, '\\x010101' from generate_series({first}, {last}) n;
      insert into {schema}.search_terms (id, term, df) select n, 'w' || n, 1 from generate_series({first}, {last}) n;
      insert into {schema}.search_lexicon (key, part, data) select 'w' || n, 0, '' from generate_series({first}, {last}) n""")


def places(cursor, schema):
    cursor.execute(f"select array_agg(ctid::text) from {schema}.search_postings where idx = 1 and term_id between 7001 and 7100")
    found = cursor.fetchone()[0]
    return "array[" + ",".join(f"'{place}'" for place in found) + "]" if found else texts("'(0,1)'")


@pytest.mark.parametrize("rows", [0, 20, ROWS // 2])
def test_plans_of_small_tables(unused_project, db, rows):
    cursor, schema = db.cursor(), unused_project.schema(db)
    fill(cursor, schema, 1, rows)
    with current_plans(cursor, schema, ("search_postings", "search_docs", "search_terms", "search_lexicon")) as plans:
        keep, before = plans.prepare, places(cursor, schema)
        keep(SQL + "batch.sql", "leaves_read", {**LISTS, "los": array(5), "his": array(50)})
        keep(SQL + "batch.sql", "leaves_set", {**BYTES, "places": before})
        keep(SQL + "batch.sql", "leaves_put", {**LISTS, **BYTES, "bases": array(7)})
        keep(SQL + "batch.sql", "leaves_drop", {**LISTS, "bases": "array_fill(0::bigint, array[100])"})
        keep(SQL + "batch.sql", "words_count", {"ids": array(7001), "dfs": array(5)})
        keep(SQL + "index.sql", "build_leaves", {"idx": 1, "term": 7000, "field": 1, "base": 0, "most": 100})
        keep(SQL + "index.sql", "clear_leaves", {"idx": 1, "term": 7000, "most": 100})
        keep(SQL + "index.sql", "clear_docs", {"idx": 1, "after": 7000, "most": 100})
        fill(cursor, schema, rows + 1, ROWS)
        values, *others = plans.calls["leaves_set"]
        plans.calls["leaves_set"] = values.replace(before, places(cursor, schema)), *others
        plans.check()

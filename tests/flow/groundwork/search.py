"""The search index of a project: indexers, and the content of its tables."""
import time

import pytest

from .deadline import until
from .fixtures import starter
from .postings import forward_pairs, leaf_ids, words
from .records import execute, rows

__all__ = ["start_indexer", "indexer", "index"]


@pytest.fixture(scope="module")
def start_indexer(servers, session_gateway):
    """Starts a search-indexer: start_indexer(LEASE_MS=2000). All of them end with the file's tests; a sanitizer report in any
    log is an error."""
    yield from starter(servers, "search-indexer", lambda: dict(SWEEP_MS=200, LEASE_MS=3000))


@pytest.fixture(scope="module")
def indexer(start_indexer):
    """One indexer for the tests of a file."""
    return start_indexer()


@pytest.fixture
def index(project, db, servers):
    return Index(project, db, servers.folder)


class Index:
    def __init__(self, project, db, folder):
        self.project, self.db, self.p, self.folder = project, db, project.schema(db), folder

    def rows(self, statement, *values):
        return rows(self.db, statement.format(p=self.p), *values)

    def execute(self, statement, *values):
        execute(self.db, statement.format(p=self.p), *values)

    def entity(self, called="books", **fields):
        """Creates an entity with a searchable title and notes."""
        made = fields or {"title": {"type": "varchar", "searchable": True}, "notes": {"type": "text", "searchable": True},
                          "secret_plan": {"type": "secret"}, "price": {"type": "float"}}
        return self.project.admin.post(
            "/entities", {"name": called, "fields": [{"name": n, **f} for n, f in made.items()]}, expect=201).json()

    def state(self, entity):
        return {state: (idx, documents) for idx, state, documents in self.rows(
            "select id, state, documents from {p}.search_indexes where entity_id = %s order by id", entity["id"])}

    def live_generation(self, entity):
        found = self.rows("select id from {p}.search_indexes where entity_id = %s and state = 'live'", entity["id"])
        return found[0][0] if found else None

    def find(self, entity, term, field=None):
        """Ids of the records that the live generation lists for a term."""
        found = set()
        for base, docs in self.rows(
                "select p.base, p.docs from {p}.search_postings p join {p}.search_terms t on t.id = p.term_id where p.idx = %s"
                " and t.term = %s and (%s::int is null or p.field = %s)", self.live_generation(entity) or 0, term, field, field):
            found.update(leaf_ids(base, docs))
        return found

    def wait(self, condition, within=6):
        """Returns the seconds until the condition was true."""
        start = time.monotonic()
        until(condition, self.describe_state, within, pause=0.01)
        return time.monotonic() - start

    def describe_state(self):
        """The rows of the index's tables, and the last log lines of the indexers."""
        found = [self.rows(f"select * from {{p}}.{t} limit 20") for t in ("search_indexes", "search_lease", "search_work", "outbox")]
        logs = [line for log in self.folder.glob("search-indexer*.log") for line in log.read_text().splitlines()[-6:]]
        return "\n".join([*map(str, found), *logs])

    def wait_built(self, entity, within=6):
        return self.wait(lambda: self.live_generation(entity) and not self.has_work(), within)

    def has_work(self):
        """Whether the indexer has work left."""
        return self.rows("select exists (select 1 from {p}.outbox where pending & 2 <> 0) or exists (select 1 from {p}.search_work"
                         " where due_at <= now()) or exists (select 1 from {p}.search_indexes where state in ('building', 'dropped'))"
                         " or (select model_version from {p}.search_lease) <> (select model_version from {p}.meta)")[0][0]

    def settle(self, within=6):
        return self.wait(lambda: not self.has_work(), within)

    def postings(self, idx):
        """Returns {record: {(term id, field)}} from the posting lists, and checks their leaves."""
        found = {}
        last = None
        for term, field, base, n, docs in self.rows(
                "select term_id, field, base, n, docs from {p}.search_postings where idx = %s order by term_id, field, base", idx):
            ids = leaf_ids(base, docs)
            assert len(bytes(docs)) <= 1900 and len(ids) == n > 0 and ids == sorted(set(ids)) and ids[0] >= base, (
                f"term {term}, field {field}, base {base}, {n} ids: {bytes(docs).hex()} says {ids}")
            if last is not None and last[0] == (term, field):
                assert last[1] < base, "leaves overlap"
            last = ((term, field), ids[-1])
            for record in ids:
                found.setdefault(record, set()).add((term, field))
        return found

    def forward_lists(self, idx):
        return {record: forward_pairs(terms) for record, terms in self.rows(
            "select record_id, terms from {p}.search_docs where idx = %s", idx)}

    def check(self, entity, *fields):
        """Checks that posting lists, forward lists and records agree (plain text fields, owner, grants)."""
        idx = self.live_generation(entity)
        postings, forwards = self.postings(idx), self.forward_lists(idx)
        assert {r: t for r, t in forwards.items() if t} == postings
        terms = dict(self.rows("select id, term from {p}.search_terms"))
        assert all(term in terms for pairs in postings.values() for term, _ in pairs)
        columns = {f["name"]: (f["id"], n) for n, f in enumerate(f for f in entity["fields"] if f["searchable"])}
        ids, = self.rows("select field_ids from {p}.search_indexes where id = %s", idx)
        names = [name for name in (fields or columns)]
        texts = self.rows("select id, created_by, " + ", ".join(f"coalesce(f_{columns[n][0]}::text, '')" for n in names)
                          + " from {p}.e_%s" % entity["id"])
        assert {row[0] for row in texts} == set(forwards)
        for record, owner, *values in texts:
            for name, text in zip(names, values):
                field = ids[0].index(columns[name][0]) + 1
                have = {terms[t] for t, f in forwards[record] if f == field}
                assert have == words(text), (record, name, have ^ words(text))
            wanted = {f"@o{owner}"} if owner else set()
            wanted |= {"@" + "?ugr"[kind] + str(who) for kind, who in self.rows(
                "select kind, grantee_id from {p}.record_grants where entity_id = %s and record_id = %s", entity["id"], record)}
            assert {terms[t] for t, f in forwards[record] if f == 0} == wanted
        (documents,), = self.rows("select documents from {p}.search_indexes where id = %s", idx)
        assert documents == len(forwards)

"""The indexer: what the index contains, how soon, and after which changes."""
import os
import signal
import time

import pytest
from groundwork.deadline import allowed
from groundwork.records import execute

BOOKS = "/entities/books/items"


def add(project, count, words="walnut {n}", path=BOOKS, size=500):
    made = []
    for start in range(0, count, size):
        answer = project.admin.post(path + "/bulk", {"items": [
            {"title": words.format(n=n), "notes": f"note {n % 7} of many"} for n in range(start, min(start + size, count))]}, expect=201)
        made += [result["id"] for result in answer.json()["results"]]
    return made


@pytest.mark.timed
def test_a_record_is_found_within_a_second(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    ages = []
    for n in range(10):
        book = project.admin.post(BOOKS, {"title": f"The quiet astrolabe {n}", "secret_plan": "hiddenword", "price": 7.5}, expect=201).json()
        ages.append(index.wait(lambda: book["id"] in index.find(books, "astrolabe")))
    assert sorted(ages)[5] < allowed(1), ages
    assert index.find(books, "hiddenword") == set() and index.find(books, "7.5") == set()
    index.check(books)


def test_changes_and_removals(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    one, two = add(project, 2, "linen sheet {n}")
    index.wait(lambda: index.find(books, "linen") == {one, two})
    project.admin.put(f"{BOOKS}/{one}", {"title": "Café crème"}, expect=200)
    index.wait(lambda: index.find(books, "linen") == {two})
    assert index.find(books, "cafe") == index.find(books, "creme") == {one}
    project.admin.delete(f"{BOOKS}/{two}", expect=204)
    index.wait(lambda: index.find(books, "linen") == set())
    index.settle()
    index.check(books)
    assert index.rows("select count(*) from {p}.outbox")[0][0] == 0, "outbox rows for search alone are removed"


def test_an_index_of_an_older_version(project, index, indexer):
    """An index whose words were made by older rules than those of queries is built again, though nothing else has changed."""
    books = index.entity()
    index.wait_built(books)
    one, = add(project, 1)
    index.wait(lambda: index.find(books, "walnut") == {one})
    index.settle()
    before = index.live_generation(books)
    index.execute("update {p}.search_indexes set shape = '1' || substr(shape, strpos(shape, ' ')) where id = %s", before)
    index.wait(lambda: index.live_generation(books) not in (None, before))
    index.settle()
    assert index.find(books, "walnut") == {one}
    index.check(books)


def test_types_of_fields(project, index, indexer):
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    things = index.entity("things", code={"type": "varchar", "searchable": True}, state={
        "type": "enum", "searchable": True, "options": {"enum": "status"}}, number={"type": "integer", "searchable": True},
        amount={"type": "decimal", "searchable": True})
    index.wait_built(things)
    made = project.admin.post("/entities/things/items", {"code": "AB-1234", "state": "paid", "number": 4711, "amount": "12.50"}, expect=201).json()
    index.wait(lambda: index.find(things, "ab1234") == {made["id"]})
    for term in ("ab", "1234", "paid", "4711", "12.50"):
        assert index.find(things, term) == {made["id"]}, term


def test_relations_have_the_words_of_their_targets(project, index, indexer):
    authors = index.entity("authors", name={"type": "varchar", "searchable": True})
    books = index.entity("books", title={"type": "varchar", "searchable": True},
                         author={"type": "relation", "searchable": True, "options": {"entity": "authors", "on_delete": "set_null"}})
    index.wait_built(books)
    ann = project.admin.post("/entities/authors/items", {"name": "Ann Smith"}, expect=201).json()["id"]
    made = [project.admin.post(BOOKS, {"title": f"Book {n}", "author": ann}, expect=201).json()["id"] for n in range(5)]
    index.wait(lambda: index.find(books, "smith") == set(made))
    project.admin.put(f"/entities/authors/items/{ann}", {"name": "Ann Jones"}, expect=200)
    index.wait(lambda: index.find(books, "jones") == set(made))
    assert index.find(books, "smith") == set()
    project.admin.delete(f"/entities/authors/items/{ann}", expect=204)
    index.wait(lambda: index.find(books, "jones") == set())
    index.settle()
    assert index.find(books, "book") == set(made) and index.find(authors, "jones") == set()


def test_lists_of_principals(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    user = project.user()
    one, two = add(project, 2)
    group = project.admin.post("/groups", {"name": "readers"}, expect=201).json()["id"]
    project.admin.put(f"{BOOKS}/{one}/rls-users", {"items": [{"user_id": user.user["id"]}]}, expect=200)
    project.admin.put(f"{BOOKS}/{two}/rls-groups", {"items": [{"group_id": group}]}, expect=200)
    index.wait(lambda: index.find(books, f"@u{user.user['id']}") == {one} and index.find(books, f"@g{group}") == {two})
    index.check(books)
    project.admin.delete(f"{BOOKS}/{one}/rls-users", expect=204)
    index.wait(lambda: index.find(books, f"@u{user.user['id']}") == set())
    project.admin.delete(f"/groups/{group}", expect=204)
    index.wait(lambda: index.find(books, f"@g{group}") == set())
    index.settle()
    index.check(books)


def test_model_changes_rebuild_what_they_must(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    add(project, 20)
    index.settle()
    first = index.live_generation(books)
    project.admin.put("/entities/books", {"label": "Other books", "row_level_security": False}, expect=200)
    project.admin.put("/entities/books/fields/title", {"name": "name"}, expect=200)
    index.settle()
    assert index.live_generation(books) == first, "names and rules rebuild nothing"
    project.admin.post("/entities/books/fields", {"name": "extra", "type": "varchar", "searchable": True}, expect=201)
    index.wait(lambda: index.live_generation(books) not in (None, first))
    index.settle()
    second = index.live_generation(books)
    project.admin.put("/entities/books/fields/notes", {"searchable": False}, expect=200)
    index.wait(lambda: index.live_generation(books) not in (None, second))
    index.settle()
    assert index.find(books, "note") == set() and len(index.find(books, "walnut")) == 20
    assert index.rows("select count(*) from {p}.search_terms where term = 'note'")[0][0] == 0, "words of no record are removed"
    assert index.rows("select count(*) from {p}.search_postings where idx <> %s", index.live_generation(books))[0][0] == 0
    project.admin.put("/entities/books", {"searchable": False}, expect=200)
    index.wait(lambda: index.live_generation(books) is None)
    index.settle()
    assert index.rows("select count(*) from {p}.search_postings")[0][0] == index.rows("select count(*) from {p}.search_docs")[0][0] == 0
    project.admin.put("/entities/books", {"searchable": True}, expect=200)
    index.wait(lambda: index.live_generation(books))
    project.admin.delete("/entities/books", expect=204)
    index.wait(lambda: index.live_generation(books) is None)
    index.settle()


FIELDS = "/entities/books/fields"
CHANGES = {  # change: (its request, the entities whose index is rebuilt)
    "a field that is searched comes": (("post", FIELDS, {"name": "more", "type": "varchar", "searchable": True}), {"books"}),
    "a field comes": (("post", FIELDS, {"name": "more", "type": "varchar"}), set()),
    "a field is searched": (("put", FIELDS + "/blurb", {"searchable": True}), {"books"}),
    "a field is not searched any more": (("put", FIELDS + "/notes", {"searchable": False}), {"books"}),
    "a field that is searched goes": (("delete", FIELDS + "/notes", None), {"books"}),
    "a field goes": (("delete", FIELDS + "/blurb", None), set()),
    "another name": (("put", FIELDS + "/title", {"name": "heading"}), set()),
    "another weight": (("put", FIELDS + "/title", {"options": {"max_length": 200, "search_weight": 9}}), set()),
    "rules for rows": (("put", "/entities/books", {"row_level_security": False}), set()),
    "the world may search": (("put", "/entities/books", {"public_read": True}), set()),
    "an entity without searched fields comes": (("post", "/entities", {"name": "plain", "fields": [{"name": "x", "type": "varchar"}]}), set()),
    "what a relation shows": (("put", "/entities/authors/fields/nick", {"searchable": True}), {"books", "authors"}),
    "what no relation shows": (("put", "/entities/authors/fields/life", {"searchable": True}), {"authors"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_exactly_the_rebuild_that_a_change_needs(project, index, indexer, what):
    index.entity("authors", nick={"type": "varchar"}, name={"type": "varchar", "searchable": True}, life={"type": "text"})
    index.entity("books", title={"type": "varchar", "searchable": True, "options": {"max_length": 200}}, notes={"type": "text", "searchable": True},
                 blurb={"type": "text"}, author={"type": "relation", "searchable": True, "options": {"entity": "authors", "on_delete": "set_null"}})
    entities = {name: project.admin.get(f"/entities/{name}").json() for name in ("authors", "books")}
    for entity in entities.values():
        index.wait_built(entity)
    before = {name: index.live_generation(entity) for name, entity in entities.items()}
    (method, path, body), anew = CHANGES[what]
    answer = getattr(project.admin, method)(path, *([body] if body else []))
    assert answer.status_code in (200, 201, 204), answer.text
    (version,), = index.rows("select model_version from {p}.meta")
    index.wait(lambda: index.rows("select model_version from {p}.search_lease")[0][0] >= version)
    index.settle()
    after = {name: index.live_generation(entity) for name, entity in entities.items()}
    assert {name for name in before if after[name] != before[name]} == anew
    assert None not in after.values()


def test_many_records(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    made = add(project, 3000)
    index.settle()
    assert index.find(books, "walnut") == set(made)
    index.check(books)


def rehydrate(index, entity):
    index.execute("insert into {p}.search_indexes (entity_id, state) values (%s, 'building') on conflict do nothing", entity["id"])


def test_rebuild(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    made = add(project, 2000)
    index.settle()
    first = index.live_generation(books)
    rehydrate(index, books)
    index.wait(lambda: index.live_generation(books) != first)
    index.settle()
    assert index.find(books, "walnut") == set(made)
    index.check(books)
    found = {key for key, in index.rows("select key from {p}.search_lexicon where octet_length(data) > 0")}
    assert "w06" in found and "n04" in found


def kill(daemon):
    os.killpg(daemon.process.pid, signal.SIGKILL)
    daemon.process.wait()


def test_killed_while_records_change(project, index, start_indexer):
    books = index.entity()
    daemon = start_indexer(LEASE_MS=2000, INDEX_BATCH=20)
    index.wait_built(books)
    made = []
    for n in range(3):
        made += add(project, 300, f"cotton {n} {{n}}")
        time.sleep(0.15 * n)
        kill(daemon)
        project.admin.put(f"{BOOKS}/{made[-1]}", {"title": f"changed {n}"}, expect=200)
        daemon = start_indexer(LEASE_MS=2000, INDEX_BATCH=20)
    index.settle()
    index.check(books)
    kill(daemon)


def test_a_rebuild_goes_on_after_a_kill(project, index, start_indexer):
    books = index.entity()
    daemon = start_indexer(LEASE_MS=2000, INDEX_PAGE=100, INDEX_BYTES=1048576)
    index.wait_built(books)
    made = add(project, 4000)
    index.settle()
    first = index.live_generation(books)
    for _ in range(3):
        rehydrate(index, books)
        time.sleep(0.4)
        kill(daemon)
        assert index.find(books, "walnut") == set(made), "no gap"
        project.admin.put(f"{BOOKS}/{made[3]}", {"title": f"walnut {time.time_ns()}"}, expect=200)
        daemon = start_indexer(LEASE_MS=2000, INDEX_PAGE=100, INDEX_BYTES=1048576)
    index.wait(lambda: index.live_generation(books) != first)
    index.settle()
    index.check(books)
    kill(daemon)


def test_a_lost_lease_writes_nothing(project, index, start_indexer):
    books = index.entity()
    daemon = start_indexer(LEASE_MS=2000)
    index.wait_built(books)
    made = add(project, 200)
    daemon.signal(signal.SIGSTOP)
    for pid in daemon.workers():
        os.kill(pid, signal.SIGSTOP)
    made += add(project, 200)
    other = start_indexer(LEASE_MS=2000)
    index.settle()
    for pid in daemon.workers():
        os.kill(pid, signal.SIGCONT)
    daemon.signal(signal.SIGCONT)
    made += add(project, 200)
    index.settle()
    time.sleep(1)
    assert index.find(books, "walnut") == set(made)
    index.check(books)
    kill(daemon)
    kill(other)


SLOW = {"LEASE_MS": 10000, "STATEMENT_TIMEOUT_MS": 600000}


@pytest.fixture(scope="module")
def indexer(start_indexer):
    """The file's own indexer, whose settings let a slow transaction end: any running indexer may take a project's lease."""
    return start_indexer(**SLOW)


@pytest.fixture
def slow(project, index, servers, start_indexer, indexer):
    """Starts indexers of which one writes in a transaction that lasts until the test ends it; yields (token of its lease,
    function that ends the transaction)."""
    both = [start_indexer(**SLOW) for _ in range(2)]
    books = index.entity()
    index.wait_built(books)
    held = servers.connect()
    execute(held, "select pg_advisory_lock(78)")
    index.execute("create function {p}.slow() returns trigger language plpgsql as 'begin while not pg_try_advisory_xact_lock_shared(78) loop"
                  " perform pg_sleep(0.02); end loop; return new; end'")
    index.execute("create trigger slow before update on {p}.search_indexes for each row execute function {p}.slow()")
    made = set(add(project, 5))
    index.wait(lambda: index.rows("select count(*) from pg_stat_activity where wait_event = 'PgSleep'")[0][0])

    def end():
        """Lets the transaction end, and checks that the index is complete and that no indexer has lost its lease."""
        held.close()
        index.wait(lambda: index.find(books, "walnut") == made)
        index.execute("drop function {p}.slow() cascade")
        index.settle()
        index.check(books)
        assert "queue.lost" not in "".join(one.log() for one in (*both, indexer))

    yield index.rows("select token from {p}.search_lease")[0][0], end
    held.close()
    for one in both:
        kill(one)


LEASE = "select lease_until, lease_until > now() from {p}.search_lease where token = %s"


def test_a_transaction_that_takes_longer_than_the_lease(index, slow):
    """The indexer renews its lease while its transaction takes longer than the lease."""
    token, end = slow
    ((first, _),) = index.rows(LEASE, token)
    index.wait(lambda: index.rows("select now() > %s", first)[0][0], within=12)
    index.wait(lambda: index.rows(LEASE, token)[0][1])
    end()


def test_nobody_takes_a_lease_over_while_a_transaction_writes(index, slow):
    """No indexer takes over a lease while the holder's transaction writes, however long ago the lease ended."""
    token, end = slow
    for _ in range(30):
        index.execute("update {p}.search_lease set lease_until = now() - interval '1 hour' where token = %s", token)
        time.sleep(0.1)  # indexers search for projects with work five times a second
        assert index.rows("select token from {p}.search_lease") == [(token,)], index.describe_state()
    index.wait(lambda: index.rows(LEASE, token)[0][1])  # an indexer loses its lease only after its transaction has ended
    end()


def test_two_indexers(project, index, start_indexer):
    one, two = start_indexer(LEASE_MS=2000), start_indexer(LEASE_MS=2000)
    books = index.entity()
    index.wait_built(books)
    made = []
    for n in range(6):
        made += add(project, 100)
        project.admin.put(f"{BOOKS}/{made[0]}", {"title": f"cotton {n}"}, expect=200)
    index.settle()
    index.check(books)
    kill(one)
    kill(two)


def test_a_damaged_leaf_is_built_again(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    made = add(project, 50)
    index.settle()
    first = index.live_generation(books)
    index.execute("update {p}.search_postings set docs = '\\x0703' where term_id = (select id from {p}.search_terms where term = 'walnut')")
    made += add(project, 1)
    index.wait(lambda: index.live_generation(books) not in (None, first))
    index.settle()
    assert index.find(books, "walnut") == set(made)
    index.check(books)

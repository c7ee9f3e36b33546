"""Random projects, queries and callers: each answer equals the oracle's. SEARCH_CORPORA and SEARCH_QUERIES set the number of
corpora and queries, SEARCH_SEED chooses other ones."""
import os
import sys
import pathlib

import pytest
from groundwork.searching import wait_indexed, search

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from corpora import FIELDS, World  # noqa: E402
from oracle import WINDOW, check_snippet  # noqa: E402

CORPORA = int(os.environ.get("SEARCH_CORPORA", "3"))
QUERIES = int(os.environ.get("SEARCH_QUERIES", "40"))
SEED = int(os.environ.get("SEARCH_SEED", "1"))
ENTITIES = ["books", "notes"]


# With --dist loadgroup, all tests of one corpus run in one process.
WORLDS = [pytest.param(n, marks=pytest.mark.xdist_group(f"corpus {n}")) for n in range(CORPORA)]


@pytest.fixture(scope="module", params=WORLDS)
def world(request, session_gateway, operator, recorder, servers, indexer):
    from groundwork.project import Project

    made = World(Project(session_gateway, operator, recorder), SEED + request.param)
    connection = servers.connect()
    wait_indexed(made.project, connection, *ENTITIES)
    connection.close()
    yield made
    made.project.delete()


def levels(hits):
    """Returns the hits in groups of equal rank: the oracle promises the order of groups."""
    groups = []
    for hit in hits:
        if groups and groups[-1][0].level() == hit.level():
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return groups


def check_order(wanted, got, where):
    """Checks that each group of equal hits is complete before the next begins, and that after the first 64 hits the newest of a
    group come first."""
    assert len(got) == len(set(got)), where
    at = 0
    for group in levels(wanted):
        part = got[at:at + len(group)]
        names = [(hit.entity, hit.id) for hit in group]
        assert set(part) <= set(names), f"{where}: {set(part) - set(names)} stand among {group}"
        assert len(part) == len(group) or at + len(part) == len(got), where
        if at >= WINDOW:
            assert part == names[:len(part)], where
        at += len(group)


def check_highlights(world, caller, item, where):
    """Checks that only readable fields are highlighted, each with marked pieces of its text."""
    text = world.texts[item["entity"]][item["id"]]
    for highlight in item["highlights"]:
        assert highlight["field"] in caller.fields[item["entity"]], where
        check_snippet(highlight["snippet"], text[highlight["field"]])


def check_record(world, caller, item, where):
    record = item["record"]
    assert record["id"] == item["id"], where
    for name in FIELDS:
        assert (name in record) == (name in caller.fields[item["entity"]]), where
        if name in record:
            assert record[name] == world.texts[item["entity"]][item["id"]][name], where


def check(world, caller, query, **parameters):
    entities = caller.entities(ENTITIES)
    where = f"{caller.name}: {query}"
    understood = query.read_by(set().union(*(caller.fields[entity] for entity in entities)))
    wanted = world.oracle.search(understood, caller, entities)
    if wanted.bounded:
        return 0
    answer = search(caller.client, query.text(), pageSize=500, **caller.options, **parameters)
    got = [(item["entity"], item["id"]) for item in answer["items"]]
    assert answer["total_is_exact"], where
    expected = {(hit.entity, hit.id) for hit in wanted.hits}
    assert set(got) == expected, f"{where}: missing {expected - set(got)}, not to be there {set(got) - expected}"
    assert answer["total_items"] == wanted.total, where
    check_order(wanted.hits, got, where)
    scores = [item["score"] for item in answer["items"]]
    assert scores == sorted(scores, reverse=True) and all(0 < score <= 1 for score in scores), where
    for item in answer["items"]:
        check_highlights(world, caller, item, where)
        check_record(world, caller, item, where)
    return len(got)


def test_every_answer_is_the_oracles(world):
    callers = list(world.callers())
    some = 0
    for _ in range(QUERIES):
        query = world.corpus.query(world.texts["books"])
        for caller in callers:
            some += check(world, caller, query) > 0
    assert some > QUERIES  # enough of the queries find something


def test_pages_join_to_the_whole(world):
    caller = next(world.callers())
    for _ in range(5):
        query = world.corpus.query(world.texts["books"])
        whole = search(caller.client, query.text(), pageSize=500)
        joined, page = [], 1
        while True:
            answer = search(caller.client, query.text(), pageSize=7, page=page)
            joined += [(item["entity"], item["id"]) for item in answer["items"]]
            assert answer["total_items"] == whole["total_items"]
            if not answer["has_next_page"]:
                break
            page += 1
        assert joined == [(item["entity"], item["id"]) for item in whole["items"]], query


def test_filters_and_facets(world):
    for caller in list(world.callers())[:4]:
        for _ in range(10):
            query = world.corpus.query(world.texts["books"])
            kind = world.chance.choice(["red", "green"])
            allowed = lambda entity, number: world.values[entity][number]["kind"] == kind
            wanted = world.oracle.search(query, caller, ["books"], allowed)
            everything = world.oracle.search(query, caller, ["books"])
            if wanted.bounded:
                continue
            answer = search(caller.client, query.text(), e="books", pageSize=500, filter={"[kind]": kind}, facets="amount")
            assert {item["id"] for item in answer["items"]} == {hit.id for hit in wanted.hits}, (caller.name, query)
            assert answer["total_items"] == wanted.total and answer["total_is_exact"]
            counts = {}
            for hit in wanted.hits:
                amount = world.values["books"][hit.id]["amount"]
                counts[amount] = counts.get(amount, 0) + 1
            assert {value["value"]: value["count"] for value in answer["facets"]["amount"]} == counts
            assert answer["facets_are_exact"]
            ordered = search(caller.client, query.text(), e="books", pageSize=500, sort="amount,-id")
            expected = sorted(everything.hits, key=lambda hit: (world.values["books"][hit.id]["amount"], -hit.id))
            assert [item["id"] for item in ordered["items"]] == [hit.id for hit in expected], (caller.name, query)

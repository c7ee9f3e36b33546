"""Lists too long to be read whole: a search reads the newest ids first, then more, and finds the same hits."""
import os
import pathlib
import sys

import pytest
from groundwork.search import leaf_ids
from groundwork.searching import wait_indexed, find_ids, search

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from corpora import World  # noqa: E402
from oracle import Query, Word  # noqa: E402
from test_search_oracle import ENTITIES, check_order  # noqa: E402

OLD, NEW = 20, 100  # more new records than a page and the hits that are ordered by text
BEST = 5            # old records that have the word in the better field
FAR = 10_000_000    # the gap between old and new ids: windows are narrower
FIELDS = [
    {"name": "title", "type": "varchar", "searchable": True},
    {"name": "summary", "type": "text", "searchable": True},
]


def varint(value):
    coded = b""
    while value >= 0x80:
        coded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return coded + bytes([value])


def shatter(index):
    """Cuts the lists into leaves of four ids and sets each term's count to a hundred million, as in a project of that size."""
    lists = {}
    for idx, term, field, base, docs in index.rows("select idx, term_id, field, base, docs from {p}.search_postings order by 1, 2, 3, 4"):
        lists.setdefault((idx, term, field), []).extend(leaf_ids(base, docs))
    index.execute("delete from {p}.search_postings")
    for (idx, term, field), ids in lists.items():
        leaves = []
        for at in range(0, len(ids), 4):
            base = ids[at] if at > 0 else 0
            last, docs = base, b"\1"
            for number in ids[at:at + 4]:
                docs += varint(number - last)
                last = number
            leaves.append((base, len(ids[at:at + 4]), docs))
        index.execute("insert into {p}.search_postings select %s, %s, %s, * from unnest(%s::bigint[], %s::int[], %s::bytea[])",
                      idx, term, field, *map(list, zip(*leaves)))
    index.execute("update {p}.search_terms set df = 100000000")


@pytest.fixture
def shelf(project, db, index, indexer):
    """Returns the ids, oldest first; every second record has the word in its summary."""
    entity = project.entity("books", FIELDS)
    write = lambda n: project.item("books", title=f"oak {'walnut' if n < BEST else 'elm'}", summary="walnut" if n % 2 else "ash")["id"]
    ids = [write(n) for n in range(OLD)]
    index.execute(f"alter table {{p}}.e_{entity['id']} alter column id restart with {FAR}")
    ids += [write(n) for n in range(OLD, OLD + NEW)]
    assert ids[OLD] >= FAR
    wait_indexed(project, db, "books")
    shatter(index)
    return ids


@pytest.fixture
def walnuts(shelf):
    """The ids in order of rank: first records with the word in the better field, of those first the ones whose summary equals
    the word; then the newest."""
    best = [number for n, number in enumerate(shelf) if n < BEST and n % 2][::-1] + [number for n, number in enumerate(shelf) if n < BEST and not n % 2][::-1]
    return best + [number for n, number in enumerate(shelf) if n >= BEST and n % 2][::-1]


def test_the_newest_come_first(project, shelf):
    answer = search(project.admin, "oak")
    assert [item["id"] for item in answer["items"]] == shelf[:-21:-1]
    assert not answer["total_is_exact"] and answer["total_items"] == NEW and answer["has_next_page"]


def test_pages_reach_the_oldest(project, shelf):
    joined = []
    for page in range(1, 4):
        answer = search(project.admin, "oak", pageSize=40, page=page)
        joined += [item["id"] for item in answer["items"]]
    assert joined == shelf[::-1]
    assert answer["total_is_exact"] and answer["total_items"] == len(shelf)


def test_better_ones_are_found_however_old(project, shelf, walnuts):
    answer = search(project.admin, "walnut")
    assert [item["id"] for item in answer["items"]] == walnuts[:20]
    assert answer["total_is_exact"] and answer["total_items"] == len(walnuts)
    assert find_ids(project.admin, "oak walnut") == shelf[BEST - 1::-1] + walnuts[BEST:20]


def test_the_oldest_are_left_out_too(project, shelf, walnuts):
    rest = sorted(set(shelf) - set(walnuts), reverse=True)
    assert find_ids(project.admin, "* -walnut", pageSize=500) == rest
    assert find_ids(project.admin, "oak -walnut", pageSize=500) == rest


def test_completions_are_counted_among_the_newest(project, shelf):
    item, = project.admin.get("/search/suggest", params={"q": "oak wal"}, expect=200).json()["items"]
    assert item["text"] == "oak walnut" and item["hits"] == NEW // 2


QUERIES = int(os.environ.get("SEARCH_QUERIES", "60"))


@pytest.mark.parametrize("seed", [1, 2])
def test_first_pages_are_the_oracles(project, db, index, indexer, seed):
    """First pages of searches that end with a window equal the oracle's, for random records with distant ids and callers of all
    kinds."""
    far = iter(range(FAR, 100 * FAR, FAR))
    numbers = {}

    def spread(entity):
        numbers[entity] = numbers.get(entity) or index.rows("select id from {p}.entities where name = %s", entity)[0][0]
        index.execute(f"alter table {{p}}.e_{numbers[entity]} alter column id restart with {next(far)}")

    world = World(project, seed, records=1200, between=spread)
    wait_indexed(project, db, *ENTITIES)
    shatter(index)
    callers = list(world.callers())
    ended = 0
    common = [Query(Word(word)) for word in world.corpus.words[:4]]
    for query in common + [world.corpus.query(world.texts["books"]) for _ in range(QUERIES // 4)]:
        for caller in callers:
            entities = caller.entities(ENTITIES)
            where = f"{caller.name}: {query}"
            wanted = world.oracle.search(query.read_by(set().union(*(caller.fields[entity] for entity in entities))), caller, entities)
            if wanted.bounded or not wanted.hits:
                continue
            answer = search(caller.client, query.text(), pageSize=2, **caller.options)
            got = [(item["entity"], item["id"]) for item in answer["items"]]
            assert len(got) == min(2, wanted.total), where
            check_order([hit for hit in wanted.hits if hit.level() <= wanted.hits[len(got) - 1].level()], got, where)
            assert answer["total_items"] <= wanted.total, where
            assert not answer["total_is_exact"] or answer["total_items"] == wanted.total, where
            ended += not answer["total_is_exact"]
    assert ended  # windows did end some of the searches

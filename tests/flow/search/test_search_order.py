"""The order of hits with equal rank: among the first 64, a text that equals the query comes before texts that contain it."""
import pytest
from groundwork.searching import wait_indexed, find_ids


@pytest.fixture
def chairs(project, db, indexer):
    """Fifty chairs, of which two old ones have a title that equals the query; returns the ids, oldest first."""
    project.entity("chairs", [{"name": "title", "type": "varchar", "searchable": True}, {"name": "notes", "type": "text"}])
    titles = [f"oak chair {n}" for n in range(50)]
    titles[3], titles[7] = "OAK!", "* Oak *"
    items = [{"title": title, "notes": "n" * 500} for title in titles]
    made = project.admin.post("/entities/chairs/items/bulk", {"items": items}, expect=201).json()["results"]
    wait_indexed(project, db, "chairs")
    return [result["id"] for result in made]


def in_order(chairs, *first):
    return [chairs[at] for at in first] + [number for at, number in enumerate(chairs) if at not in first][::-1]


def test_what_equals_the_query_is_first_from_behind_the_page(project, chairs):
    assert find_ids(project.admin, "oak", pageSize=10) == in_order(chairs, 7, 3)[:10]


def test_letters_and_signs_of_many_bytes_are_looked_through(project, db, indexer):
    """A title equals the query although each of its letters has three bytes and signs surround it."""
    project.entity("chairs", [{"name": "title", "type": "varchar", "searchable": True}])
    titles = ["\uff0a\uff2f\uff21\uff2b\uff0a\uff0a\uff0a"] + [f"oak chair {n}" for n in range(40)]
    made = project.admin.post("/entities/chairs/items/bulk", {"items": [{"title": title} for title in titles]}, expect=201).json()["results"]
    wait_indexed(project, db, "chairs")
    assert find_ids(project.admin, "oak", pageSize=10)[0] == made[0]["id"]


def test_pages_join_to_the_same_order(project, chairs):
    joined = [number for page in range(1, 6) for number in find_ids(project.admin, "oak", pageSize=10, page=page)]
    assert joined == in_order(chairs, 7, 3)


def test_what_went_since_the_index_saw_it_leaves_no_gap(project, db, chairs, index):
    """A page is full although more records were deleted than a page has in reserve, and the index does not know it yet."""
    index.execute(f"delete from {{p}}.e_{project.admin.get('/entities/chairs', expect=200).json()['id']} where id = any(%s)", chairs[20:50])
    expected = [number for number in in_order(chairs, 7, 3) if number not in chairs[20:50]]
    assert find_ids(project.admin, "oak", pageSize=10) == expected[:10]

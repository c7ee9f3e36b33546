"""Records that are deleted or changed with a deleted record: they need no permission, but their locks are respected."""
import pytest
from groundwork.records import listen
from groundwork.runs import wait_ended, step
from groundwork.workflows import start, workflow

NOTHING = "nothing was deleted"


def relation(name, to, rule, **options):
    return {"name": name, "type": "relation", "options": {"entity": to, "on_delete": rule, **options}}


@pytest.fixture(scope="module")
def tree(shared_project):
    """A shelf; books that are deleted with it; pages that are deleted with their book; readers whose references to books are
    cleared."""
    project = shared_project
    project.entity("shelves", [{"name": "name", "type": "varchar"}])
    project.entity("books", [{"name": "name", "type": "varchar"}, relation("shelf", "shelves", "cascade")])
    project.entity("pages", [relation("book", "books", "cascade"), relation("next", "pages", "cascade")])
    project.entity("readers", [relation("book", "books", "set_null"), relation("list", "books", "set_null", many=True)])
    return project


@pytest.fixture
def world(tree):
    tree.shelf = tree.item("shelves", name="a")["id"]
    tree.book = tree.item("books", shelf=tree.shelf)["id"]
    tree.page = tree.item("pages", book=tree.book)["id"]
    tree.next = tree.item("pages", next=tree.page)["id"]
    tree.reader = tree.item("readers", book=tree.book)["id"]
    tree.other = tree.item("readers", list=[tree.book])["id"]
    return tree


def path(entity, number):
    return f"/entities/{entity}/items/{number}"


def lock(client, entity, number):
    return client.post(f"{path(entity, number)}/lock", {"ttl_seconds": 60}, expect=200).json()["lock_token"]


def has_shelf(world):
    return world.admin.get(path("shelves", world.shelf)).status_code == 200


@pytest.mark.parametrize("entity, which", [
    ("books", "book"), ("pages", "page"), ("pages", "next"), ("readers", "reader"), ("readers", "other")])
def test_a_lock_of_another(world, entity, which):
    other = world.administrator()
    token = lock(other, entity, getattr(world, which))
    for _ in range(2):
        refused = world.admin.delete(path("shelves", world.shelf), expect=423).json()
        assert refused["code"] == "locked" and f"Record {getattr(world, which)} of {entity}" in refused["detail"], refused
    many = world.admin.post("/entities/shelves/items/delete-many", {"ids": [world.shelf]}, expect=423).json()
    assert NOTHING in many["detail"] and has_shelf(world)
    wrong = world.admin.delete(path("shelves", world.shelf), headers={"X-Lock-Token": "x" * 43})
    assert wrong.status_code == 423 and has_shelf(world)
    world.admin.delete(path("shelves", world.shelf), headers={"X-Lock-Token": token}, expect=204)
    assert world.admin.get(path("pages", world.next)).status_code == 404


def test_a_lock_that_has_ended(world):
    other = world.administrator()
    token = lock(other, "pages", world.page)
    world.admin.delete(path("shelves", world.shelf), expect=423)
    other.delete(f"{path('pages', world.page)}/lock", headers={"X-Lock-Token": token}, expect=204)
    world.admin.delete(path("shelves", world.shelf), expect=204)


def test_a_lock_on_another_record(world):
    elsewhere = world.item("pages")["id"]
    lock(world.administrator(), "pages", elsewhere)
    world.admin.delete(path("shelves", world.shelf), expect=204)
    assert world.admin.get(path("readers", world.reader), expect=200).json()["book"] is None


def test_more_than_can_be_looked_through(project):
    """Foreign keys delete any number of records while no lock can be among them; while a lock can be, a deletion of too many
    records to check is refused."""
    admin, other = project.admin, project.administrator()
    project.entity("shelves", [{"name": "name", "type": "varchar"}])
    project.entity("books", [relation("shelf", "shelves", "cascade")])
    shelf, elsewhere = project.item("shelves")["id"], project.item("books")["id"]
    for _ in range(10):
        admin.post("/entities/books/items/bulk", {"items": [{"shelf": shelf}] * 1000}, expect=201)
    project.item("books", shelf=shelf)
    token = lock(other, "books", elsewhere)
    refused = admin.delete(path("shelves", shelf), expect=409).json()
    assert refused["code"] == "too_many_rows" and "another user has locked a record" in refused["detail"]
    admin.get(path("shelves", shelf), expect=200)
    other.delete(f"{path('books', elsewhere)}/lock", headers={"X-Lock-Token": token}, expect=204)
    admin.delete(path("shelves", shelf), expect=204)
    assert [book["id"] for book in admin.get("/entities/books/items", expect=200).json()["items"]] == [elsewhere]


def test_who_may_not_see_what_is_locked(world):
    """The answer says that a record is locked but does not name it; a caller who may not delete the shelf learns nothing about
    locks."""
    mover = world.user_with("shelves:read", "shelves:create", "shelves:delete")
    shelf = mover.post("/entities/shelves/items", {"name": "mine"}, expect=201).json()["id"]
    page = world.item("pages", book=world.item("books", shelf=shelf)["id"])["id"]
    lock(world.administrator(), "pages", page)
    refused = mover.delete(path("shelves", shelf), expect=423).json()
    assert refused["detail"] == "A record that would be deleted or changed too is locked by another user; nothing was deleted."
    assert world.user_with("shelves:read", "shelves:delete").delete(path("shelves", shelf)).status_code == 404
    assert world.user_with("shelves:read").delete(path("shelves", shelf)).status_code == 403


def test_no_permission_is_asked_for(world):
    """As with foreign keys, a caller who may delete a shelf but not books deletes the shelf's books with it."""
    mover = world.user_with("shelves:read", "shelves:create", "shelves:delete")
    shelf = mover.post("/entities/shelves/items", {"name": "mine"}, expect=201).json()["id"]
    book = world.item("books", shelf=shelf)["id"]
    assert mover.delete(path("books", book)).status_code == 403
    mover.delete(path("shelves", shelf), expect=204)
    assert world.admin.get(path("books", book)).status_code == 404


def test_where_somebody_listens(world, db, runner):
    made = world.admin.get("/entities/books", expect=200).json()
    listen(world, db, made, "EntityDeleted")
    token = lock(world.administrator(), "readers", world.reader)
    flow = workflow(world.admin, steps=[step("s", "DeleteData", {"entity": "shelves", "id": world.shelf})])
    job = wait_ended(world, start(world.admin, flow, {}))
    assert (job["status"], job["error"]["code"]) == ("failed", "locked") and has_shelf(world)
    world.admin.delete(path("shelves", world.shelf), headers={"X-Lock-Token": token}, expect=204)

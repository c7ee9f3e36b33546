"""Public records: readable without credentials, only of entities that opted in, only fields marked public (A12)."""
import pytest
from groundwork.records import ids
from groundwork.soon import await_status

ITEMS = "/entities/posts/public/items"


@pytest.fixture(scope="module")
def site(shared_project):
    project = shared_project
    project.entity("authors", [{"name": "name", "type": "varchar", "public": True}, {"name": "email", "type": "varchar"}], public_read=True)
    project.entity("notes", [{"name": "name", "type": "varchar", "public": True}])
    project.entity("posts", [
        {"name": "title", "type": "varchar", "public": True}, {"name": "draft", "type": "text"},
        {"name": "n", "type": "integer", "public": True},
        {"name": "pass", "type": "secret"},
        {"name": "author", "type": "relation", "public": True, "options": {"entity": "authors"}},
        {"name": "note", "type": "relation", "public": True, "options": {"entity": "notes"}},
        {"name": "notes", "type": "relation", "public": True, "options": {"entity": "notes", "many": True}},
        {"name": "inner", "type": "relation", "options": {"entity": "authors"}}], public_read=True)
    note = project.item("notes", name="hidden note")["id"]
    author = project.item("authors", name="Ana", email="ana@example.org")["id"]
    project.posts = [
        project.item("posts", title=f"Post {n}", draft="hidden draft", n=n, author=author, note=note, notes=[note], inner=author)["id"]
        for n in range(3)]
    project.note = note
    return project


def test_everybody_reads_what_is_public(site):
    anyone = site.client()
    body = anyone.get(ITEMS, params={"sort": "n"}, expect=200).json()
    assert [item["id"] for item in body["items"]] == site.posts and body["total_items"] == 3
    for item in body["items"]:
        assert not {"draft", "pass", "inner"} & set(item) and item["title"].startswith("Post")
    one = anyone.get(f"{ITEMS}/{site.posts[0]}", expect=200)
    assert one.json() == body["items"][0] and one.headers["ETag"]
    anyone.get(f"{ITEMS}/{site.posts[0]}", headers={"If-None-Match": one.headers["ETag"]}, expect=304)
    anyone.head(ITEMS, expect=200)
    assert "hidden" not in anyone.get(ITEMS).text


def test_credentials_change_nothing(site):
    user = site.user()
    for client in (site.admin, user):
        assert client.get(f"{ITEMS}/{site.posts[0]}").json() == site.client().get(f"{ITEMS}/{site.posts[0]}").json()
    site.client(token="nonsense").get(ITEMS, expect=200)


@pytest.mark.parametrize("query", [
    "filter[draft]=hidden draft", "filter[draft][null]=true", "sort=draft", "fields=draft", "fields=title,draft",
    "filter[pass]=x", "expand=inner",
    "filter[author.email]=ana@example.org", "sort=author.email", "expand=note", "expand=notes", "filter[note.name]=hidden note",
    "sort=note.name",
    "filter[inner.name]=Ana", "filter[inner]=1", "fields=inner", "filter[or][0][draft]=x"])
def test_what_is_not_public_answers_like_missing(site, query):
    answer = site.client().get(f"{ITEMS}?{query}", expect=400)
    name = next(name for name in ("draft", "pass", "author.email", "note.name", "inner.name", "inner", "notes", "note") if name in query)
    missing = site.client().get(f"{ITEMS}?{query.replace(name, 'nothing')}", expect=400)
    assert answer.text.replace(name, "nothing").replace(answer.json()["request_id"], "") == missing.text.replace(missing.json()["request_id"], "")


def test_filters_orders_and_expansions_on_what_is(site):
    anyone = site.client()
    assert ids(anyone.get(f"{ITEMS}?filter[n][gte]=1&sort=-n")) == site.posts[:0:-1]
    assert ids(anyone.get(f"{ITEMS}?filter[author.name]=Ana&sort=n&limit=2")) == site.posts[:2]
    expanded = anyone.get(f"{ITEMS}?expand=author&fields=author", expect=200).json()["items"][0]["author"]
    assert expanded["name"] == "Ana" and "email" not in expanded
    cursor = anyone.get(f"{ITEMS}?sort=n&limit=2&cursor=start").json()["next_cursor"]
    assert ids(anyone.get(f"{ITEMS}?sort=n&limit=2&cursor={cursor}")) == site.posts[2:]


def test_links_to_what_is_not_public_reveal_no_ids(site):
    """An entity that is not public has no public records: a to-many relation does not reveal its ids."""
    item = site.client().get(f"{ITEMS}/{site.posts[0]}", expect=200).json()
    assert item.get("notes", []) == []


def test_a12_entities_that_are_not_public_do_not_exist(site):
    site.entity("closed", [{"name": "name", "type": "varchar", "public": True}])
    number = site.item("closed", name="x")["id"]
    for path in ("", f"/{number}"):
        answer = site.client().get(f"/entities/closed/public/items{path}", expect=404)
        missing = site.client().get(f"/entities/absent/public/items{path}", expect=404)
        assert {**answer.json(), "request_id": 0} == {**missing.json(), "request_id": 0}
        site.admin.get(f"/entities/closed/public/items{path}", expect=404)


def test_a_public_entity_is_read_only(site):
    anyone = site.client()
    for method, path in (("POST", ITEMS), ("PUT", f"{ITEMS}/1"), ("DELETE", f"{ITEMS}/1"), ("DELETE", ITEMS)):
        anyone.request(method, path, json={"title": "x"}, expect=405)
    for path in ("/entities/posts/items", f"/entities/posts/items/{site.posts[0]}", "/entities/posts/items/export"):
        anyone.get(path, expect=401)
    anyone.get(f"{ITEMS}/999999", expect=404)
    anyone.get(f"{ITEMS}/x", expect=404)


def test_closing_an_entity_holds_at_once(project):
    project.entity("posts", [{"name": "title", "type": "varchar", "public": True}], public_read=True)
    project.item("posts", title="x")
    anyone = project.client()
    anyone.get(ITEMS, expect=200)
    project.admin.put("/entities/posts", {"public_read": False}, expect=200)
    await_status(lambda: anyone.get(ITEMS), 404)

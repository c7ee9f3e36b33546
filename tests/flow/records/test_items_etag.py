"""ETags and conditional requests (RFC 9110 section 13)."""
import concurrent.futures

import pytest

ITEMS = "/entities/products/items"


@pytest.fixture(scope="module")
def shop(shared_project):
    shared_project.entity("products")
    return shared_project


@pytest.fixture
def record(shop):
    """(path, ETag) of a new record."""
    made = shop.admin.post(ITEMS, {"name": "x"}, expect=201)
    return f"{ITEMS}/{made.json()['id']}", made.headers["ETag"]


def test_the_tag_is_strong_and_changes_with_the_record(shop, record):
    path, etag = record
    assert etag.startswith('"') and etag.endswith('"')
    assert shop.admin.get(path).headers["ETag"] == etag == shop.admin.head(path).headers["ETag"]
    changed = shop.admin.put(path, {"name": "y"}, expect=200)
    assert changed.headers["ETag"] != etag
    assert shop.admin.get(path).headers["ETag"] == changed.headers["ETag"]
    assert shop.admin.put(path, {"name": "y"}).headers["ETag"] != etag
    assert shop.admin.get(f"{path}?fields=name").headers["ETag"] != shop.admin.get(path).headers["ETag"]


def test_links_change_the_tag(project):
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    project.entity("posts", [{"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}])
    tag = project.item("tags", name="a")["id"]
    path = f"/entities/posts/items/{project.item('posts')['id']}"
    before = project.admin.get(path).headers["ETag"]
    project.admin.put(path, {"tags": [tag]}, expect=200)
    after = project.admin.get(path).headers["ETag"]
    assert after != before
    expanded = project.admin.get(f"{path}?expand=tags").headers["ETag"]
    project.admin.put(f"/entities/tags/items/{tag}", {"name": "b"}, expect=200)
    assert project.admin.get(f"{path}?expand=tags").headers["ETag"] != expanded, "the representation changed, its tag did not"


def test_if_none_match(shop, record):
    path, etag = record
    for value in (etag, f"W/{etag}", "*", f'"x", {etag}', f'"x" ,W/{etag},"y"'):
        for method in ("GET", "HEAD"):
            answer = shop.admin.request(method, path, headers={"If-None-Match": value}, expect=304)
            assert answer.content == b"" and answer.headers["ETag"] == etag, value
    for value in ('"x"', "x", etag.strip('"'), etag + "x", ""):
        assert shop.admin.get(path, headers={"If-None-Match": value}, expect=200).json()["name"] == "x"
    shop.admin.get(f"{path}?fields=id", headers={"If-None-Match": etag}, expect=200)
    shop.admin.get(f"{ITEMS}/999999", headers={"If-None-Match": "*"}, expect=404)


def test_if_match(shop, record):
    path, etag = record
    for value in (etag, "*", f'"x", {etag}', f'{etag}, "x"', f'W/"9-a",{etag}'):
        etag = shop.admin.put(path, {"amount": 1}, headers={"If-Match": value.replace(record[1], etag)}, expect=200).headers["ETag"]
    stale = record[1]
    for value in (stale, f"W/{etag}", '"x"', "x", '""', '"-"', '"0-0"', '"-1-a"', '"99999999999999999999-a"', f'{stale}, {stale}',
                  f'W/{etag}, "x"', etag.strip('"'), '"'):
        for method in ("PUT", "PATCH", "DELETE"):
            answer = shop.admin.request(method, path, json={"amount": 9} if method != "DELETE" else None,
                                        headers={"If-Match": value}, expect=412)
            assert answer.json()["code"] == "precondition_failed", value
    assert shop.admin.get(path).headers["ETag"] == etag
    both = shop.admin.put(path, {"amount": 2}, headers={"If-Match": f"{stale}, {etag}"}, expect=200)
    assert both.json()["amount"] == 2
    shop.admin.put(path, {"amount": 3}, headers={"If-Match": ", ".join([stale] * 50)}, expect=400)
    shop.admin.put(f"{ITEMS}/999999", {"amount": 3}, headers={"If-Match": "*"}, expect=404)
    shop.admin.put(f"{ITEMS}/999999", {"amount": 3}, headers={"If-Match": etag}, expect=404)
    shop.admin.delete(path, headers={"If-Match": both.headers["ETag"]}, expect=204)


def test_an_empty_change_respects_if_match(shop, record):
    path, etag = record
    shop.admin.put(path, {}, headers={"If-Match": etag}, expect=200)
    shop.admin.put(path, {"name": "y"}, expect=200)
    shop.admin.put(path, {}, headers={"If-Match": etag}, expect=412)


def test_one_of_many_wins(shop, record):
    path, etag = record
    clients = [shop.client(token=shop.admin.token) for _ in range(10)]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        done = list(pool.map(lambda n: clients[n].put(path, {"amount": n}, headers={"If-Match": etag}).status_code, range(10)))
    assert sorted(done) == [200] + [412] * 9

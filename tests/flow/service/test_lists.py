"""Every list has the members of a page, even a list that takes no page parameters because it is always complete."""
ENVELOPE = {"total_items", "page", "page_size", "has_next_page"}
GROUPS = "/entities/{entity}/items/aggregate"  # aggregates have no second page


def resolve(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def lists(document):
    """(path, properties) of each GET that returns a list, and not an object with an id that contains a list."""
    for path, methods in document["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).get("application/json")
        shown = resolve(document, answer["schema"]).get("properties", {}) if answer else {}
        if "items" in shown and "id" not in shown:
            yield path, set(shown)


def test_lists_are_pages(shared_project):
    shared_project.entity("notes")
    documents = shared_project.admin.get("/docs", expect=200).json()["module_documentation"].values()
    found = dict(item for document in documents for item in lists(document))
    assert {"/menus/my", "/search/suggest", "/ai/models"} <= {path.replace("/org/{project}", "") for path in found}
    assert {path: ENVELOPE - shown for path, shown in found.items() if path != GROUPS and not ENVELOPE <= shown} == {}


def test_a_whole_list_says_so(shared_project):
    admin = shared_project.admin
    shared_project.entity("letters")
    path = f"/entities/letters/items/{shared_project.item('letters', name='a')['id']}/rls-users"
    whole = {"page": 1, "has_next_page": False}
    assert admin.get(path, expect=200).json() == {"items": [], "total_items": 0, "page_size": 1, **whole}
    user = shared_project.user()
    shown = admin.put(path, {"items": [{"user_id": user.user["id"]}]}, expect=200).json()
    assert {**shown, "items": len(shown["items"])} == {"items": 1, "total_items": 1, "page_size": 1, **whole}
    assert admin.put(path, shown, expect=200).json() == shown

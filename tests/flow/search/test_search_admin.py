"""Status, rebuild and purge of indexes, and the settings of search, without an indexer: what gateways do on their own."""
from groundwork.records import codes, execute, rows

NOTES = [{"name": "name", "type": "varchar", "searchable": True}]


def status(project):
    items = project.admin.get("/search/status", expect=200).json()["items"]
    return {item["entity"]: item for item in items}


def states(project, db):
    return rows(db, f"select entity_id, state from {project.schema(db)}.search_indexes order by id")


def test_status_lists_what_is_searched(project):
    project.entity("notes", NOTES)
    project.entity("plain", [{"name": "name", "type": "varchar"}])
    project.entity("silent", NOTES, searchable=False)
    found = status(project)
    assert list(found) == ["notes"]
    assert found["notes"]["status"] == "Indexing" and found["notes"]["documents"] == 0
    assert found["notes"]["last_indexed_at"] is None and found["notes"]["error"] is None


def test_status_of_each_state(project, db):
    entity = project.entity("notes", NOTES)
    table = f"{project.schema(db)}.search_indexes"
    execute(db, f"insert into {table} (entity_id, state, documents, last_indexed_at) values (%s, 'live', 5, now())", entity["id"])
    assert status(project)["notes"]["status"] == "Ready"
    assert status(project)["notes"]["documents"] == status(project)["notes"]["total"] == 5
    execute(db, f"insert into {table} (entity_id, state, documents, total, began_at) values (%s, 'building', 100, 400, now() - interval '10 s')", entity["id"])
    found = status(project)["notes"]
    assert (found["status"], found["documents"], found["total"]) == ("Indexing", 100, 400)
    assert 5 < found["documents_per_second"] <= 10 and 30 <= found["remaining_seconds"] < 60
    assert found["last_indexed_at"]
    execute(db, f"update {table} set state = 'failed', error = 'The disk is full.' where state = 'building'")
    found = status(project)["notes"]
    assert (found["status"], found["documents"], found["error"]) == ("Failed", 5, "The disk is full.")
    execute(db, f"delete from {table} where state = 'failed'")
    execute(db, f"update {table} set error = 'Changes cannot be indexed.' where state = 'live'")
    found = status(project)["notes"]
    assert (found["status"], found["documents"], found["error"]) == ("Failed", 5, "Changes cannot be indexed."), "the index answers but makes no progress"


def test_rehydrate(project, db):
    notes, books = project.entity("notes", NOTES), project.entity("books", NOTES)
    assert project.admin.post("/search/rehydrate/notes", expect=202).json() == {"status": "Indexing"}
    assert states(project, db) == [(notes["id"], "building")]
    assert status(project)["notes"]["status"] == "Indexing"
    assert project.admin.post("/search/rehydrate/notes", expect=409).json()["code"] == "conflict"
    project.admin.post("/search/rehydrate", expect=202)
    assert states(project, db) == [(notes["id"], "building"), (books["id"], "building")]
    project.admin.post("/search/rehydrate", expect=202)
    project.admin.post("/search/rehydrate/nothing", expect=404)
    project.entity("plain", [{"name": "name", "type": "varchar"}])
    project.admin.post("/search/rehydrate/plain", expect=409)
    actions = [entry["action"] for entry in project.admin.get("/audit-log", expect=200).json()["items"]]
    assert actions.count("search.rehydrate") == 3


def test_purge(project, db):
    notes, books = project.entity("notes", NOTES), project.entity("books", NOTES)
    table = f"{project.schema(db)}.search_indexes"
    for entity in (notes, books):
        execute(db, f"insert into {table} (entity_id, state, documents) values (%s, 'live', 5)", entity["id"])
    project.admin.delete("/search/purge/notes", expect=204)
    assert set(states(project, db)) == {(notes["id"], "dropped"), (notes["id"], "purged"), (books["id"], "live")}
    assert status(project)["notes"] == {**status(project)["notes"], "status": "Ready", "documents": 0, "total": 0}
    project.admin.delete("/search/purge/notes", expect=204)
    project.admin.delete("/search/purge", expect=204)
    assert (books["id"], "purged") in states(project, db) and (books["id"], "live") not in states(project, db)
    project.admin.delete("/search/purge/nothing", expect=404)
    project.admin.post("/search/rehydrate/notes", expect=202)
    assert status(project)["notes"]["status"] == "Indexing"


def test_who_may(project):
    project.entity("notes", NOTES)
    user, key = project.user(entities=["notes"]), project.key([])
    for client in (user, key):
        client.get("/search/status", expect=403)
        client.post("/search/rehydrate", expect=403)
        client.delete("/search/purge/notes", expect=403)
        client.get("/search/settings", expect=403)
        client.put("/search/settings", {}, expect=403)


DEFAULTS = {"public": True, "synonyms": [], "stop_words": [], "typo_tolerance": {"enabled": True, "disabled_fields": []}}


def test_settings(project):
    project.entity("notes", NOTES)
    assert project.admin.get("/search/settings", expect=200).json() == DEFAULTS
    wanted = {
        "public": False,
        "synonyms": [{"words": ["Sofa", "couch"]}],
        "stop_words": ["the"],
        "typo_tolerance": {"enabled": True, "disabled_fields": ["notes.name"]},
    }
    assert project.admin.put("/search/settings", wanted, expect=200).json() == wanted
    kept = {**wanted, "stop_words": ["of"]}
    assert project.admin.put("/search/settings", {"stop_words": ["of"]}, expect=200).json() == kept
    assert project.admin.get("/search/settings", expect=200).json() == kept
    nothing = {name: None for name in DEFAULTS}
    assert project.admin.put("/search/settings", nothing, expect=200).json() == DEFAULTS


def test_settings_follow_names(project):
    project.entity("notes", NOTES)
    project.admin.put("/search/settings", {"typo_tolerance": {"disabled_fields": ["notes.name"]}}, expect=200)
    project.admin.put("/entities/notes/fields/name", {"name": "title"}, expect=200)
    shown = project.admin.get("/search/settings", expect=200).json()["typo_tolerance"]["disabled_fields"]
    assert shown == ["notes.title"]
    project.admin.delete("/entities/notes", expect=204)
    assert project.admin.get("/search/settings", expect=200).json()["typo_tolerance"]["disabled_fields"] == []


def test_settings_that_make_no_sense(project):
    project.entity("notes", NOTES)

    def refused(body):
        return codes(project.admin.put("/search/settings", body, expect=400))

    assert refused({"stop_words": ["two words"]}) == {"stop_words[0]": "pattern"}
    assert refused({"stop_words": ["..."]}) == {"stop_words[0]": "pattern"}
    assert refused({"synonyms": [{"words": ["alone"]}]}) == {"synonyms[0].words": "out_of_range"}
    assert refused({"synonyms": [{"words": ["tv", "AB-12"]}]}) == {"synonyms[0].words[1]": "pattern"}
    assert refused({"typo_tolerance": {"disabled_fields": ["notes.nothing"]}}) == {"typo_tolerance.disabled_fields[0]": "pattern"}
    assert refused({"typo_tolerance": {"disabled_fields": ["notes"]}}) == {"typo_tolerance.disabled_fields[0]": "pattern"}
    assert refused({"words": []}) == {"words": "unknown_field"}
    assert project.admin.get("/search/settings", expect=200).json() == DEFAULTS


def test_weights_of_fields(project):
    project.entity("notes", [{**NOTES[0], "options": {"max_length": 100, "search_weight": 7}}])
    shown = project.admin.get("/entities/notes/fields", expect=200).json()["items"][0]["options"]
    assert shown == {"max_length": 100, "search_weight": 7}
    changed = project.admin.put("/entities/notes/fields/name", {"options": {"search_weight": None}}, expect=200).json()
    assert changed["options"] == {"max_length": 100}
    refused = project.admin.put("/entities/notes/fields/name", {"options": {"search_weight": 101}}, expect=400)
    assert codes(refused) == {"options.search_weight": "out_of_range"}

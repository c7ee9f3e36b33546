"""Searches, and waits until the index has followed the writes."""
from .deadline import until
from .records import rows


def is_indexed(project, db, entities):
    schema = project.schema(db)
    (waiting,), = rows(db, f"select exists (select 1 from {schema}.outbox where pending & 2 <> 0)"
                           f" or exists (select 1 from {schema}.search_work where due_at <= now())"
                           f" or exists (select 1 from {schema}.search_indexes where state = 'building')"
                           f" or (select model_version from {schema}.search_lease) <> (select model_version from {schema}.meta)")
    (live,), = rows(db, f"select count(*) from {schema}.search_indexes i join {schema}.entities e on e.id = i.entity_id"
                        f" where i.state in ('live', 'purged', 'failed') and e.name = any(%s)", list(entities))
    return not waiting and live >= len(entities)


def wait_indexed(project, db, *entities, within=6):
    """Waits until the index of these entities contains everything written to the project before the call."""
    until(lambda: is_indexed(project, db, entities),
          lambda: rows(db, f"select * from {project.schema(db)}.search_indexes"), within, pause=0.02)


def search(client, q, expect=200, **parameters):
    """Returns the answer of a search; `filter` is a dict whose keys are the text in brackets, with the brackets."""
    filters = {f"filter{key}": value for key, value in parameters.pop("filter", {}).items()}
    public = parameters.pop("public", False)
    answer = client.get("/search/public" if public else "/search", params={"q": q, **parameters, **filters}, expect=expect)
    return answer.json()


def hits(answer):
    """(entity, id) of the items of an answer, in their order."""
    return [(item["entity"], item["id"]) for item in answer["items"]]


def find_ids(client, q, **parameters):
    """Ids of the records that a search finds, in its order."""
    return [item["id"] for item in search(client, q, **parameters)["items"]]

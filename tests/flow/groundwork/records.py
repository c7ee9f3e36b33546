"""Reads records, and rows that the service writes along with them."""
from .soon import settle


def codes(response):
    """Returns the findings of an error: member -> code."""
    return {finding["field"]: finding["code"] for finding in response.json().get("errors", [])}


def ids(response):
    """Returns the ids of a list, in its order."""
    assert response.status_code == 200, response.text
    return [item["id"] for item in response.json()["items"]]


def table(project, db, entity):
    return f"{project.schema(db)}.e_{entity['id']}"


def column(entity, name):
    return next(f"f_{field['id']}" for field in entity["fields"] if field["name"] == name)


def rows(db, statement, *values):
    with db.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def execute(db, statement, *values):
    with db.cursor() as cursor:
        cursor.execute(statement, values)


def listen(project, db, entity, *events):
    """Adds a listener to these events and waits until every worker knows the listener."""
    schema = project.schema(db)
    for event in events:
        execute(
            db, f"insert into {schema}.event_listeners (source, entity_id, event) values (%s, %s, %s)",
            "workflow:1", entity["id"], event,
        )
    execute(db, f"update {schema}.meta set model_version = model_version + 1")
    execute(db, "update platform.projects set epoch = epoch + 1 where slug = %s", project.id)
    settle()


def notifications(project, db, redis_client, topic="job", group="workflow-runner"):
    """Returns a function that counts the notifications of a topic in the project's partition. Creates the group if the stream
    does not exist."""
    (partition,), = rows(db, "select partition from platform.projects where slug = %s", project.id)
    stream = f"{topic}:{{p{partition}}}"
    if not redis_client.exists(stream):
        redis_client.xgroup_create(stream, group, "0", mkstream=True)
    return lambda: redis_client.xlen(stream)


def outbox(project, db, since=0):
    """(event, record id, payload, actor) of the outbox rows after `since`, oldest first."""
    return rows(
        db, f"select event, record_id, payload, actor_id from {project.schema(db)}.outbox where id > %s order by id", since
    )


def outbox_end(project, db):
    return rows(db, f"select coalesce(max(id), 0) from {project.schema(db)}.outbox")[0][0]

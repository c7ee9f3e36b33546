"""What one gateway has changed the others learn, told or not."""
import time

from groundwork.records import execute, outbox


def test_a_change_that_nobody_was_told_of(project, db):
    """As a gateway leaves it that dies behind its commit: the epoch has not moved, and never will."""
    orders = project.entity("orders", [{"name": "sku", "type": "varchar"}])
    schema = project.schema(db)
    for _ in range(4):
        project.item("orders", sku="before")
    listener = f"insert into {schema}.event_listeners (source, entity_id, event) values ('workflow:1', %s, 'EntityCreated')"
    execute(db, listener, orders["id"])
    execute(db, f"update {schema}.meta set model_version = model_version + 1")
    end = time.monotonic() + 15
    while not outbox(project, db):
        assert time.monotonic() < end, "the model is still the one before"
        project.item("orders", sku="after")
        time.sleep(0.2)

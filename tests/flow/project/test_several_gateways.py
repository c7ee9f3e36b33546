"""Two gateways of one project: a gateway accepts what the other has changed, whether or not it was notified."""
import pytest
from groundwork.chaos import client_at, redis_proxy, redis_proxy_settings
from groundwork.deadline import until
from groundwork.records import execute, outbox


@pytest.fixture(scope="module")
def unnotified_gateway(start_gateway, servers):
    """A gateway that notices changes only when it reads the epochs, once a second."""
    with redis_proxy(servers) as proxy:
        gateway = start_gateway("untold", WORKERS=1, **redis_proxy_settings(proxy))
        proxy.say("cut")
        yield gateway
        gateway.stop()


def stale_client(project, untold):
    """A client of the other gateway, whose caches hold the project's present state."""
    client = client_at(untold, project)
    client.get("/entities", expect=200)
    return client


def test_a_new_field_and_a_new_value(project, unnotified_gateway):
    project.admin.post("/enums", {"name": "states", "values": ["open"]}, expect=201)
    project.entity("orders", [{"name": "sku", "type": "varchar"}, {"name": "state", "type": "enum", "options": {"enum": "states"}}])
    other = stale_client(project, unnotified_gateway)
    items = "/entities/orders/items"
    other.post(items, {"sku": "a", "state": "open"}, expect=201)
    for n in range(3):
        field = f"extra{n}"
        project.admin.post("/entities/orders/fields", {"name": field, "type": "integer"}, expect=201)
        made = other.post(items, {"sku": "b", field: n}, expect=201).json()
        project.admin.put("/enums/states", {"values": ["open", *(f"s{k}" for k in range(n + 1))]}, expect=200)
        assert other.put(f"{items}/{made['id']}", {"state": f"s{n}"}, expect=200).json()["state"] == f"s{n}"
        project.admin.put(f"/entities/orders/fields/{field}", {"name": f"late{n}"}, expect=200)
        assert other.get(items, params={f"filter[late{n}]": n, "sort": f"late{n}"}, expect=200).json()["total_items"] == 1
    unknown = other.post(items, {"sku": "b", "nothing": 1}, expect=400).json()
    assert [error["field"] for error in unknown["errors"]] == ["nothing"]


def test_permissions_of_a_new_entity(project, unnotified_gateway):
    other = stale_client(project, unnotified_gateway)
    for n in range(3):
        project.entity(f"things{n}", [])
        made = other.post("/api-keys", {"name": "k", "permissions": [f"things{n}:read"]}, expect=201).json()
        assert (made["permissions"], made["dropped_permissions"]) == ([f"things{n}:read"], [])
        project.entity(f"others{n}", [{"name": "a", "type": "varchar"}])
        rule = {"entity": f"others{n}", "action": "read", "fields": ["a"]}
        role = {"name": f"r{n}", "permissions": [f"others{n}:read"], "field_access": [rule]}
        assert other.post("/roles", role, expect=201).json()["field_access"] == [rule]


def test_a_change_that_nobody_was_notified_of(project, db):
    """Gateways notice a change of the model whose gateway died after the commit, before it moved the epoch."""
    orders = project.entity("orders", [{"name": "sku", "type": "varchar"}])
    schema = project.schema(db)
    for _ in range(4):
        project.item("orders", sku="before")
    listener = f"insert into {schema}.event_listeners (source, entity_id, event) values ('workflow:1', %s, 'EntityCreated')"
    execute(db, listener, orders["id"])
    execute(db, f"update {schema}.meta set model_version = model_version + 1")

    def is_told():
        project.item("orders", sku="after")
        return outbox(project, db)

    until(is_told, "the gateway still uses the former model", within=15, pause=0.2)

"""FCM tokens in a column of an entity: every record with a token is a device, also with row-level security."""
import json

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows

pytestmark = pytest.mark.usefixtures("dispatcher")
LOGS = "/push/send-logs"


@pytest.fixture
def app(project, fcm, push_service):
    """A project whose phones are records, and with a browser and a phone that are registered devices."""
    project.entity("phones", [{"name": "token", "type": "varchar"}, {"name": "owner", "type": "integer"}], row_level_security=True)
    project.admin.put("/push/credentials/fcm", {"service_account_json": fcm.new_account()}, expect=200)
    project.admin.put("/push/credentials/web-push", {"subject": "mailto:ops@shop.example"}, expect=200)
    key = project.client().get("/push/vapid-public-key", expect=200).json()["public_key"]
    project.guest = project.user()
    project.browser = push_service.subscribe(key)
    for provider, token in (("fcm", f"registered-{project.id}"), ("web_push", project.browser)):
        project.guest.post("/push/devices", {"provider": provider, "token": token}, expect=201)
    name(project)
    fcm.forget()
    yield project
    assert fcm.violations() == [] and push_service.violations() == []


def name(app, **changed):
    body = {"kind": "entity_field", "entity": "phones", "token_field": "token", "owner_user_field": "owner", **changed}
    app.admin.put("/push/credentials/fcm/device-source", body, expect=200)


def phone(app, token, owner=None):
    return app.item("phones", token=token, owner=owner)["id"]


def send(app, **target):
    """Makes a send. Returns its log when the send has ended."""
    made = app.admin.post("/push/test", {"title": "x", "body": "x", **target}, expect=202).json()["send_log_id"]
    until(lambda: app.admin.get(f"{LOGS}/{made}").json()["finished_at"], lambda: app.admin.get(f"{LOGS}/{made}").text)
    return app.admin.get(f"{LOGS}/{made}", expect=200).json()


def deliveries(app, log):
    found = app.admin.get(f"{LOGS}/{log['id']}/deliveries", params={"order": "asc"}, expect=200).json()["items"]
    return [(each["provider"], each["device_id"] is not None, each["record_id"], each["status"], each["code"]) for each in found]


def reached(fcm):
    tokens = sorted(each["token"] for each in fcm.messages())
    fcm.forget()
    return tokens


def test_records_are_the_devices(app, fcm, push_service):
    guest = app.guest.user["id"]
    mine, other = phone(app, "source-a", guest), phone(app, "source-b", 424242)
    phone(app, "", guest), phone(app, None, guest)
    log = send(app)
    assert reached(fcm) == ["source-a", "source-b"] and len(push_service.messages(app.browser)) == 1
    assert (log["status"], log["targets"]) == ("Succeeded", 3)
    assert deliveries(app, log) == [("fcm", False, mine, "delivered", None), ("fcm", False, other, "delivered", None),
                                    ("web_push", True, None, "delivered", None)]
    # A send can be addressed to the owner of the device, or to its record.
    send(app, target_user_id=guest)
    assert reached(fcm) == ["source-a"]
    send(app, target_user_ids=[guest, 424242], provider="fcm")
    assert reached(fcm) == ["source-a", "source-b"]
    send(app, owner_entity_name="phones", owner_entity_id=other)
    assert reached(fcm) == ["source-b"]
    assert send(app, provider="web_push")["targets"] == 1 and reached(fcm) == []
    # Registered devices are used again.
    app.admin.put("/push/credentials/fcm/device-source", {}, expect=200)
    send(app, target_user_id=guest)
    assert reached(fcm) == [f"registered-{app.id}"]


def test_dead_tokens_stay_in_the_column(app, fcm):
    dead = phone(app, "source-dead")
    phone(app, "source-lives")
    fcm.kill("source-dead")
    log = send(app, provider="fcm")
    assert (log["status"], log["results"]) == ("Succeeded", [{"provider": "fcm", "delivered": 1, "failed": 0, "unregistered": 1}])
    assert ("fcm", False, dead, "unregistered", "UNREGISTERED") in deliveries(app, log)
    assert app.admin.get(f"/entities/phones/items/{dead}", expect=200).json()["token"] == "source-dead"
    assert send(app, provider="fcm")["targets"] == 2


def test_another_entitys_records_own_none(app, fcm):
    app.entity("tables", [{"name": "name", "type": "varchar"}])
    phone(app, "source-c")
    table = app.item("tables", name="4")["id"]
    log = send(app, owner_entity_name="tables", owner_entity_id=table)
    assert (log["status"], log["first_error"], reached(fcm)) == ("Failed", "NO_DEVICE", [])


def test_pages(app, db, fcm):
    schema = app.schema(db)
    entity = app.admin.get("/entities/phones", expect=200).json()
    ids = {field["name"]: field["id"] for field in entity["fields"]}
    execute(db, f"insert into {schema}.e_{entity['id']} (f_{ids['token']}) select 'source-' || n from generate_series(1, 1200) n")
    log = send(app, provider="fcm")
    assert (log["status"], log["targets"]) == ("Succeeded", 1200)
    assert len(set(reached(fcm))) == 1200
    assert rows(db, f"select count(*), count(token) from {schema}.push_deliveries where send_id = %s", log["id"]) == [(1200, 1200)]


def test_a_column_that_is_gone(app, fcm):
    phone(app, "source-d")
    app.admin.delete("/entities/phones/fields/token", expect=204)
    log = send(app, provider="fcm")
    assert (log["status"], log["first_error"]) == ("Failed", "INVALID_SOURCE")
    log = send(app)
    assert log["status"] == "Succeeded" and reached(fcm) == []


def test_what_is_no_token_is_no_device(app, db, fcm):
    phone(app, 'quoted "\\ \u2028 ' + "ä" * 20)
    app.entity("texts", [{"name": "token", "type": "text"}, {"name": "owner", "type": "integer"}])
    app.item("texts", token="x" * 5000)
    log = send(app, provider="fcm")
    assert log["targets"] == 1
    fcm.forget()
    name(app, entity="texts")
    assert send(app, provider="fcm")["first_error"] == "NO_DEVICE" and reached(fcm) == []
    assert "x" * 100 not in json.dumps(log)

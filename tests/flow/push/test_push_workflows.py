"""Push by the API alone, with a runner and a dispatcher: configuration, a step that sends, a tap, and the workflow that the tap starts."""
import json

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import condition, wait_ended, step
from groundwork.soon import settle
from groundwork.workflows import jobs_of, start, workflow

pytestmark = pytest.mark.usefixtures("runner", "dispatcher")
RSVP = {"id": "rsvp", "actions": [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]}
BUTTONS = [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]


@pytest.fixture
def app(project, fcm, push_service):
    """A project with both providers and a group of buttons. `phone` and `browser` belong to one user."""
    project.admin.put("/push/credentials/fcm", {"service_account_json": fcm.new_account()}, expect=200)
    project.admin.put("/push/credentials/web-push", {"subject": "mailto:ops@shop.example"}, expect=200)
    project.admin.post("/push/categories/sync", {"app_version": "1", "categories": [RSVP]}, expect=200)
    project.guest = project.user()
    project.phone = f"phone-{project.id}"
    key = project.client().get("/push/vapid-public-key", expect=200).json()["public_key"]
    project.browser = push_service.subscribe(key)
    for provider, token in (("fcm", project.phone), ("web_push", project.browser)):
        project.guest.post("/push/devices", {"provider": provider, "token": token}, expect=201)
    yield project
    assert fcm.violations() == [] and push_service.violations() == []


def push(**params):
    return step("push", "SendPushNotification", {"audience": {"kind": "user", "user_id": "{{ $svc.trigger.data.guest }}"}, **params})


def run(app, *steps, **data):
    return wait_ended(app, start(app.admin, workflow(app.admin, steps=list(steps)), {"guest": app.guest.user["id"], **data}))


def run_push(app, step_params):
    """Runs a workflow of one push step, which must succeed. Returns the job."""
    ended = run(app, push(**step_params), name="Ana")
    assert ended["status"] == "succeeded", ended
    return ended


def run_refused(app, **params):
    ended = run(app, push(**{"title": "x", "body": "x", **params}))
    assert ended["status"] == "failed"
    return ended


def sends(app, db):
    return rows(db, f"select category, request from {app.schema(db)}.push_sends order by id")


def test_asked_answered_and_told(app, db, fcm, push_service):
    told = workflow(app.admin, {"kind": "event", "event": "PushActionTaken", "entity": "rsvp",
                                "filter": {"field": "action_id", "op": "eq", "value": "yes"}}, [condition()])
    settle()
    run_push(app, {"title": "Dinner, {{ $svc.trigger.data.name }}", "body": "Coming?", "category": "rsvp", "buttons": BUTTONS,
                   "data": {"dinner": "8"}})
    (message,) = fcm.messages(app.phone)
    assert message["notification"] == {"title": "Dinner, Ana", "body": "Coming?"} and message["data"]["dinner"] == "8"
    assert json.loads(message["data"]["buttons"]) == BUTTONS
    (shown,) = push_service.messages(app.browser)
    assert shown["data"]["notification_id"] == message["data"]["notification_id"]
    assert [each["action"] for each in shown["actions"]] == ["yes", "no"]
    (log,) = app.admin.get("/push/send-logs", expect=200).json()["items"]
    assert log["source"] == "Workflow" and log["status"] == "Succeeded" and log["step_key"] == "push" and log["workflow_name"]
    assert log["results"] == [{"provider": provider, "delivered": 1, "failed": 0, "unregistered": 0} for provider in ("fcm", "web_push")]
    found = app.admin.get(f"/push/send-logs/{log['id']}/deliveries", expect=200).json()["items"]
    assert {(each["provider"], each["status"], each["code"]) for each in found} == {
        ("fcm", "delivered", None), ("web_push", "delivered", None)}
    # The app reports the tap only with members of the message that it received.
    body = {"notification_id": message["data"]["notification_id"], "category": "rsvp", "action_id": "no"}
    assert app.client().post("/push/action-events", body, expect=202).json() == {"received": True}
    body["action_id"] = "yes"
    assert app.client().post("/push/action-events", body, expect=202).json() == {"received": True}
    assert app.client().post("/push/action-events", body, expect=202).json() == {"duplicate": True}
    ((job, _),) = until(lambda: jobs_of(app, db, told), "the workflow of the tap")
    ended = wait_ended(app, job)
    assert ended["status"] == "succeeded" and ended["trigger"]["id"] == app.guest.user["id"]
    assert ended["trigger"]["data"]["action_id"] == "yes"


def test_a_test_send(app, fcm):
    made = app.admin.post("/push/test", {"title": "Hello", "body": "x", "target_user_id": app.guest.user["id"], "provider": "fcm"},
                          expect=202).json()["send_log_id"]
    path = f"/push/send-logs/{made}"
    until(lambda: app.admin.get(path).json()["status"] == "Succeeded", lambda: app.admin.get(path).text)
    assert fcm.messages(app.phone)[-1]["notification"] == {"title": "Hello", "body": "x"}
    app.admin.post(f"{path}/cancel", expect=409)


def test_a_broadcast_is_watched_and_stopped(app, db, fcm):
    """The log shows the progress of a running broadcast. After a broadcast is cancelled, no further message is sent, and the log counts the remaining
    devices as failed."""
    execute(db, f"""insert into {app.schema(db)}.push_devices (provider, token, token_hash)
                    select 'fcm', 'watch' || n, sha256(('watch' || n)::bytea) from generate_series(1, 4000) n""")
    fcm.forget()
    fcm.fault("hold", times=None, skip=300)
    try:
        made = app.admin.post("/push/test", {"title": "All", "body": "x"}, expect=202).json()["send_log_id"]
        path = f"/push/send-logs/{made}"

        def so_far():
            log = app.admin.get(path, expect=200).json()
            counts = {each["provider"]: each["delivered"] for each in log["results"]}
            return log["status"] == "Running" and counts.get("fcm", 0)

        first = until(so_far, lambda: app.admin.get(path).text)
        fcm.release()
        second = until(lambda: so_far() > first and so_far(), lambda: app.admin.get(path).text)
        assert 0 < first < second < 4001
        assert app.admin.get(path).json()["targets"] == 4002
        app.admin.post(f"{path}/cancel", expect=202)
    finally:
        fcm.clear_faults()
    until(lambda: app.admin.get(path).json()["finished_at"], lambda: app.admin.get(path).text)
    log = app.admin.get(path, expect=200).json()
    assert (log["source"], log["status"], log["first_error"]) == ("Broadcast", "Partial", "CANCELLED") and log["cancelled_at"]
    (phones,) = [each for each in log["results"] if each["provider"] == "fcm"]
    assert phones["delivered"] == len(fcm.messages()) < 4001 and phones["delivered"] + phones["failed"] == 4001
    params = {"provider": "fcm", "status": "failed", "limit": 1}
    failed = app.admin.get(f"{path}/deliveries", params=params, expect=200).json()
    assert failed["items"][0]["code"] == "CANCELLED" and failed["total_items"] == phones["failed"]
    app.admin.post(f"{path}/cancel", expect=409)


def test_devices_of_a_record(app, fcm):
    app.entity("tables", [{"name": "name", "type": "varchar"}])
    table = app.item("tables", name="4")["id"]
    token = f"table-{app.id}"
    app.admin.post("/push/devices", {"provider": "fcm", "token": token, "owner_entity_name": "tables", "owner_entity_id": table},
                   expect=201)
    made = app.admin.post("/push/test", {"title": "x", "body": "x", "owner_entity_name": "tables", "owner_entity_id": table},
                          expect=202).json()["send_log_id"]
    path = f"/push/send-logs/{made}"
    until(lambda: app.admin.get(path).json()["status"] == "Succeeded", lambda: app.admin.get(path).text)
    assert len(fcm.messages(token)) == 1


def test_a_steps_template(app, db, fcm):
    template = {"template_type": "dinner", "name": "Dinner", "title": "From the template", "body": "So is this", "category": "rsvp",
                "buttons": BUTTONS[:1], "click_action": "app://dinner"}
    app.admin.post("/push/templates", template, expect=201)
    run_push(app, {"template_type": "dinner", "title": "From the step"})
    ((category, request),) = sends(app, db)
    assert category == "rsvp" and request == {
        "title": "From the step", "body": "So is this", "category": "rsvp", "buttons": BUTTONS[:1], "click_action": "app://dinner",
        "audience": {"kind": "user", "user_id": app.guest.user["id"]}}
    assert fcm.messages(app.phone)[-1]["notification"]["body"] == "So is this"
    app.admin.put("/push/templates/dinner", {"is_active": False}, expect=200)
    assert "not active" in json.dumps(run_refused(app, template_type="dinner"))
    assert "no template" in json.dumps(run_refused(app, template_type="absent"))
    app.admin.put("/push/templates/dinner", {"is_active": True, "body": None}, expect=200)
    ended = run(app, push(template_type="dinner"))
    assert ended["status"] == "failed" and "body" in json.dumps(ended)
    assert len(sends(app, db)) == 1


def test_a_steps_buttons(app, db):
    maybe = [{"id": "maybe", "label": "Maybe"}]
    assert "yes, no" in json.dumps(run_refused(app, category="rsvp", buttons=maybe))
    assert "absent" in json.dumps(run_refused(app, category="absent"))
    app.admin.put("/push/categories", {"category": "rsvp", "is_enabled": False}, expect=200)
    assert "disabled" in json.dumps(run_refused(app, category="rsvp"))
    assert sends(app, db) == []


def test_s8_an_accounts_own_token_address_is_not_asked(app, fcm, sink):
    account = {**json.loads(fcm.new_account()), "token_uri": f"{sink.url}/token", "auth_uri": f"{sink.url}/auth",
               "auth_provider_x509_cert_url": f"{sink.url}/certs"}
    app.admin.put("/push/credentials/fcm", {"service_account_json": json.dumps(account)}, expect=200)
    run_push(app, {"title": "x", "body": "x"})
    assert len(fcm.messages(app.phone)) == 1 and sink.requests == []


def test_x5_texts_travel_as_they_are(app, fcm, push_service):
    text = "<b>1 < 2</b>\r\nX-Header: %s%n {{ no }} \u202eelif\u202c \"quoted\" \\ \u2028"
    made = app.admin.post("/push/test", {"title": text, "body": text, "target_user_id": app.guest.user["id"], "category": "rsvp",
                                         "buttons": [{"id": "yes", "label": text}], "data": {"text": text}}, expect=202).json()
    path = f"/push/send-logs/{made['send_log_id']}"
    until(lambda: app.admin.get(path).json()["status"] == "Succeeded", lambda: app.admin.get(path).text)
    assert app.admin.get(path).json()["body_preview"] == text
    (message,), (shown,) = fcm.messages(app.phone), push_service.messages(app.browser)
    assert message["notification"] == {"title": text, "body": text} and message["data"]["text"] == text
    assert json.loads(message["data"]["buttons"])[0]["label"] == text
    assert (shown["title"], shown["body"], shown["data"]["text"], shown["actions"][0]["title"]) == (text,) * 4


def test_a_step_when_as_many_wait_as_may(app, db):
    schema = app.schema(db)
    execute(db, f"insert into {schema}.push_sends (source, request, due_at) select 'Test', '{{}}', now() + interval '1 hour' "
                "from generate_series(1, 10000)")
    assert "which is the maximum" in json.dumps(run_refused(app))
    execute(db, f"delete from {schema}.push_sends where request = '{{}}'")
    run_push(app, {"title": "x", "body": "x"})

"""The push-dispatcher from end to end, with faults of the providers (D15): it reads rows of sends, sends requests to the providers, and writes rows
of results."""
import json
import socket

import pytest
from groundwork.deadline import until
from groundwork.runs import wait_ended, step
from groundwork.workflows import start, workflow
from psycopg2.extras import Json

pytestmark = pytest.mark.usefixtures("dispatcher")


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests of this module, see `push_project`."""
    return shared_project


@pytest.fixture
def push_project(push_project, fcm, push_service):
    """`push_project` without the devices, sends and requests that the previous test left."""
    for table in ("push_deliveries", "push_sends", "push_devices"):
        push_project.execute(f"delete from {{p}}.{table}")
    fcm.forget()
    push_service.forget()
    return push_project


def test_one_phone(push_project, fcm):
    device = push_project.device("one-phone")
    send = push_project.send({"kind": "all"}, category="order", buttons=[{"id": "ok", "label": "OK"}], data={"order": "7"})
    log = push_project.wait_ended(send)
    assert (log["status"], log["targets"], log["fcm_delivered"], log["first_error"]) == ("Succeeded", 1, 1, None)
    assert log["result"] == {"delivered": 1, "failed": 0, "unregistered": 0}
    assert push_project.deliveries(send) == {device: ("delivered", None)}
    [message] = fcm.messages("one-phone")
    assert message["notification"] == {"title": "Order ready", "body": "Table 4"}
    assert message["data"]["order"] == "7" and message["data"]["category"] == "order"
    assert json.loads(message["data"]["buttons"]) == [{"id": "ok", "label": "OK"}]
    assert message["apns"]["payload"]["aps"]["category"] == "order"
    assert len(message["data"]["notification_id"]) == 50


def test_one_browser(push_project, push_service):
    subscription, device = push_project.browser()
    send = push_project.send(category="order", buttons=[{"id": "ok", "label": "OK"}])
    log = push_project.wait_ended(send)
    assert (log["status"], log["web_delivered"]) == ("Succeeded", 1)
    [message] = push_service.messages(subscription)
    message = message.get("message", message)
    assert message["title"] == "Order ready" and message["actions"] == [{"action": "ok", "title": "OK"}]
    assert push_project.deliveries(send) == {device: ("delivered", None)}


def test_audiences(push_project, fcm, push_service):
    admin = push_project.project.admin.user["id"]
    other = push_project.project.user().user["id"]
    tag = f"aud-{push_project.number}"
    push_project.device(f"{tag}-admin", user=admin)
    push_project.device(f"{tag}-other", user=other)
    push_project.device(f"{tag}-owned", owner=(11, 22))
    browser, _ = push_project.browser(admin)

    def reached(audience):
        fcm.forget()
        push_service.forget()
        assert push_project.wait_ended(push_project.send(audience))["status"] == "Succeeded"
        return sorted(each["token"].removeprefix(tag + "-") for each in fcm.messages()) + ["web"] * len(push_service.messages(browser))

    assert reached({"kind": "user", "user_id": str(admin)}) == ["admin", "web"]
    assert reached({"kind": "user", "user_id": admin, "provider": "fcm"}) == ["admin"]
    assert reached({"kind": "user", "user_id": admin, "provider": "web_push"}) == ["web"]
    assert reached({"kind": "users", "user_ids": [admin, other]}) == ["admin", "other", "web"]
    assert reached({"kind": "entity", "owner_entity_id": 11, "owner_record_id": 22}) == ["owned"]
    assert reached({"kind": "all"}) == ["admin", "other", "owned", "web"]


def test_nobody(push_project):
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["first_error"], log["targets"]) == ("Failed", "NO_DEVICE", 0)
    assert log["result"] == {"delivered": 0, "failed": 0, "unregistered": 0, "delivery_error": "NO_DEVICE"}
    push_project.device("nobody-phone")
    push_project.remove("fcm")
    push_project.remove("web_push")
    assert push_project.wait_ended(push_project.send())["first_error"] == "NO_PROVIDER"


@pytest.mark.parametrize("request_, code", [
    ({"body": ""}, "NO_TEXT"), ({"audience": {"kind": "everybody"}}, "INVALID_AUDIENCE"),
    ({"audience": {"kind": "entity", "owner_entity_name": "nothing", "owner_entity_id": 4}}, "INVALID_AUDIENCE"),
    ({"data": {"from": "x"}}, "INVALID_DATA"), ({"buttons": [{"label": "x"}]}, "INVALID_BUTTONS")])
def test_what_cannot_be_sent(push_project, request_, code):
    push_project.device("cannot-phone")
    send = push_project.send(**{"title": "" if "body" in request_ else "t", **request_})
    log = push_project.wait_ended(send)
    assert (log["status"], log["first_error"]) == ("Failed", code)


def test_dead_and_failing_devices(push_project, fcm, push_service):
    dead, bad = push_project.device("dead-phone"), push_project.device("bad-phone")
    good, (gone, web) = push_project.device("good-phone"), push_project.browser()
    fcm.kill("dead-phone")
    push_service.unsubscribe(gone)
    fcm.fault("status", token="bad-phone", status=403, code="SENDER_ID_MISMATCH")
    send = push_project.send()
    log = push_project.wait_ended(send)
    assert log["status"] == "Partial" and log["first_error"] == "SENDER_ID_MISMATCH"
    assert log["result"] == {"delivered": 1, "failed": 1, "unregistered": 2,
                             "delivery_error": "1 of 4 devices failed: SENDER_ID_MISMATCH"}
    assert push_project.deliveries(send) == {
        dead: ("unregistered", "UNREGISTERED"), bad: ("failed", "SENDER_ID_MISMATCH"), good: ("delivered", None),
        web: ("unregistered", "HTTP_410")}
    assert [push_project.is_live(each) for each in (dead, bad, good, web)] == [False, True, True, False]
    fcm.forget()
    assert push_project.wait_ended(push_project.send())["targets"] == 2
    assert not fcm.sends("dead-phone")


def test_dead_alone(push_project, fcm):
    push_project.device("dead-alone")
    fcm.kill("dead-alone")
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["first_error"]) == ("Failed", "UNREGISTERED")


def test_seen_again_while_it_died(push_project, fcm):
    device = push_project.device("back-phone")
    fcm.kill("back-phone")
    fcm.fault("hold", token="back-phone")
    send = push_project.send()
    until(lambda: fcm.sends("back-phone"), "it is being sent")
    push_project.execute("update {p}.push_devices set last_seen_at = now() where id = %s", device)
    fcm.clear_faults()
    assert push_project.wait_ended(send)["fcm_unregistered"] == 1
    assert push_project.is_live(device)


@pytest.mark.parametrize("fault", [
    dict(kind="status", status=429, retry_after=0), dict(kind="status", status=503, html=True), dict(kind="status", status=500),
    dict(kind="reset"), dict(kind="goaway"), dict(kind="refuse"), dict(kind="drop")])
def test_passing_faults(push_project, fcm, fault):
    token = f"fault-{push_project.number}"
    push_project.device(token)
    fcm.fault(token=token, times=2, **fault)
    log = push_project.wait_ended(push_project.send())
    assert log["status"] == "Succeeded", (log, fcm.sends(token))
    assert len(fcm.messages(token)) == 1


def test_three_repetitions_and_no_more(push_project, fcm):
    token = f"never-{push_project.number}"
    push_project.device(token)
    fcm.fault("status", token=token, status=503, times=None)
    try:
        log = push_project.wait_ended(push_project.send())
    finally:
        fcm.clear_faults()
    assert (log["status"], log["first_error"]) == ("Failed", "UNAVAILABLE")
    assert len(fcm.sends(token)) == 4


def test_garbage_is_no_delivery(push_project, fcm):
    push_project.device("garbage-phone")
    fcm.fault("garbage", token="garbage-phone")
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["first_error"]) == ("Failed", "INVALID_ANSWER")


def test_token_is_asked_for_once_and_renewed_on_401(push_project, fcm):
    fcm.forget()
    push_project.phones(300, f"grant{push_project.number}")
    assert push_project.wait_ended(push_project.send())["fcm_delivered"] == 300
    assert len(fcm.grants()) == 1
    fcm.revoke_tokens()
    assert push_project.wait_ended(push_project.send())["fcm_delivered"] == 300
    assert len(fcm.grants()) == 2


def test_token_endpoint_down_for_a_while(push_project, fcm):
    push_project.device("token-phone")
    fcm.fault("status", on="token", status=503, times=2)
    assert push_project.wait_ended(push_project.send())["status"] == "Succeeded"


def test_account_that_is_gone(push_project, fcm):
    push_project.phones(20, f"expired{push_project.number}")
    fcm.expire_account(push_project.account["client_email"])
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["first_error"], log["fcm_failed"]) == ("Failed", "invalid_grant", 20)
    push_project.configure_fcm()
    assert push_project.wait_ended(push_project.send())["status"] == "Succeeded"


def test_own_token_uri_is_never_asked(push_project, push_service):
    account = json.loads(push_project.fcm.new_account())
    push_project.configure_fcm(json.dumps({**account, "token_uri": f"{push_service.url}/token"}))
    push_project.device("uri-phone")
    push_service.forget()
    assert push_project.wait_ended(push_project.send())["status"] == "Succeeded"
    assert push_service.sends() == []


@pytest.mark.parametrize("fault", [dict(kind="status", status=503), dict(kind="status", status=429, retry_after=0), dict(kind="reset")])
def test_web_push_passing_faults(push_project, push_service, fault):
    subscription, _ = push_project.browser()
    push_service.fault(token=json.loads(subscription)["endpoint"].rpartition("/")[2], **fault)
    assert push_project.wait_ended(push_project.send())["status"] == "Succeeded"


@pytest.mark.parametrize("fault, code", [(dict(kind="redirect"), "HTTP_307"), (dict(kind="status", status=413), "HTTP_413")])
def test_web_push_that_does_not_work(push_project, push_service, fault, code):
    subscription, device = push_project.browser()
    good, _ = push_project.browser()
    push_service.fault(token=json.loads(subscription)["endpoint"].rpartition("/")[2], **fault)
    send = push_project.send()
    log = push_project.wait_ended(send)
    assert (log["status"], log["first_error"], log["web_delivered"], log["web_failed"]) == ("Partial", code, 1, 1)
    assert push_project.is_live(device) and push_service.messages(good)


@pytest.mark.parametrize("endpoint", [
    "http://127.0.0.1:9/x", "http://10.0.0.1/x", "https://[::1]/x", "https://localhost/x", "https://localhost./x",
    f"https://{socket.gethostname()}/x", "https://127.1/x", "http://push.example.org/x", "https://a@push.example/x", "nonsense"])
def test_endpoints_that_are_nobodys_business(push_project, endpoint):
    subscription = json.loads(push_project.service.subscribe(push_project.public_key))
    push_project.device(json.dumps({**subscription, "endpoint": endpoint}), "web_push")
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["first_error"]) == ("Failed", "UNREACHABLE" if "//" in endpoint and "@" not in endpoint
                                                   else "INVALID_SUBSCRIPTION")


@pytest.mark.parametrize("token", ["no JSON", "{}", json.dumps({"endpoint": "https://push.example/1", "keys": {"p256dh": "AAAA", "auth": "AAAA"}})])
def test_subscriptions_that_are_none(push_project, token):
    push_project.device(token, "web_push") if token != "{}" else push_project.execute(
        "insert into {p}.push_devices (provider, token, token_hash) values ('web_push', '{{}}', 'x')")
    assert push_project.wait_ended(push_project.send())["first_error"] == "INVALID_SUBSCRIPTION"


def test_web_push_too_long(push_project, push_service):
    push_project.browser()
    push_service.forget()
    log = push_project.wait_ended(push_project.send(body="x" * 4000))
    assert (log["status"], log["first_error"]) == ("Failed", "PAYLOAD_TOO_LARGE")
    assert push_service.sends() == []


def test_too_long_for_fcm(push_project, fcm):
    """A message that is too long for every device is refused before the first request."""
    push_project.phones(3, f"long{push_project.number}")
    fcm.forget()
    log = push_project.wait_ended(push_project.send(body="x" * 4000, data={"more": "y" * 100}))
    assert (log["status"], log["first_error"], log["fcm_failed"]) == ("Failed", "PAYLOAD_TOO_LARGE", 3)
    assert fcm.sends() == []


def test_what_fits_fcm_is_measured_as_it_travels(push_project, fcm):
    """The measured length includes the surrounding JSON and all added members: FCM never refuses a message for its length that the dispatcher
    accepted."""
    push_project.phones(1, f"fits{push_project.number}")
    for body in ('"' * 2500, '"' * 1990):
        log = push_project.wait_ended(push_project.send(body=body))
        assert log["first_error"] in (None, "PAYLOAD_TOO_LARGE"), log
    low, high = 1000, 4096
    while low < high:
        middle = (low + high + 1) // 2
        log = push_project.wait_ended(push_project.send(body="x" * middle))
        assert log["first_error"] in (None, "PAYLOAD_TOO_LARGE"), log
        low, high = (middle, high) if log["first_error"] is None else (low, middle - 1)
    assert low > 3800


def test_vapid_token_is_used_again(push_project, push_service):
    for _ in range(5):
        push_project.browser()
    push_service.forget()
    assert push_project.wait_ended(push_project.send())["web_delivered"] == 5
    assert len({each["authorization"] for each in push_service.sends()}) == 1


def test_many(push_project, fcm):
    """A send to 1700 devices takes several pages of devices, but only a few connections."""
    fcm.forget()
    push_project.phones(1700, f"many{push_project.number}")
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["targets"], log["fcm_delivered"]) == ("Succeeded", 1700, 1700)
    assert len({each["token"] for each in fcm.messages()}) == len(fcm.sends()) == 1700
    assert fcm.stats()["peak_connections"] <= 6


def test_cancel(push_project, fcm):
    push_project.phones(3000, f"cancel{push_project.number}")
    fcm.forget()
    fcm.fault("hold", times=None, skip=200)
    try:
        send = push_project.send()
        until(lambda: len(fcm.sends()) > 200, "it is under way")
        push_project.execute("update {p}.push_sends set cancelled_at = now() where id = %s and due_at is not null", send)
    finally:
        fcm.clear_faults()
    log = push_project.wait_ended(send)
    assert log["status"] == "Partial" and log["first_error"] == "CANCELLED"
    assert log["fcm_delivered"] + log["fcm_failed"] == 3000 and log["fcm_failed"] > 0
    assert log["fcm_delivered"] == len(fcm.messages())
    assert all(status != "pending" for status, _ in push_project.deliveries(send).values())


def test_cancelled_before_it_began(push_project, fcm):
    push_project.phones(10, f"early{push_project.number}")
    send = push_project.query_value("insert into {p}.push_sends (source, request, cancelled_at) values ('Test', %s, now()) returning id",
                                    Json({"title": "t", "body": "b", "audience": {"kind": "all"}}))
    log = push_project.wait_ended(send)
    assert (log["status"], log["first_error"]) == ("Failed", "CANCELLED")
    assert not [each for each in fcm.sends() if each["token"].startswith(f"early{push_project.number}")]


def test_credentials_removed_while_it_runs(push_project, fcm):
    push_project.phones(2500, f"removed{push_project.number}")
    fcm.forget()
    fcm.fault("hold", times=None, skip=100)
    try:
        send = push_project.send()
        until(lambda: len(fcm.sends()) > 100, "it is under way")
        push_project.remove("fcm")
    finally:
        fcm.clear_faults()
    log = push_project.wait_ended(send)
    assert log["status"] == "Partial" and log["first_error"] == "NO_PROVIDER"
    assert log["fcm_delivered"] + log["fcm_failed"] == 2500
    assert log["fcm_delivered"] == len(fcm.messages())


def test_step_of_a_workflow(push_project, runner, fcm):
    """The runner hands the step's send to the dispatcher and waits for its end."""
    project = push_project.project
    user = project.admin.user["id"]
    token = f"step-{push_project.number}"
    push_project.device(token, user=user)
    steps = [step("push", "SendPushNotification", {"title": "Hi {{ $svc.trigger.data.name }}", "body": "b", "category": "order",
                                                   "audience": {"kind": "user"}})]
    job = wait_ended(project, start(project.admin, workflow(project.admin, steps=steps), {"user_id": user, "name": "Ada"}))
    assert job["status"] == "succeeded", job
    [message] = fcm.messages(token)
    assert message["notification"]["title"] == "Hi Ada"

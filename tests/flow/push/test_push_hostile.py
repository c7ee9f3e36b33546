"""Attackers who use notifications against the service, their own project or another project."""
import json
import socket
import threading

import pytest
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.push import PushProject
from groundwork.push_keys import subscription
from groundwork.records import codes, execute, rows

pytestmark = pytest.mark.usefixtures("dispatcher")
DEVICES, TEMPLATES, GROUPS, SYNC = "/push/devices", "/push/templates", "/push/categories", "/push/categories/sync"


# --- providers that lie ---


@pytest.mark.parametrize("fault, code", [
    (dict(kind="huge"), "TOO_LARGE_ANSWER"), (dict(kind="redirect"), "HTTP_307"), (dict(kind="garbage"), "INVALID_ANSWER"),
    (dict(kind="status", status=404, html=True), "HTTP_404"), (dict(kind="status", status=400, code="x" * 5000), "HTTP_400"),
    (dict(kind="status", status=400, code="a\nb: c"), "HTTP_400"), (dict(kind="status", status=429, retry_after="9" * 30, times=9), "RESOURCE_EXHAUSTED")])
def test_fcm_that_lies(push_project, fcm, fault, code):
    """D15, S3: a device whose answer is a lie fails with a short code and stays registered, the dispatcher follows no redirect, and the next device
    receives its message."""
    lied, good = (push_project.device(f"{name}-{push_project.number}") for name in ("lied", "good"))
    fcm.fault(token=f"lied-{push_project.number}", **fault)
    try:
        send = push_project.send()
        log = push_project.wait_ended(send)
    finally:
        fcm.clear_faults()
    assert (log["status"], log["first_error"]) == ("Partial", code)
    assert push_project.deliveries(send) == {lied: ("failed", code), good: ("delivered", None)}
    assert push_project.is_live(lied)


@pytest.mark.parametrize("fault", [dict(kind="huge"), dict(kind="redirect"), dict(kind="garbage")])
def test_a_token_endpoint_that_lies(push_project, fcm, fault):
    """D15: the dispatcher sends nothing with an answer that contains no token, and later requests a token again."""
    token = f"granted-{push_project.number}"
    push_project.device(token)
    fcm.fault(on="token", times=1, **fault)
    try:
        log = push_project.wait_ended(push_project.send())
    finally:
        fcm.clear_faults()
    assert log["status"] == "Succeeded" or (log["status"] == "Failed" and log["fcm_failed"] == 1), log
    assert all(each["status"] == 200 for each in fcm.sends(token))


# --- endpoints of browsers ---


class Trap:
    """Counts the connections to a port of this machine."""

    def __init__(self):
        self.came = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                self.socket.accept()[0].close()
            except OSError:
                return
            self.came += 1


def test_endpoints_reach_nobody_here(push_project):
    """S1, S7: refused addresses and addresses that do not answer fail with the same code, and no local address is dialled."""
    trap = Trap()
    hosts = ["169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", f"127.0.0.1:{trap.port}", f"localhost:{trap.port}",
             f"[::1]:{trap.port}", f"0.0.0.0:{trap.port}", "127.0.0.1:22", "127.0.0.1:6379", "100.64.0.1", "[64:ff9b::7f00:1]", "192.0.0.8",
             "metadata.google.internal", "nobody.invalid"]
    for host in hosts:
        push_project.device(subscription(f"https://{host}/latest/meta-data"), "web_push")
    send = push_project.send()
    log = push_project.wait_ended(send)
    assert (log["status"], log["web_failed"]) == ("Failed", len(hosts))
    assert set(push_project.deliveries(send).values()) == {("failed", "UNREACHABLE")}
    assert trap.came == 0
    trap.socket.close()


def test_spellings_of_addresses(project):
    """S4: endpoints that parsers may read in different ways are refused."""
    user = project.user_with("svc_tenant_devices:create")
    for endpoint in ("https://a@b/", "https://push.example:0/", "https://push.example:65536/", "https://push.example\\@10.0.0.1/", "https:///x",
                     "https://%31%32%37.0.0.1/", "javascript:alert(1)", "//push.example/", "https://a b/",
                     "https://push.example/\r\nHost: x", "https://[::1/", "ftp://push.example/", "https://" + "a" * 300 + "/"):
        answer = user.post(DEVICES, {"provider": "web_push", "token": subscription(endpoint)}, expect=400)
        assert codes(answer) == {"token": "pattern"}, endpoint


def test_a_subscription_is_kept_as_what_is_needed(project, db):
    """Only the endpoint and the keys of a subscription are stored, and the preview shows its host in every spelling."""
    user = project.user_with("svc_tenant_devices:create")
    whole = json.loads(subscription("https://push.example.net/s/1?a=b"))
    text = json.dumps({"decoy": "https://fcm.googleapis.com/", "nul": "x", "x": ["y"] * 50, **whole}).replace("/", "\\/")
    made = user.post(DEVICES, {"provider": "web_push", "token": text}, expect=201).json()["id"]
    assert project.admin.get(f"{DEVICES}/{made}", expect=200).json()["token_preview"] == "https://push.example.net/..."
    ((kept,),) = rows(db, f"select token from {project.schema(db)}.push_devices where id = %s", made)
    kept = json.loads(kept)
    assert sorted(kept) == ["endpoint", "keys"] and kept["endpoint"] == whole["endpoint"]
    for endpoint in ("HTTPS://PUSH.example.net/2", "https://push.example.net?x", "https://push.example.net"):
        made = user.post(DEVICES, {"provider": "web_push", "token": subscription(endpoint)}, expect=201).json()["id"]
        assert project.admin.get(f"{DEVICES}/{made}", expect=200).json()["token_preview"].lower() == "https://push.example.net/..."


# --- limits ---


def test_devices_of_one_user(project, db):
    """L13: a user has at most 100 devices."""
    user = project.user_with("svc_tenant_devices:create")
    execute(db, f"""insert into {project.schema(db)}.push_devices (provider, token, token_hash, user_id)
                    select 'fcm', 't' || n, sha256(('t' || n)::bytea), %s from generate_series(1, 99) n""", user.user["id"])
    user.post(DEVICES, {"provider": "fcm", "token": "hundredth"}, expect=201)
    user.post(DEVICES, {"provider": "fcm", "token": "one-more"}, expect=409)
    user.post(DEVICES, {"provider": "fcm", "token": "t1"}, expect=201)  # an existing device, registered again
    other = project.user()
    other.post(DEVICES, {"provider": "fcm", "token": "one-more"}, expect=201)


def test_templates_and_groups(project, db):
    """L13: templates and groups of buttons are limited in number and size."""
    admin, app = project.admin, project.user_with("svc_tenant_push_categories:update")
    for body in ({"template_type": "big", "name": "x", "body": "x" * 1_000_000}, {"template_type": "x" * 65, "name": "x"},
                 {"template_type": "big", "name": "x", "buttons": [{"id": f"b{n}", "label": "x"} for n in range(21)]}):
        assert admin.post(TEMPLATES, body).status_code in (400, 413)
    execute(db, f"insert into {project.schema(db)}.push_templates (template_type, name) select 't' || n, 'x' from generate_series(1, 999) n")
    admin.post(TEMPLATES, {"template_type": "last", "name": "x"}, expect=201)
    admin.post(TEMPLATES, {"template_type": "more", "name": "x"}, expect=409)
    app.post(SYNC, {"categories": [{"id": f"g{n}", "actions": []} for n in range(201)]}, expect=400)
    app.post(SYNC, {"categories": [{"id": f"g{n}", "actions": []} for n in range(200)]}, expect=200)
    app.post(SYNC, {"categories": [{"id": "other", "actions": []}]}, expect=409)
    app.post(SYNC, {"categories": [{"id": f"g{n}", "actions": [{"id": f"a{i}", "label": "x"} for i in range(21)]} for n in range(2)]}, expect=400)
    admin.put(GROUPS, {"category": "other"}, expect=409)
    admin.put(GROUPS, {"category": "g7", "label": "seven"}, expect=200)


# --- one project during a flood of another ---


def check_concurrent_sends(push_project, provider, floods, other):
    """Asserts that another project's notifications are sent before any of the broadcasts has ended. Then cancels the broadcasts."""
    for _ in range(5):
        assert other.wait_ended(other.send(), 5)["status"] == "Succeeded"
    for send in floods:
        assert not push_project.send_row(send)["finished_at"]
        push_project.execute("update {p}.push_sends set cancelled_at = now() where id = %s", send)
    provider.clear_faults()
    for send in floods:
        push_project.wait_ended(send)


@pytest.mark.full
@pytest.mark.timed
def test_a_single_one_beside_a_flood(push_project, fcm, gateway, operator, recorder, db):
    """R16: while ten broadcasts of one project wait for a slow provider, a notification of another project is sent at once. The dispatcher's
    connections carry 500 requests at a time, so that the broadcasts take a minute."""
    other = PushProject(Project(gateway, operator, recorder), db, fcm, push_project.service)
    other.configure_fcm()
    other.device(f"single-{other.number}")
    push_project.phones(3000, f"flood{push_project.number}")
    fcm.fault("delay", times=None, token=f"flood{push_project.number}*", seconds=1)
    try:
        floods = [push_project.send() for _ in range(10)]
        until(lambda: len([each for each in fcm.sends() if each["token"].startswith("flood")]) >= 400, "they are under way")
        check_concurrent_sends(push_project, fcm, floods, other)
    finally:
        fcm.clear_faults()


@pytest.mark.timed
def test_a_browser_beside_silent_ones(push_project, push_service, gateway, operator, recorder, db):
    """R16: while broadcasts of one project wait for endpoints that do not answer, a browser of another project, at the same host, receives its
    notification at once."""
    other = PushProject(Project(gateway, operator, recorder), db, push_project.fcm, push_service)
    other.configure_web()
    other.browser()
    silent = json.loads(push_service.subscribe(push_project.public_key))
    silent["endpoint"] = f"{push_service.url}/push/silent{push_project.number}-NUMBER"
    push_project.execute("insert into {p}.push_devices (provider, token, token_hash) select 'web_push', replace(%s, 'NUMBER', n::text), "
                         "sha256(n::text::bytea) from generate_series(1, 600) n", json.dumps(silent))
    push_service.fault("hold", times=None, token=f"silent{push_project.number}-*")
    try:
        floods = [push_project.send() for _ in range(4)]
        until(lambda: len([each for each in push_service.sends() if each["id"].startswith(f"silent{push_project.number}-")]) >= 200,
              "they are under way")
        check_concurrent_sends(push_project, push_service, floods, other)
    finally:
        push_service.clear_faults()

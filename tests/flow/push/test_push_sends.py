"""Templates, groups of buttons, test sends and their logs: the part of the gateway, without a dispatcher."""
import pytest
from groundwork.records import codes, execute, ids, notifications, rows

TEMPLATES, GROUPS, SYNC, TEST, LOGS = (
    "/push/templates", "/push/categories", "/push/categories/sync", "/push/test", "/push/send-logs")
RSVP = {"id": "rsvp", "actions": [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]}
TEXTS = {"title": "Dinner", "body": "Are you coming?"}


def sync(client, *groups, expect=200):
    return client.post(SYNC, {"app_version": "1.2", "categories": list(groups)}, expect=expect).json()


def send(project, expect=202, **members):
    return project.admin.post(TEST, {**TEXTS, **members}, expect=expect)


def make_test_send(project, db, **members):
    """Makes a test send. Returns (source, category, request) of its row."""
    made = send(project, **members).json()
    assert made["queued"] is True
    (found,) = rows(db, f"select source, category, request from {project.schema(db)}.push_sends where id = %s", made["send_log_id"])
    return found


# --- templates ---

def test_a_template(project):
    body = {"template_type": "dinner", "name": "Dinner", **TEXTS, "image_url": "https://example.org/i.png",
            "click_action": "app://dinner", "category": "rsvp", "buttons": [{"id": "yes", "label": "Coming"}]}
    answer = project.admin.post(TEMPLATES, body, expect=201)
    made = answer.json()
    assert made == {**body, "is_active": True, "created_at": made["created_at"], "updated_at": made["updated_at"]}
    assert answer.headers["Location"].endswith("/push/templates/dinner")
    assert project.admin.post(TEMPLATES, body, expect=409).json()["code"] == "unique_violation"
    read = project.admin.get(f"{TEMPLATES}/dinner", expect=200)
    assert read.json() == made
    changed = project.admin.put(f"{TEMPLATES}/dinner", {"title": "Supper", "category": None, "buttons": None, "is_active": False},
                                headers={"If-Match": read.headers["ETag"]}, expect=200).json()
    assert changed == {**made, "title": "Supper", "category": None, "buttons": [], "is_active": False,
                       "updated_at": changed["updated_at"]}
    project.admin.put(f"{TEMPLATES}/dinner", {"title": "x"}, headers={"If-Match": read.headers["ETag"]}, expect=412)
    for wrong in ({"template_type": "other"}, {"name": None}, {"name": ""}, {"more": 1}, {"image_url": "x"},
                  {"buttons": [{"id": "a"}]}, {"buttons": [{"id": "a b", "label": "x"}]},
                  {"buttons": [{"id": "a", "label": "x"}] * 2}, {"category": "a b"}, {"is_active": None}):
        project.admin.put(f"{TEMPLATES}/dinner", wrong, expect=400)
    project.admin.post(TEMPLATES, {"template_type": "other", "name": "Other"}, expect=201)
    assert [each["template_type"] for each in project.admin.get(TEMPLATES, expect=200).json()["items"]] == ["dinner", "other"]
    assert [each["template_type"] for each in project.admin.get(f"{TEMPLATES}?is_active=true").json()["items"]] == ["other"]
    project.admin.delete(f"{TEMPLATES}/dinner", expect=204)
    for method in ("get", "delete"):
        getattr(project.admin, method)(f"{TEMPLATES}/dinner", expect=404)
    project.admin.put(f"{TEMPLATES}/dinner", {"title": "x"}, expect=404)
    project.admin.get(f"{TEMPLATES}/%22", expect=404)
    for name in ("a b", "", "a/b", 'a"b', "ä", "x" * 65):
        project.admin.post(TEMPLATES, {"template_type": name, "name": "x"}, expect=400)


# --- groups ---

def test_groups_are_synced(project):
    assert project.admin.get(GROUPS, expect=200).json()["items"] == []
    (group,) = sync(project.admin, RSVP)["categories"]
    assert group["category"] == "rsvp" == group["label"] and group["is_enabled"] and group["app_version"] == "1.2"
    assert group["ios_action_order"] == ["yes", "no"] and group["actions"] == RSVP["actions"]
    changed = project.admin.put(GROUPS, {"category": "rsvp", "label": "Coming?", "is_enabled": False}, expect=200).json()
    assert (changed["label"], changed["is_enabled"], changed["ios_action_order"]) == ("Coming?", False, ["yes", "no"])
    # The app sets the actions, and the administrator sets all other members. Members that a request leaves out keep their values.
    other = {"id": "rate", "actions": []}
    found = sync(project.admin, {**RSVP, "actions": RSVP["actions"][::-1]}, other)["categories"]
    assert [(each["category"], each["label"], each["is_enabled"], each["ios_action_order"]) for each in found] == [
        ("rate", "rate", True, []), ("rsvp", "Coming?", False, ["no", "yes"])]
    assert sync(project.admin) == {"categories": []}
    assert sync(project.admin, other)["categories"][0]["category"] == "rate"
    assert [each["category"] for each in project.admin.get(GROUPS).json()["items"]] == ["rate", "rsvp"]
    # A group that no app has synced yet.
    made = project.admin.put(GROUPS, {"category": "new"}, expect=200).json()
    assert (made["label"], made["is_enabled"], made["actions"], made["synced_at"]) == ("new", True, [], None)
    for wrong in ({}, {"category": ""}, {"category": "a b"}, {"category": "rsvp", "actions": []}, {"category": "rsvp", "label": ""}):
        project.admin.put(GROUPS, wrong, expect=400)


@pytest.mark.parametrize("group, member", [
    ({"id": ""}, "categories[0].id"), ({"id": "a b", "actions": []}, "categories[0].id"), ({"id": "a"}, "categories[0].actions"),
    ({"id": "a", "actions": [{"id": "x"}]}, "categories[0].actions[0].label"),
    ({"id": "a", "actions": [{"id": "x y", "label": "x"}]}, "categories[0].actions[0].id"),
    ({"id": "a", "actions": [{"id": "x", "label": "x"}] * 2}, "categories[0].actions[1].id")])
def test_wrong_groups(shared_project, group, member):
    answer = shared_project.admin.post(SYNC, {"app_version": "1", "categories": [group]}, expect=400)
    assert member in codes(answer)
    shared_project.admin.post(SYNC, {"categories": [RSVP, RSVP]}, expect=400)


def test_who_syncs(project):
    may = project.user_with("svc_tenant_push_categories:update")
    sync(may, RSVP)
    sync(project.key(["svc_tenant_push_categories:update"]), RSVP)
    sync(project.user(), RSVP, expect=403)
    sync(project.client(), RSVP, expect=401)
    for client in (may, project.key(["svc_tenant_push_categories:update"])):
        client.get(GROUPS, expect=403)
        client.put(GROUPS, {"category": "rsvp", "is_enabled": False}, expect=403)


# --- sends ---

def test_whom_a_send_is_for(project, db, redis_client):
    project.entity("tables", [{"name": "name", "type": "varchar"}])
    received = notifications(project, db, redis_client, "push", "push-dispatcher")
    before = received()
    assert make_test_send(project, db) == ("Broadcast", None, {**TEXTS, "audience": {"kind": "all"}})
    assert received() > before
    assert make_test_send(project, db, provider="fcm")[2]["audience"] == {"kind": "all", "provider": "fcm"}
    assert make_test_send(project, db, target_user_id=7) == ("Test", None, {**TEXTS, "audience": {"kind": "user", "user_id": 7}})
    assert make_test_send(project, db, target_user_ids=[7, 8])[2]["audience"] == {"kind": "users", "user_ids": [7, 8]}
    assert make_test_send(project, db, owner_entity_name="tables", owner_entity_id=3)[2]["audience"] == {
        "kind": "entity", "owner_entity_name": "tables", "owner_entity_id": 3}
    for wrong in ({"target_user_id": 7, "target_user_ids": [8]}, {"target_user_id": 7, "owner_entity_name": "tables", "owner_entity_id": 3},
                  {"target_user_ids": []}, {"target_user_ids": [0]}, {"target_user_id": 0}, {"target_user_id": "7"},
                  {"owner_entity_name": "tables"}, {"owner_entity_id": 3}, {"owner_entity_name": "absent", "owner_entity_id": 3},
                  {"provider": "apns"}, {"audience": {"kind": "all"}}):
        send(project, 400, **wrong)


def test_what_is_sent(project, db):
    whole = {"image_url": "https://example.org/i.png", "click_action": "app://x", "category": "rsvp",
             "buttons": [{"id": "yes", "label": "Coming", "click_action": "app://yes"}], "data": {"dinner": "8"}}
    assert make_test_send(project, db, target_user_id=7, **whole) == (
        "Test", "rsvp", {**TEXTS, **whole, "audience": {"kind": "user", "user_id": 7}})
    for wrong in ({"title": ""}, {"body": None}, {"title": "x" * 999}, {"data": {"a": 1}}, {"data": {"from": "x"}},
                  {"data": {"google.x": "x"}}, {"data": {"a": "x" * 5000}}, {"data": []}, {"buttons": [{"id": "x"}]}):
        send(project, 400, **wrong)


AROUND_FCM = len('{"notification":{"title":"Dinner","body":""},"data":{"notification_id":""}}{"payload":{"aps":{"sound":"default"}}}') + 50
AROUND_WEB = len('{"title":"Dinner","body":"","data":{"notification_id":""}}') + 50


def test_what_no_device_would_take(project):
    """The limits are 4,096 bytes for FCM and 3,993 for web push. They apply to the JSON that is sent, including the token of taps and all other added
    members."""
    fits = 4096 - AROUND_FCM
    for body, more in (("x" * fits, "x"), ("ä" * (fits // 2), "ä"), ('"' * (fits // 2), '"'), ("x" * (fits - len('"n":"yy",')), "x")):
        data = {"data": {"n": "yy"}} if len(body) not in (fits, fits // 2) else {}
        send(project, body=body, provider="fcm", **data)
        refused = send(project, 400, body=body + more, provider="fcm", **data)
        assert codes(refused) == {"body": "too_long"} and " accepts 4096" in refused.text
    send(project, body="x" * (3993 - AROUND_WEB), provider="web_push")
    assert codes(send(project, 400, body="x" * (3994 - AROUND_WEB), provider="web_push")) == {"body": "too_long"}
    send(project, body="x" * fits)
    assert codes(send(project, 400, body="x" * (fits + 1))) == {"body": "too_long"}
    icon = f"https://example.org/{'i' * (fits // 3)}.png"
    send(project, body="x" * (fits // 3), image_url=icon), "browsers get the address once, iPhones twice"
    assert codes(send(project, 400, body="x" * (fits // 3), image_url=icon, provider="fcm")) == {"body": "too_long"}


def test_a_templates_part(project, db):
    project.admin.post(TEMPLATES, {"template_type": "dinner", "name": "Dinner", "title": "From the template", "category": "rsvp",
                                   "buttons": [{"id": "yes", "label": "Coming"}]}, expect=201)
    assert codes(project.admin.post(TEST, {"template_type": "dinner"}, expect=400)) == {"body": "required"}
    made = project.admin.post(TEST, {"template_type": "dinner", "body": "x"}, expect=202).json()["send_log_id"]
    shown = project.admin.get(f"{LOGS}/{made}", expect=200).json()
    assert (shown["title"], shown["body_preview"], shown["category"]) == ("From the template", "x", "rsvp")
    assert make_test_send(project, db, template_type="dinner", buttons=[])[2] == {**TEXTS, "category": "rsvp", "audience": {"kind": "all"}}
    project.admin.put(f"{TEMPLATES}/dinner", {"is_active": False}, expect=200)
    assert send(project, 422, template_type="dinner").json()["code"] == "unprocessable"
    assert send(project, 422, template_type="absent").json()["code"] == "unprocessable"


def test_buttons_and_groups(project):
    button = [{"id": "maybe", "label": "Maybe"}]
    # A project without groups accepts all buttons.
    send(project, category="anything", buttons=button)
    sync(project.admin, RSVP)
    refused = send(project, 422, category="rsvp", buttons=button).json()
    assert refused["code"] == "unprocessable" and "yes, no" in refused["detail"] and "maybe" in refused["detail"]
    send(project, category="rsvp", buttons=[{"id": "no", "label": "x"}])
    send(project, category="rsvp")
    send(project, buttons=button)
    send(project, 422, category="anything")
    project.admin.put(GROUPS, {"category": "rsvp", "is_enabled": False}, expect=200)
    assert "disabled" in send(project, 422, category="rsvp").json()["detail"]
    project.admin.put(GROUPS, {"category": "rsvp", "is_enabled": True}, expect=200)
    send(project, category="rsvp")


# --- logs ---

def test_logs(project, db):
    schema = project.schema(db)
    made = [send(project, body="ä" * 300, **audience).json()["send_log_id"] for audience in ({}, {"target_user_id": 7}, {})]
    assert ids(project.admin.get(LOGS)) == made[::-1]
    one = project.admin.get(f"{LOGS}/{made[1]}", expect=200).json()
    assert one == {"id": made[1], "source": "Test", "audience": {"kind": "user", "user_id": 7}, "status": "Pending", "results": [],
                   "targets": 0, "first_error": None, "workflow_id": None, "workflow_name": None, "job_id": None, "step_key": None,
                   "category": None, "title": "Dinner", "body_preview": "ä" * 200, "created_at": one["created_at"],
                   "started_at": None, "finished_at": None, "cancelled_at": None}
    execute(db, f"""update {schema}.push_sends set status = 'Partial', fcm_delivered = 2, fcm_failed = 1, targets = 4,
                    first_error = 'INTERNAL', started_at = now(), finished_at = now(), due_at = null where id = %s""", made[1])
    execute(db, f"insert into {schema}.push_deliveries (send_id, provider, target_id) values (%s, 2, 9)", made[1])
    one = project.admin.get(f"{LOGS}/{made[1]}", expect=200).json()
    assert one["results"] == [{"provider": "fcm", "delivered": 2, "failed": 1, "unregistered": 0},
                              {"provider": "web_push", "delivered": 0, "failed": 0, "unregistered": 0}]
    assert one["first_error"] == "INTERNAL" and one["finished_at"]
    assert ids(project.admin.get(LOGS, params={"status": "Partial"})) == [made[1]] == ids(project.admin.get(LOGS, params={"source": "Test"}))
    assert ids(project.admin.get(LOGS, params={"workflow_id": 3})) == []
    page = project.admin.get(LOGS, params={"limit": 2, "page": 2}, expect=200).json()
    assert [each["id"] for each in page["items"]] == [made[0]] and page["total_items"] == 3
    for path in (f"{LOGS}/424242", f"{LOGS}/x", f"{LOGS}/424242/deliveries"):
        project.admin.get(path, expect=404)


def test_deliveries(project, db):
    schema = project.schema(db)
    made = send(project).json()["send_log_id"]
    path = f"{LOGS}/{made}/deliveries"
    assert project.admin.get(path, expect=200).json()["items"] == []
    for provider, target, status, code, token in (
            (1, 5, "delivered", None, None), (1, 6, "failed", "QUOTA_EXCEEDED", None), (1, 7, "pending", None, "tok"),
            (2, 5, "unregistered", "HTTP_410", None), (2, 8, "delivered", None, None)):
        execute(db, f"""insert into {schema}.push_deliveries (send_id, provider, target_id, status, code, token, tries)
                        values (%s, %s, %s, %s, %s, %s, 1)""", made, provider, target, status, code, token)
    execute(db, f"insert into {schema}.push_deliveries (send_id, provider, target_id) values (%s, 1, 5)", made + 1)
    items = project.admin.get(path, params={"order": "asc"}, expect=200).json()["items"]
    assert [(each["provider"], each["device_id"], each["record_id"], each["status"], each["code"]) for each in items] == [
        ("fcm", 5, None, "delivered", None), ("fcm", 6, None, "failed", "QUOTA_EXCEEDED"), ("fcm", None, 7, "pending", None),
        ("web_push", 5, None, "unregistered", "HTTP_410"), ("web_push", 8, None, "delivered", None)]
    assert project.admin.get(path).json()["items"] == items[::-1]
    for order, wanted in (("asc", items), ("desc", items[::-1])):
        walked, cursor = [], "start"
        while cursor:
            answer = project.admin.get(path, params={"limit": 2, "cursor": cursor, "order": order}, expect=200).json()
            walked += answer["items"]
            cursor = answer["next_cursor"]
        assert walked == wanted
    assert project.admin.get(path, params={"status": "failed"}).json()["items"] == [items[1]]
    assert project.admin.get(path, params={"provider": "web_push"}).json()["total_items"] == 2
    assert "tok" not in project.admin.get(path).text


def test_cancelling(project, db):
    schema = project.schema(db)
    made = send(project).json()["send_log_id"]
    stopped = project.admin.post(f"{LOGS}/{made}/cancel", expect=202).json()
    assert stopped["id"] == made and stopped["cancelled_at"]
    again = project.admin.post(f"{LOGS}/{made}/cancel", expect=202).json()
    assert again["cancelled_at"] == stopped["cancelled_at"]
    execute(db, f"update {schema}.push_sends set status = 'Failed', due_at = null, finished_at = now() where id = %s", made)
    assert project.admin.post(f"{LOGS}/{made}/cancel", expect=409).json()["code"] == "conflict"
    project.admin.post(f"{LOGS}/424242/cancel", expect=404)
    actions = [each["action"] for each in project.admin.get("/audit-log", params={"sort": "-id", "limit": 2}).json()["items"]]
    assert actions == ["push_sends.cancel", "push_sends.cancel"]


def test_administrators_only(project):
    made = send(project).json()["send_log_id"]
    for caller, status in ((project.user(), 403), (project.key(["svc_tenant_push_categories:update"]), 403), (project.client(), 401)):
        for path in (TEMPLATES, f"{TEMPLATES}/x", GROUPS, LOGS, f"{LOGS}/{made}", f"{LOGS}/{made}/deliveries"):
            caller.get(path, expect=status)
        caller.post(TEST, TEXTS, expect=status)
        caller.post(TEMPLATES, {"template_type": "x", "name": "x"}, expect=status)
        caller.put(f"{TEMPLATES}/x", {"name": "x"}, expect=status)
        caller.delete(f"{TEMPLATES}/x", expect=status)
        caller.post(f"{LOGS}/{made}/cancel", expect=status)


def test_as_many_wait_as_may(project, db):
    """A send beyond the limit of waiting sends is refused until another send has ended."""
    schema = project.schema(db)
    execute(db, f"insert into {schema}.push_sends (source, request) select 'Test', '{{}}' from generate_series(1, 9999)")
    send(project)
    refused = send(project, expect=429)
    assert refused.json()["code"] == "rate_limited" and refused.headers["Retry-After"]
    assert rows(db, f"select count(*) from {schema}.push_sends") == [(10000,)]
    execute(db, f"update {schema}.push_sends set due_at = null, finished_at = now() where id = 1")
    send(project)
    send(project, expect=429)

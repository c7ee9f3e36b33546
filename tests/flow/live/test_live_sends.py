"""Sends of notifications as their listeners see them."""
import pytest
from groundwork.push import *  # noqa: F401,F403
from groundwork.push import PushProject

SHOWN = ("id", "source", "status", "targets", "delivered", "failed")


@pytest.fixture
def sends(live_project, db, fcm, push_service):
    made = PushProject(live_project, db, fcm, push_service)
    made.configure_fcm()
    return made


def test_sends(live_project, listen, sends, dispatcher):
    """Administrators see the progress of each send; a listener who is no longer an administrator sees no further send."""
    other = live_project.administrator()
    stream, theirs = listen(live_project.admin, entities=None, sends="true"), listen(other, sends="true")
    sends.phones(3)
    number = live_project.admin.post("/push/test", {"title": "Dinner", "body": "Are you coming?"}, expect=202).json()["send_log_id"]
    for each in (stream, theirs):
        events = each.until(lambda event: event.data["status"] not in ("Pending", "Running"))
        assert {event.kind for event in events} == {"send"} and {event.data["id"] for event in events} == {number}
        assert set(events[-1].data) == set(SHOWN)
        log = sends.send_row(number)
        wanted = {"id": number, "status": log["status"], "targets": log["targets"], "delivered": log["fcm_delivered"],
                  "failed": log["fcm_failed"]}
        assert {key: events[-1].data[key] for key in wanted} == wanted and log["targets"] == 3
    role = live_project.role(permissions=["orders:read", "svc_realtime:read"])
    live_project.admin.put(f"/users/{other.user['id']}", {"role_ids": [role["id"]]}, expect=200)
    assert theirs.until(lambda event: event.kind == "closed")[-1].data == {"entity": "sends", "code": "forbidden"}
    number = live_project.admin.post("/push/test", {"title": "Again", "body": "?"}, expect=202).json()["send_log_id"]
    stream.until(lambda event: event.data["id"] == number and event.data["status"] == sends.wait_ended(number)["status"])
    made = live_project.item("orders", client=live_project.admin, name="to the rest")
    live_project.admin.put(f"/entities/orders/items/{made['id']}/rls-users", {"items": [{"user_id": other.user["id"]}]}, expect=200)
    assert "send" not in {event.kind for event in theirs.until(lambda event: event.kind == "created")}

"""/integrations/svcpay/webhook-events: received events, their effects and errors, and replay."""
import pytest

BASE = "/integrations/svcpay/webhook-events"


@pytest.fixture
def arrived(project, db):
    """Inserts one event in each state, oldest first. Returns their ids."""
    ids, cursor = [], db.cursor()
    schema = project.schema(db)
    for number, state in enumerate(("received", "applied", "ignored", "unsupported", "failed", "dead")):
        cursor.execute(
            f"insert into {schema}.webhook_events (source, event_id, type, created_at, payload, state, attempts,"
            " next_attempt_at, error) values (%s, %s, %s, now(), %s, %s, 3, null, 'why') returning id",
            ("iap_store" if state == "dead" else "processor", f"evt_{number}", "TEST" if state == "dead" else "a.b",
             '{"id": "evt", "text": "ä"}', state))
        ids.append(cursor.fetchone()[0])
    db.commit()
    return ids


def test_list_and_filters(project, arrived):
    admin = project.admin
    page = admin.get(BASE, expect=200).json()
    assert [e["id"] for e in page["items"]] == arrived[::-1] and page["total_items"] == 6
    assert "payload" not in page["items"][0]
    assert [e["id"] for e in admin.get(f"{BASE}?state=failed", expect=200).json()["items"]] == [arrived[4]]
    assert [e["id"] for e in admin.get(f"{BASE}?source=iap_store", expect=200).json()["items"]] == [arrived[5]]
    assert admin.get(f"{BASE}?type=a.b&state=dead", expect=200).json()["items"] == []
    admin.get(f"{BASE}?state=lost", expect=400)
    walked, cursor = [], "start"
    while cursor:
        page = admin.get(f"{BASE}?limit=4&cursor={cursor}", expect=200).json()
        walked += [e["id"] for e in page["items"]]
        cursor = page["next_cursor"]
    assert walked == arrived[::-1]


def test_get(project, arrived):
    event = project.admin.get(f"{BASE}/{arrived[4]}", expect=200).json()
    assert event["payload"] == {"id": "evt", "text": "ä"} and event["error"] == "why" and event["attempts"] == 3
    project.admin.get(f"{BASE}/424242", expect=404)


def test_what_brings_a_payer_back_is_not_shown(project, arrived, db):
    schema = project.schema(db)
    payload = '{"id": "evt", "data": {"object": {"id": "pi_1", "client_secret": "pi_1_secret_2"}}}'
    with db.cursor() as cursor:
        cursor.execute(f"update {schema}.webhook_events set payload = %s where id = %s", (payload, arrived[1]))
    db.commit()
    event = project.admin.get(f"{BASE}/{arrived[1]}", expect=200).json()
    assert event["payload"] == {"id": "evt", "data": {"object": {"id": "pi_1"}}}


def test_replay_begins_anew(project, arrived):
    for event in arrived:
        again = project.admin.post(f"{BASE}/{event}/replay", expect=202).json()
        assert (again["state"], again["attempts"], again["error"]) == ("received", 0, None)
        assert again["next_attempt_at"] is not None
    project.admin.post(f"{BASE}/424242/replay", expect=404)
    told = project.admin.get("/audit-log?limit=6", expect=200).json()["items"]
    assert {entry["action"] for entry in told} == {"webhook_events.replay"}

"""Taps: what the app reports, which reports are accepted, and what they start."""
import collections
import concurrent.futures
import secrets
import time

import pytest
import requests
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.push_keys import HOUR, notification_id, mark_started
from groundwork.records import execute, outbox, outbox_end, rows
from groundwork.runs import condition, wait_ended
from groundwork.soon import settle
from groundwork.workflows import jobs_of, workflow

TAPS, TEST, SYNC = "/push/action-events", "/push/test", "/push/categories/sync"
RSVP = {"id": "rsvp", "actions": [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]}


@pytest.fixture
def app(project):
    project.admin.post(SYNC, {"app_version": "1", "categories": [RSVP, {"id": "rate", "actions": [{"id": "yes", "label": "x"}]}]},
                       expect=200)
    return project


def make_send(project, db, category="rsvp", **audience):
    """Makes a send that is under way. Returns its id."""
    body = {"title": "Dinner", "body": "Coming?", **({"category": category} if category else {}), **audience}
    made = project.admin.post(TEST, body, expect=202).json()["send_log_id"]
    mark_started(project, db, made)
    return made


def tap(project, token, expect=202, category="rsvp", action="yes", **members):
    return project.client().post(TAPS, {"notification_id": token, "category": category, "action_id": action, **members}, expect=expect)


def report_tap(project, token, number, session=requests):
    """Reports one of many taps, with one of two actions. Returns the answer."""
    body = {"notification_id": token, "category": "rsvp", "action_id": ("yes", "no")[number % 2]}
    while (answer := session.post(f"{project.base_url}{TAPS}", json=body, timeout=60)).status_code == 503:  # the app repeats a tap after a 503
        time.sleep(0.05)
    return answer


def listen(project, entity="rsvp", **members):
    trigger = {"kind": "event", "event": "PushActionTaken", **({"entity": entity} if entity else {}), **members}
    return workflow(project.admin, trigger, [condition()])


def test_a_tap(app, db):
    token = notification_id(app, db, make_send(app, db), "rsvp")
    assert tap(app, token).json() == {"received": True}
    assert tap(app, token).json() == {"duplicate": True}
    assert tap(app, token, action="no").json() == {"received": True}
    assert rows(db, f"select action_id, category, data from {app.schema(db)}.push_taps order by action_id") == [
        ("no", "rsvp", None), ("yes", "rsvp", None)]
    # No workflow listens: the tap is recorded, and no event is emitted.
    assert outbox(app, db) == []


def test_what_an_event_says(app, db):
    listen(app)
    user = app.user().user["id"]
    since = outbox_end(app, db)
    token = notification_id(app, db, make_send(app, db, target_user_id=user), "rsvp")
    times = {"received_at": "2026-01-31T12:00:00Z", "responded_at": "2026-01-31T12:00:05.250Z"}
    tap(app, token, **times, data={"dinner": "8", "guests": [1, 2], "action_id": "no", "target_user_id": 5, "notification_id": "x"})
    assert outbox(app, db, since) == [("PushActionTaken", user, {
        "notification_id": token, "category": "rsvp", "action_id": "yes", "target_user_id": user, **times, "dinner": "8",
        "guests": [1, 2]}, None)]
    since = outbox_end(app, db)
    for audience in ({}, {"target_user_ids": [user]}):
        token = notification_id(app, db, make_send(app, db, **audience), "rsvp")
        tap(app, token)
    found = outbox(app, db, since)
    assert [(event, number, payload["target_user_id"], payload["received_at"]) for event, number, payload, _ in found] == [
        ("PushActionTaken", 0, None, None)] * 2


def test_workflows_that_a_tap_starts(app, db, runner):
    of_group, of_any = listen(app), listen(app, None)
    of_no = listen(app, filter={"field": "action_id", "op": "eq", "value": "no"})
    of_other = listen(app, "rate")
    settle()
    user = app.user().user["id"]
    token = notification_id(app, db, make_send(app, db, target_user_id=user), "rsvp")
    tap(app, token, data={"dinner": "8"})
    tap(app, token)
    ((job, _),) = until(lambda: jobs_of(app, db, of_group), "a job")
    ended = wait_ended(app, job)
    assert ended["status"] == "succeeded"
    assert (ended["trigger"]["event"], ended["trigger"]["entity_name"], ended["trigger"]["id"]) == ("PushActionTaken", "rsvp", user)
    assert ended["trigger"]["data"]["action_id"] == "yes" and ended["trigger"]["data"]["dinner"] == "8"
    until(lambda: len(jobs_of(app, db, of_any)) == 1, "the workflow without a group")
    assert jobs_of(app, db, of_no) == [] == jobs_of(app, db, of_other)
    tap(app, token, action="no")
    until(lambda: len(jobs_of(app, db, of_no)) == 1 and len(jobs_of(app, db, of_group)) == 2, "the workflow with the filter")
    assert jobs_of(app, db, of_other) == []


@pytest.mark.parametrize("body", [
    {}, {"notification_id": "x"}, {"notification_id": "x", "category": "rsvp"}, {"notification_id": "x", "action_id": "yes"},
    {"category": "rsvp", "action_id": "yes"}, {"notification_id": "", "category": "rsvp", "action_id": "yes"},
    {"notification_id": "x", "category": "", "action_id": "yes"}, {"notification_id": None, "category": "rsvp", "action_id": "yes"},
    {"notification_id": "x", "category": "rsvp", "action_id": "yes", "received_at": "yesterday"},
    {"notification_id": "x", "category": "rsvp", "action_id": "yes", "data": []},
    {"notification_id": 5, "category": "rsvp", "action_id": "yes"}, [], "x"])
def test_what_is_no_tap(shared_project, body):
    shared_project.client().post(TAPS, body, expect=400)


def test_tokens_that_are_not_believed(app, db, gateway, operator, recorder):
    send = make_send(app, db)
    good = notification_id(app, db, send, "rsvp")
    other = Project(gateway, operator, recorder)
    other.admin.post(SYNC, {"app_version": "1", "categories": [RSVP]}, expect=200)
    theirs = make_send(other, db)
    wrong = {
        "no token": "x", "random": secrets.token_urlsafe(37), "a byte changed": ("A" if good[30] != "A" else "B").join((good[:30], good[31:])),
        "cut": good[:-1], "longer": good + "A", "padded": good + "==",
        "of another key": notification_id(app, db, send, "rsvp", key=secrets.token_bytes(32)),
        "of another project's number": notification_id(app, db, send, "rsvp", bound=int(other.schema(db)[2:])),
        "of another project": notification_id(other, db, theirs, "rsvp"),
        "of another category": notification_id(app, db, send, "rate"),
        "of no category": notification_id(app, db, send, ""),
        "expired": notification_id(app, db, send, "rsvp", sent=time.time() - HOUR - 1),
        "of a send that is not there": notification_id(app, db, 424242, "rsvp"),
    }
    answers = {what: tap(app, token, 401) for what, token in wrong.items()}
    answers["an action of another group"] = tap(app, notification_id(app, db, send, "rsvp"), 401, action="maybe")
    answers["a group that was never synced"] = tap(
        app, notification_id(app, db, send, "absent"), 401, category="absent")
    # Each of these taps is refused with the same answer.
    seen = {what: {**answer.json(), "request_id": None} for what, answer in answers.items()}
    assert len({repr(each) for each in seen.values()}) == 1, seen
    assert next(iter(seen.values()))["code"] == "token_invalid"
    assert rows(db, f"select 1 from {app.schema(db)}.push_taps") == []
    tap(app, notification_id(app, db, send, "rsvp", sent=time.time() - HOUR + 30))


def test_an_action_that_is_synced_later(app, db):
    token = notification_id(app, db, make_send(app, db), "rsvp")
    tap(app, token, 401, action="maybe")
    app.admin.post(SYNC, {"categories": [{"id": "rsvp", "actions": [{"id": "maybe", "label": "x"}]}]}, expect=200)
    tap(app, token, action="maybe")
    tap(app, token, 401, action="yes")


def test_credentials_play_no_part(app, db):
    token = notification_id(app, db, make_send(app, db), "rsvp")
    body = {"notification_id": token, "category": "rsvp", "action_id": "yes"}
    app.client(token="nonsense").post(TAPS, body, expect=202)
    app.user().post(TAPS, {**body, "notification_id": "x"}, expect=401)
    app.client().post(TAPS, {**body, "data": {"a": "x" * 20000}}, expect=413)


def test_the_same_tap_at_once(app, db):
    made = listen(app)
    settle()
    since = outbox_end(app, db)
    token = notification_id(app, db, make_send(app, db), "rsvp")
    app.admin.put("/", {"settings": {"rate_write": 1000000}}, expect=200)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda number: report_tap(app, token, number).json(), range(200)))
    assert answers.count({"received": True}) == 2 and answers.count({"duplicate": True}) == 198
    assert len(outbox(app, db, since)) == 2
    assert made["enabled"]


@pytest.mark.full
@pytest.mark.slow
def test_ten_thousand_taps_at_once(app, db, runner):
    """All clients that have the token of one notification report taps at once: one job starts for each of its actions."""
    made = listen(app)
    settle()
    token = notification_id(app, db, make_send(app, db), "rsvp")
    app.admin.put("/", {"settings": {"rate_write": 0}}, expect=200)
    answers = collections.Counter()

    def report(first):
        session = requests.Session()
        for number in range(first, 10000, 32):
            answer = report_tap(app, token, number, session)
            yield answer.status_code, *answer.json()

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for some in pool.map(lambda first: list(report(first)), range(32)):
            answers.update(some)
    assert answers == {(202, "received"): 2, (202, "duplicate"): 9998}
    until(lambda: len(jobs_of(app, db, made)) == 2, "both have begun")
    settle()
    assert len(jobs_of(app, db, made)) == 2
    assert rows(db, f"select count(*) from {app.schema(db)}.push_taps") == [(2,)]


def test_tokens_of_retired_keys(app, db):
    """A token is still valid after the data keys that signed it were replaced."""
    token = notification_id(app, db, make_send(app, db), "rsvp")
    execute(db, f"update {app.schema(db)}.data_keys set retired_at = now()")
    execute(db, "update platform.projects set epoch = epoch + 1 where slug = %s", app.id)
    settle()
    tap(app, token)

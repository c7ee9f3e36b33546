"""Notifications in a chaos run: callers send to all devices and tap messages that arrived; simulated providers; two dispatchers."""
import json
import uuid

import requests

from world import step, workflow
from clients import LoggingClient

PHONES, BROWSERS = 40, 5
RSVP = {"id": "rsvp", "actions": [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]}


def set_up(world):
    """Sets up credentials, devices, a group of buttons, and a workflow that a tap starts."""
    admin = world.project.admin
    admin.put("/push/credentials/fcm", {"service_account_json": world.fcm.new_account()}, expect=200)
    key = admin.put("/push/credentials/web-push", {"subject": "mailto:chaos@example.org"}, expect=200).json()["public_key"]
    tokens = [("fcm", f"phone-{number}") for number in range(PHONES)]
    tokens += [("web_push", world.push_service.subscribe(key)) for _ in range(BROWSERS)]
    world.devices = {}
    for provider, token in tokens:
        made = admin.post("/push/devices", {"provider": provider, "token": token}, expect=201).json()["id"]
        world.devices[made] = token if provider == "fcm" else json.loads(token)["endpoint"].rpartition("/")[2]
    admin.post("/push/categories/sync", {"app_version": "1", "categories": [RSVP]}, expect=200)
    flow = workflow("tapped", {"kind": "event", "event": "PushActionTaken", "entity": "rsvp"},
                    step("check", "Condition", {"all": [{"field": "$svc.job.id", "op": "gt", "value": 0}]}))
    world.flows["tapped"] = admin.post("/workflows", flow, expect=201).json()["id"]


class Sender(LoggingClient):
    """Sends a notification to all devices; now and then taps a message that has arrived, often repeatedly."""

    def post(self, what, mark, path, body, token=None):
        self.log.write(what, mark, "asked")
        try:
            answer = self.session.post(self.world.project.base_url + path, json=body, timeout=10,
                                       headers={"Authorization": f"Bearer {token}"} if token else {})
        except requests.RequestException:
            self.log.write(what, mark, "unknown")
            return
        if answer.status_code == 202:
            self.log.write(what, mark, "acked", said=sorted(answer.json()))
        elif answer.status_code in (503, 504):
            self.log.write(what, mark, "unknown")
        else:
            self.log.write(what, mark, "wrong", status=answer.status_code, text=answer.text[:300])

    def send(self):
        mark = uuid.uuid4().hex
        body = {"title": "Dinner", "body": "Coming?", "category": "rsvp", "data": {"mark": mark},
                "buttons": [{"id": "yes", "label": "Coming"}]}
        self.post("notify", mark, "/push/test", body, self.world.project.admin.token)

    def tap(self):
        arrived = self.world.fcm.messages(f"phone-{self.random.randrange(PHONES)}")[-20:]
        if arrived:
            token, action = self.random.choice(arrived)["data"]["notification_id"], self.random.choice(("yes", "no"))
            self.post("tap", f"{token}:{action}", "/push/action-events",
                      {"notification_id": token, "category": "rsvp", "action_id": action})

    def run(self):
        while not self.stop.is_set():
            self.send()
            for _ in range(self.random.randrange(4)):
                self.tap()
            self.stop.wait(self.random.expovariate(self.rate))


def dump(world, query, cursor, folder):
    schema = world.schema
    data = {
        "devices": world.devices,
        "sends": query(cursor, f"select id, request #>> '{{data,mark}}' as mark, status, targets, due_at is null as ended, "
                               f"fcm_delivered + web_delivered as delivered, fcm_failed + web_failed as failed, "
                               f"fcm_unregistered + web_unregistered as unregistered from {schema}.push_sends"),
        "deliveries": query(cursor, f"select send_id, target_id, status from {schema}.push_deliveries"),
        "arrived": [[each["token"], each["data"]["mark"], each["data"]["notification_id"]] for each in world.fcm.messages()]
        + [[each["id"], each["message"]["data"]["mark"], each["message"]["data"]["notification_id"]]
           for each in world.push_service.sends() if each["acted"]],
        "violations": world.fcm.violations() + world.push_service.violations(),
    }
    (folder / "pushes.json").write_text(json.dumps(data))
    return data

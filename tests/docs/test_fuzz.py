"""Sends random requests: every answer must be in the documents, and none may be a 5xx."""
import json
import os
import random
import subprocess

import pytest
import requests
from fuzzer import Fuzzer
from groundwork.client import Client
from groundwork.contract import Recorder
from groundwork.daemon import free_port
from groundwork.deadline import until
from groundwork.project import PASSWORD, Project
from groundwork.runs import condition
from groundwork.servers import ROOT
from groundwork.workflows import document

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "250"))
SEED = int(os.environ.get("FUZZ_SEED", "0")) or random.randrange(1, 2**32)
LIMITS = {"rate_read": 0, "rate_write": 0, "rate_heavy": 0, "rate_sign_in_account": 1_000_000, "rate_sign_in_address": 1_000_000}
JUDGED = 4000  # 4,000 requests succeed on half of the routes that they reach; fewer requests rarely create the objects that others need
RENEW = 100  # requests until callers that have lost their rights get new ones


class PermissionsLost(Exception):
    """A request has taken permissions from the test's administrator that the test needs to continue."""


class Callers:
    """An anonymous caller, a standard user, an API key and an administrator of a project; renewed when requests have ended their sessions."""

    def __init__(self, project):
        self.project = project
        self.keeper = project.administrator()  # the test's own administrator; the fuzzer never uses it
        self.all = {"none": project.client()}

    def works(self, who, path):
        return who in self.all and self.all[who].get(path).status_code == 200

    def renew(self):
        try:
            self.renew_each()
        except AssertionError as error:
            raise PermissionsLost from error

    def renew_each(self):
        project = self.project
        if self.keeper.get("/users/me").status_code != 200:
            self.keeper.sign_in(self.keeper.user["email"], PASSWORD)
        project.admin = self.keeper
        self.keeper.put("/", {"settings": LIMITS, "allowed_origins": []}, expect=200)
        if not self.works("admin", "/roles"):
            self.all["admin"] = project.administrator()
        if not self.works("user", "/entities/orders/items?limit=1"):
            self.all["user"] = project.user(entities=["orders"]) if self.has_orders() else project.user()
        if not self.works("key", "/users"):
            names = [item["name"] for item in self.keeper.get("/permissions?limit=500", expect=200).json()["items"]]
            self.all["key"] = project.key(names, client=self.keeper)

    def has_orders(self):
        if self.keeper.get("/entities/orders").status_code == 200:
            return True
        return model(self.project)


def model(project):
    admin = project.admin
    admin.post("/enums", {"name": "state", "values": ["open", "paid"]})
    admin.post("/entities", {"name": "customers", "fields": [{"name": "title", "type": "varchar", "required": True}]})
    answer = admin.post("/entities", {"name": "orders", "public_read": True, "history": True, "fields": [
        {"name": "title", "type": "varchar", "options": {"max_length": 40}, "public": True},
        {"name": "amount", "type": "integer"}, {"name": "total", "type": "float"}, {"name": "tax", "type": "decimal"},
        {"name": "paid", "type": "bool", "default": False}, {"name": "day", "type": "date"},
        {"name": "at", "type": "datetime"}, {"name": "extra", "type": "json"},
        {"name": "state", "type": "enum", "options": {"enum": "state"}},
        {"name": "customer", "type": "relation", "options": {"entity": "customers"}},
        {"name": "others", "type": "relation", "options": {"entity": "customers", "many": True}},
        {"name": "key", "type": "secret"}]})
    for number in range(5):
        admin.post("/entities/customers/items", {"title": f"c{number}"})
        admin.post("/entities/orders/items", {"title": f"o{number}", "amount": number})
    fill(admin)
    return answer.status_code == 201


def fill(admin):
    """Creates one object of each kind that random requests rarely create."""
    for trigger in ({"kind": "manual"}, {"kind": "api", "route": "sync"}):
        admin.post("/workflows", document(trigger, [condition()], name=f"Flow {trigger['kind']}"), expect=201)
    admin.post("/groups", {"name": "Group"})
    admin.post("/roles", {"name": "Role", "permissions": ["orders:read"]})
    admin.post("/secrets", {"name": "STRIPE", "value": "a secret of enough characters"})


def fuzz(new_project, count, seed):
    """Runs fuzzers until `count` requests are sent, and returns them: when a project's administrator is locked out, a new project replaces it."""
    fuzzers, sent = [], 0
    while sent < count:
        project = new_project()
        callers = Callers(project)
        fuzzers.append(Fuzzer(project, callers.all, seed + len(fuzzers)))
        try:
            while sent < count:
                callers.renew()
                fuzzers[-1].read_documents()
                fuzzers[-1].collect_names(callers.keeper)
                for _ in range(min(RENEW, count - sent)):
                    fuzzers[-1].send()
                    sent += 1
        except PermissionsLost:
            continue
    return fuzzers


def test_answers_to_anything_are_documented(session_gateway, operator, recorder, make_shop):
    own = Recorder()
    own.routes = recorder.routes

    def new_project():
        project = Project(session_gateway, operator, own)
        model(project)
        make_shop(project)
        return project

    fuzzers = fuzz(new_project, REQUESTS, SEED)
    found = list(dict.fromkeys(sum((fuzzer.failures for fuzzer in fuzzers), own.complaints)))
    assert not session_gateway.alarms(), session_gateway.alarms()[0]
    assert not found, f"FUZZ_SEED={SEED}: {len(found)} complaints in {own.checked} answers:\n" + "\n".join(found[:60])
    succeeded = [route for route, statuses in own.hit.items() if any(status < 400 for status in statuses)]
    if REQUESTS >= JUDGED:
        assert len(succeeded) > len(own.hit) // 2, f"only {len(succeeded)} of {len(own.hit)} routes ever succeeded"


# --- the same through a proxy that validates requests and answers against the documents ---

PROXIED = max(200, REQUESTS // 10)


@pytest.fixture
def proxies(tools, session_gateway, operator, recorder):
    """A project, and for each of its documents the address of a proxy in front of it."""
    project = Project(session_gateway, operator, recorder)
    model(project)
    body = project.admin.get("/docs", expect=200).json()
    started, addresses = [], []
    folder = ROOT / "build/test/prism"
    folder.mkdir(parents=True, exist_ok=True)
    for number, document in enumerate([body["data_model_documentation"], *body["module_documentation"].values()]):
        (folder / f"{number}.json").write_text(json.dumps(document))
        port = free_port()
        addresses.append(f"http://127.0.0.1:{port}")
        with open(folder / f"{number}.log", "w") as log:
            started.append(subprocess.Popen(
                [tools / "prism", "proxy", f"{number}.json", project.base_url, "--errors", "-h", "127.0.0.1", "-p", str(port)],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
    for address in addresses:
        until(lambda address=address: answers(address), f"the proxy at {address}", within=10)
    yield project, addresses
    for process in started:
        process.terminate()
        process.wait(60)


def answers(address):
    try:
        return requests.get(address, timeout=60) is not None
    except requests.ConnectionError:
        return False


def test_a_proxy_that_validates_finds_nothing(proxies):
    project, addresses = proxies
    callers = Callers(project)
    callers.renew()
    found = []
    for number, address in enumerate(addresses):
        through = {who: Client(address, token=client.token, key=client.key) for who, client in callers.all.items()}
        fuzzer = Fuzzer(project, through, SEED, documents=slice(number, number + 1), tame=True)
        fuzzer.read_documents()
        for _ in range(PROXIED):
            fuzzer.send()
        found += fuzzer.failures
    found = list(dict.fromkeys(found))
    assert not found, f"FUZZ_SEED={SEED}: {len(found)} complaints:\n" + "\n".join(found[:60])

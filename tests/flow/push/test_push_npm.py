"""Messages to browsers, read by third-party libraries (npm: http_ece, jose, web-push-testing)."""
import contextlib
import json
import pathlib
import shutil
import subprocess
import time

import pytest
import requests
from groundwork.daemon import free_port
from groundwork.deadline import until

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "push"
TEXT = "„Dinner“ \U0001f35d & <b>\"coming?\"</b>\n"


@pytest.fixture(scope="module")
def libraries():
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if not (FOLDER / "node_modules/http_ece").is_dir():
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install them: {done.stderr[-500:]}")


def verify(*messages):
    done = subprocess.run(["node", "verify.mjs"], cwd=FOLDER, input="".join(json.dumps(each) + "\n" for each in messages),
                          capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(messages), done.stderr
    return answers


def test_http_ece_and_jose(push_project, push_service, start_dispatcher, libraries):
    daemon = start_dispatcher()
    browsers = [push_project.browser()[0] for _ in range(3)]
    buttons = [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]
    for body in ("x", TEXT, "ä" * 1700):
        log = push_project.wait_ended(push_project.send(title=TEXT, body=body, category="rsvp", buttons=buttons, data={"n": TEXT}))
        assert log["web_delivered"] == 3, log
    daemon.stop()
    sent = [{**push_service.secrets(browser), "origin": push_service.origin, "body": each["body"], "authorization": each["authorization"],
             "ours": each["text"]} for browser in browsers for each in push_service.sends(browser)]
    assert len(sent) == 9
    for one, read in zip(sent, verify(*sent), strict=True):
        assert read.get("text") == one["ours"], read
        assert read["claims"]["sub"] == "mailto:ops@shop.example" and 0 < read["claims"]["exp"] - time.time() < 86400
        message = json.loads(read["text"])
        assert message["title"] == TEXT and [each["action"] for each in message["actions"]] == ["yes", "no"]
    # The libraries detect a wrong origin and a wrong secret.
    wrong = [{**sent[0], "origin": "https://push.example.org"}, {**sent[0], "auth": sent[-1]["auth"]}]
    assert all("why" in each for each in verify(*wrong))


@pytest.fixture
def testing_server(libraries):
    port = free_port()
    process = subprocess.Popen(["node", "node_modules/web-push-testing/src/bin/server.js", str(port)], cwd=FOLDER,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://localhost:{port}"

    def answers():
        with contextlib.suppress(requests.ConnectionError):
            return requests.post(f"{url}/status", timeout=60)

    until(lambda: answers() is not None, "it does not listen")
    yield url
    process.kill()
    process.wait()


def test_web_push_testing(push_project, start_dispatcher, testing_server):
    daemon = start_dispatcher(FETCH_ALLOW=testing_server.removeprefix("http://"))
    made = requests.post(f"{testing_server}/subscribe", timeout=60,
                         json={"userVisibleOnly": "true", "applicationServerKey": push_project.public_key}).json()["data"]
    client = made.pop("clientHash")
    push_project.device(json.dumps(made), "web_push")
    log = push_project.wait_ended(push_project.send(title=TEXT, body="x"))
    assert log["web_delivered"] == 1, log
    (text,) = requests.post(f"{testing_server}/get-notifications", json={"clientHash": client}, timeout=60).json()["data"]["messages"]
    assert json.loads(text)["title"] == TEXT
    # A subscription that has expired at the push service is unregistered in the project.
    requests.post(f"{testing_server}/expire-subscription/{client}", timeout=60)
    assert push_project.wait_ended(push_project.send())["web_unregistered"] == 1
    daemon.stop()

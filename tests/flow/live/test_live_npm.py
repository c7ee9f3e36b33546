"""Live changes as npm's eventsource reads them: the client reconnects on its own and misses nothing."""
import json
import pathlib
import select
import shutil
import subprocess
import urllib.parse

import pytest
from groundwork.chaos import kill

FOLDER = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def program():
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if not (FOLDER / "node_modules/eventsource").is_dir():
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install it: {done.stderr[-500:]}")
    running = []

    def run(url, *arguments):
        running.append(subprocess.Popen(["node", "listen.mjs", url, *arguments], cwd=FOLDER, stdout=subprocess.PIPE, bufsize=0))
        return running[-1]

    yield run
    for each in running:
        each.kill()
        each.wait()
        each.stdout.close()


def read(process):
    assert select.select([process.stdout], [], [], 60)[0], "nothing more came"
    return json.loads(process.stdout.readline())


def line(process, kind):
    while (found := read(process))["kind"] == "error" and kind != "error":
        pass
    assert found["kind"] == kind, found
    return found["data"]


def test_it_comes_back_to_a_gateway_that_was_killed(live_project, program, start_gateway):
    one = start_gateway("live-npm", WORKERS=1)
    process = program(f"{one.url}/org/{live_project.id}/realtime?entities=orders", f"Bearer {live_project.admin.token}")
    line(process, "hello")
    made = [live_project.item("orders", name="before")]
    assert line(process, "created")["record"] == made[0]
    kill(one)
    made += [live_project.item("orders", name=f"missed {n}") for n in range(5)]
    one.start()
    made.append(live_project.item("orders", name="after"))
    seen = []
    while len(seen) < 6:
        found = read(process)
        if found["kind"] == "created":
            seen.append(found["data"]["record"])
    assert seen == made[1:]
    one.stop()


def test_it_stops_when_its_session_does(live_project, program):
    user = live_project.user(entities=["orders"])
    ticket = user.post("/realtime/ticket", expect=200).json()["ticket"]
    query = urllib.parse.urlencode({"entities": "orders", "ticket": ticket})
    process = program(f"{user.base_url}/realtime?{query}")
    line(process, "hello")
    assert line(process, "created" if live_project.item("orders", client=user, name="mine") else "")["record"]["name"] == "mine"
    user.post("/auth/v1/logout", expect=204)
    assert line(process, "end") == {"code": "unauthorized"}
    while (found := line(process, "error")) is None:  # the end of the stream; then the ticket is no longer valid
        pass
    assert found == 401
    assert process.wait(60) == 0

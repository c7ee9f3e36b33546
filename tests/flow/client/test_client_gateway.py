"""The typed client of a real project: the gateway writes it, programs compile against it and run against the daemons; scripts/client."""
import json
import os
import re
import subprocess

import pytest
from groundwork.project import ADMIN_EMAIL, PASSWORD
from groundwork.search import indexer, start_indexer  # noqa: F401
from groundwork.servers import ROOT
from groundwork.deadline import until
from workshop import CONSTANT_PART, HERE, Workshop


@pytest.fixture
def shop(project):
    for path, body in json.loads((HERE / "app.json").read_text()):
        project.admin.post(path, body, expect=201)
    return project


def test_an_application(shop, runner, indexer, packages, tmp_path):  # noqa: F811
    client = shop.admin.get("/docs/client.ts", expect=200).text
    assert client.endswith(f"\n{CONSTANT_PART.read_text()}")
    workshop = Workshop(tmp_path, packages, client, ["app.ts"])
    workshop.compile("typescript7", "app.ts")
    output = workshop.run(workshop.bundle("app.ts"), BASE_URL=shop.base_url, EMAIL=ADMIN_EMAIL, PASSWORD=PASSWORD)
    assert output.endswith("client: all right\n")


def test_an_empty_model_compiles(empty_project, packages, tmp_path):
    workshop = Workshop(tmp_path, packages, empty_project.admin.get("/docs/client.ts", expect=200).text)
    workshop.compile("typescript7", "client.ts")


def script(*words, key, **options):
    environment = {**os.environ, "PROJECT_KEY": key, "POLL_SECONDS": "0.1"}
    return subprocess.Popen([ROOT / "scripts/client", *map(str, words)], env=environment, stderr=subprocess.PIPE, text=True, **options)


def version(file):
    return int(re.search(r"modelVersion = '(\d+)'", file.read_text())[1])


def test_the_script_follows_the_model(project, tmp_path):
    key = project.admin.post("/api-keys", {"name": "client", "permissions": ["svc_documentation:read"]}, expect=201).json()["key"]
    file = tmp_path / "client.ts"
    watcher = script("--watch", "--url", project.base_url, file, key=key)
    try:
        until(file.exists, "the script writes the client")
        first = version(file)
        project.entity("fresh", [{"name": "a", "type": "text"}])
        until(lambda: version(file) > first, "the script writes the next version")
    finally:
        watcher.terminate()
        watcher.communicate()
    assert "fresh: {" in file.read_text() and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("path", "key", "words"), [
    ("", "ak_wrong", "the server refuses the key"),
    ("", "wrong", "the server refuses the key"),
    ("x", "ak_wrong", "is no project's base URL"),
])
def test_the_script_explains_a_refusal(project, tmp_path, path, key, words):
    done = script("--url", project.base_url + path, tmp_path / "client.ts", key=key)
    assert words in done.communicate(timeout=30)[1] and done.returncode == 1
    assert not list(tmp_path.iterdir())


def test_the_script_needs_a_permission(project, tmp_path):
    done = script("--url", project.base_url, tmp_path / "client.ts", key=project.user_with("svc_users:read").token)
    assert "lacks the permission svc_documentation:read" in done.communicate(timeout=30)[1] and done.returncode == 1

"""Uploads that continue after an interruption (tus 1.0), by hand and with npm's tus-js-client."""
import base64
import concurrent.futures
import hashlib
import json
import os
import socket
import subprocess

import pytest
import requests
from groundwork import bucket
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.soon import settle

TUS = {"Tus-Resumable": "1.0.0"}
PART = 16 << 20
LARGE = os.urandom(2 * PART + 54321)


def begin(client, length, name="x.bin", expect=201, headers=None, **query):
    metadata = f"filename {base64.b64encode(name.encode()).decode()},is_secret"
    answer = client.post("/files/tus", None, params=query, expect=expect,
                         headers={**TUS, "Upload-Length": str(length), "Upload-Metadata": metadata, **(headers or {})})
    if expect != 201:
        return answer
    assert answer.headers["Location"].startswith(client.base_url + "/files/tus/") and not answer.content
    assert answer.headers["Tus-Resumable"] == "1.0.0" and answer.headers["Upload-Expires"].endswith("GMT")
    return answer.headers["Location"][len(client.base_url):]


def send(client, path, offset, content, expect=204, method="PATCH", **headers):
    return client.request(method, path, data=content, expect=expect, headers={
        **TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset), **headers})


def offset(client, path):
    return int(client.head(path, headers=TUS, expect=200).headers["Upload-Offset"])


@pytest.fixture
def wait_clean(project, stored_files, ledger):
    def look(count):
        until(lambda: len(stored_files(project)) == count and not ledger(project)[1],
              lambda: f"in the store {sorted(stored_files(project))}, files and garbage {ledger(project)}")
    return look


@pytest.fixture(scope="module", autouse=True)
def collecting(start_gateway):
    daemon = start_gateway(WORKERS=1, FILES_COLLECT_MS=300)
    yield
    daemon.stop()


def is_file(client, answer, content, name="x.bin"):
    number = int(answer.headers["Content-Location"].rpartition("/")[2])
    made = client.get(f"/files/{number}", expect=200).json()
    assert (made["filename"], made["size"], made["sha256"]) == (name, len(content), hashlib.sha256(content).hexdigest())
    assert client.get(f"/files/{number}/get", expect=200).content == content
    return made


def test_in_one_request(admin, wait_clean):
    content = os.urandom(100_000)
    folder = admin.post("/folders", {"name": "Here"}, expect=201).json()["id"]
    path = begin(admin, len(content), "na\u00efve.bin", folder_id=folder)
    assert offset(admin, path) == 0
    answer = send(admin, path, 0, content)
    assert answer.headers["Upload-Offset"] == str(len(content))
    assert is_file(admin, answer, content, "na\u00efve.bin")["folder_id"] == folder
    state = admin.get(path, headers=TUS, expect=200)
    assert state.json()["file_id"] and state.json()["offset"] == state.json()["length"] == len(content)
    wait_clean(1)


def test_in_many_requests(admin, wait_clean):
    """Each PATCH begins at the offset where the last one ended and may have any size, also more than one stored part."""
    path = begin(admin, len(LARGE))
    done = 0
    for size in (0, 1, 70_000, PART + 12345, PART - 1, 1_000_000_000):
        piece = LARGE[done:done + size]
        answer = send(admin, path, done, piece)
        done += len(piece)
        assert answer.headers["Upload-Offset"] == str(done) and offset(admin, path) == done
    is_file(admin, answer, LARGE)
    assert send(admin, path, done, b"").headers["Content-Location"], "a complete upload stays complete"
    wait_clean(1)
    assert admin.get("/storage", expect=200).json()["bytes"] == len(LARGE)


def test_nothing(admin, wait_clean):
    path = begin(admin, 0)
    state = admin.get(path, headers=TUS, expect=200).json()
    assert state["file_id"] and admin.get(f"/files/{state['file_id']}", expect=200).json()["size"] == 0
    wait_clean(1)


def test_the_protocol(admin, gateway, project):
    options = admin.options("/files/tus", expect=204)
    assert options.headers["Tus-Version"] == "1.0.0" and options.headers["Tus-Extension"] == "creation,termination,expiration"
    assert int(options.headers["Tus-Max-Size"]) > 0
    for headers in ({"Tus-Resumable": "0.2.2"}, {"Tus-Resumable": None}):
        refused = begin(admin, 1, expect=412, headers=headers)
        assert refused.headers["Tus-Version"] == "1.0.0"
    begin(admin, -1, expect=400)
    begin(admin, "x", expect=400)
    begin(admin, 1, expect=400, headers={"Upload-Metadata": "filename ***"})
    begin(admin, int(options.headers["Tus-Max-Size"]) + 1, expect=413)
    begin(admin, 1, expect=400, folder_id=424242)
    path = begin(admin, 10)
    assert send(admin, path, 1, b"x", expect=409).json()["code"] == "conflict"
    send(admin, path, 0, b"x" * 11, expect=413)
    send(admin, path, 0, iter([b"x" * 11]), expect=413)
    send(admin, path, "x", b"x", expect=400)
    send(admin, path, 0, b"x", expect=415, **{"Content-Type": "application/json"})
    send(admin, path, 0, b"x", expect=412, **{"Tus-Resumable": "2"})
    assert offset(admin, path) == 0
    send(admin, "/files/tus/" + "0" * 32, 0, b"x", expect=404)
    send(admin, "/files/tus/x", 0, b"x", expect=404)
    send(admin, path, 0, b"x" * 10)


def test_a_network_that_lets_no_patch_pass(admin, project):
    """X-HTTP-Method-Override turns a POST into a PATCH or DELETE, for uploads only."""
    def post(path, expect, data=b"", **headers):
        answer = requests.post(admin.base_url + path, data=data, timeout=60, headers={
            **TUS, "Authorization": f"Bearer {admin.token}", **{key.replace("_", "-"): value for key, value in headers.items()}})
        assert answer.status_code == expect, answer.text
        return answer

    body = {"Content_Type": "application/offset+octet-stream", "Upload_Offset": "0"}
    path = begin(admin, 10)
    answer = post(path, 204, b"x" * 10, X_HTTP_Method_Override="PATCH", **body)
    is_file(admin, answer, b"x" * 10)
    path = begin(admin, 10)
    for method in ("GET", "HEAD", "POST", "OPTIONS", "TRACE", "patch", ""):
        post(path, 405, X_HTTP_Method_Override=method, **body)
    post(path, 405, **body)
    post(path, 204, X_HTTP_Method_Override="DELETE")
    admin.get(path, headers=TUS, expect=404)
    role = admin.post("/roles", {"name": "Kept"}, expect=201).json()["id"]
    post(f"/roles/{role}", 405, X_HTTP_Method_Override="DELETE")
    post("/roles", 201, b'{"name": "Made"}', X_HTTP_Method_Override="DELETE", Content_Type="application/json")
    nobody = requests.post(admin.base_url + path, headers={**TUS, "X-HTTP-Method-Override": "DELETE"}, timeout=60)
    assert nobody.status_code == 401


def test_its_creators_alone(project, admin):
    alice, bob = project.user(), project.user()
    path = begin(alice, 10)
    for other in (bob, admin):
        other.head(path, headers=TUS, expect=404)
        send(other, path, 0, b"x", expect=404)
        other.delete(path, headers=TUS, expect=404)
    project.client().head(path, headers=TUS, expect=401)
    send(alice, path, 0, b"x" * 10)


@pytest.mark.parametrize("way", ["tus", "body"])
def test_rights_that_go_meanwhile(project, gateway, admin, wait_clean, way):
    """An upload stores nothing if its user has lost the right to upload before the last byte arrives."""
    alice = project.user()
    content = os.urandom(200_000)
    path = begin(alice, len(content)) if way == "tus" else "/files/upload/x"
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
        s.sendall(f"{'PATCH' if way == 'tus' else 'PUT'} /org/{project.id}{path} HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\n"
                  f"Upload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: {len(content)}\r\n"
                  f"Authorization: Bearer {alice.token}\r\n\r\n".encode() + content[:-1])
        admin.delete(f"/users/{alice.user['id']}", expect=204)
        settle()
        s.sendall(content[-1:])
        assert s.recv(65536).split()[1] in (b"401", b"403")
    assert admin.get("/files", expect=200).json()["total_items"] == 0
    wait_clean(0)


def test_termination(admin, wait_clean):
    path = begin(admin, len(LARGE))
    send(admin, path, 0, LARGE[:PART + 5])
    admin.delete(path, headers=TUS, expect=204)
    admin.head(path, headers=TUS, expect=404)
    admin.delete(path, headers=TUS, expect=404)
    wait_clean(0)


def test_quota(project, admin, wait_clean):
    """Unfinished uploads count against the quota: an upload that cannot fit is refused when it begins."""
    admin.put("/", {"settings": {"storage_quota": 1000}}, expect=200)
    settle()
    begin(admin, 1001, expect=413)
    one = begin(admin, 600)
    begin(admin, 401, expect=413)
    admin.delete(one, headers=TUS, expect=204)
    path = begin(admin, 1000)
    send(admin, path, 0, b"x" * 1000)
    begin(admin, 1, expect=413)
    wait_clean(1)


def fill_up(project, db, count, user_id, expires="now() + interval '1 hour'", file_id="null"):
    """Inserts `count` uploads of the user."""
    execute(db, f"insert into {project.schema(db)}.file_uploads (id, length, filename, metadata, is_public, created_by, expires_at, file_id)"
                f" select md5(random()::text), 1, 'x', '', false, {user_id}, {expires}, {file_id} from generate_series(1, {count})")


@pytest.mark.parametrize("whose, limit", [("user", 100), ("project", 1000)])
def test_sixteen_at_the_last_place(admin, project, db, whose, limit):
    me = admin.user["id"]
    fill_up(project, db, limit - 1, me if whose == "user" else 424242)
    fill_up(project, db, 3, me, expires="now() - interval '1 second'")
    fill_up(project, db, 3, me, file_id=1)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: admin.post("/files/tus", None, headers={**TUS, "Upload-Length": "5"}), range(16)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 15
    refused = next(answer for answer in answers if answer.status_code == 409).json()
    assert refused["code"] == "conflict" and f"has {limit} unfinished uploads" in refused["detail"] and "delete some" in refused["detail"]
    made = next(answer for answer in answers if answer.status_code == 201).headers["Location"][len(admin.base_url):]
    admin.delete(made, headers=TUS, expect=204)
    begin(admin, 5)


def test_an_upload_without_a_byte_goes(admin, project, db):
    """An upload without a byte expires, also in a project that has stored no file yet."""
    begin(admin, 5)
    schema = project.schema(db)
    execute(db, f"update {schema}.file_uploads set expires_at = now() - interval '1 second'")
    until(lambda: rows(db, f"select count(*) from {schema}.file_uploads") == [(0,)], "the expired upload stays")


def test_two_go_on_at_once(admin, project):
    """Concurrent PATCH requests at one offset make one file of the right bytes; requests that come too late get 408 or 409."""
    content = os.urandom(300_000)
    path = begin(admin, len(content))
    clients = [project.client(token=admin.token) for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda client: client.request("PATCH", path, data=content, headers={
            **TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}), clients))
    assert {answer.status_code for answer in answers} <= {204, 408, 409}
    assert admin.get("/files", expect=200).json()["total_items"] == 1
    assert offset(admin, path) == len(content)


def test_cut_off(admin, project, gateway):
    """An upload that is cut off keeps the whole parts that have arrived; the client sends the rest, and the file is right."""
    path = begin(admin, len(LARGE))
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
        s.sendall(f"PATCH /org/{project.id}{path} HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                  f"Content-Type: application/offset+octet-stream\r\nContent-Length: {len(LARGE)}\r\n"
                  f"Authorization: Bearer {admin.token}\r\n\r\n".encode())
        s.sendall(LARGE[:PART + 3_000_000])
        until(lambda: offset(admin, path) >= PART, "the first part")

    def goes_on():
        """Sends the rest. Returns None on 409: the gateway has not yet noticed that the first sender is gone."""
        kept = offset(admin, path)
        assert PART <= kept <= PART + 3_000_000
        answer = send(admin, path, kept, LARGE[kept:], expect=None)
        assert answer.status_code in (204, 409), answer.text
        return answer if answer.status_code == 204 else None

    is_file(admin, until(goes_on, "no client may continue the upload"), LARGE)


@pytest.fixture(scope="module")
def client_program():
    trouble = bucket.missing()
    if trouble:
        pytest.skip(trouble)

    def run(client, path, **order):
        order = {"endpoint": client.base_url + "/files/tus", "token": client.token, "file": str(path), "filename": "large.bin", **order}
        done = subprocess.run(["node", "upload.mjs"], cwd=bucket.FOLDER, input=json.dumps(order), capture_output=True, text=True, timeout=600)
        assert done.returncode == 0 and done.stdout, done.stderr
        return json.loads(done.stdout)
    return run


def test_tus_js_client(admin, tmp_path, client_program, wait_clean):
    path = tmp_path / "large.bin"
    path.write_bytes(LARGE)
    for chunk in (50 << 20, 3_000_000):
        done = client_program(admin, path, chunk=chunk)
        assert done.get("done"), done
        number = done["location"].rpartition("/")[2]
        made = admin.get(f"/files/{number}", expect=200).json()
        assert made["filename"] == "large.bin" and made["sha256"] == hashlib.sha256(LARGE).hexdigest()
    stopped = client_program(admin, path, chunk=5_000_000, stopAfter=20_000_000)
    assert stopped["stopped"] == 20_000_000
    resumed = client_program(admin, path, chunk=5_000_000, resume=stopped["url"])
    assert resumed.get("done") and resumed["requests"][0] == ["HEAD", 200], resumed
    assert len(resumed["requests"]) == 1 + -(-(len(LARGE) - 20_000_000) // 5_000_000)
    wait_clean(3)
    client_program(admin, path, chunk=5_000_000, stopAfter=10_000_000, terminate=True)
    wait_clean(3)


def test_a_gateway_that_dies(admin, project, start_gateway):
    """Another gateway continues the upload of a gateway that was killed, from the last stored byte."""
    daemon = start_gateway(WORKERS=1, FILES_COLLECT_MS=60000)
    client = project.client(token=admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    path = begin(client, len(LARGE))
    send(client, path, 0, LARGE[:PART + 100])
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as s:
        s.sendall(f"PATCH /org/{project.id}{path} HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: {PART + 100}\r\n"
                  f"Content-Type: application/offset+octet-stream\r\nContent-Length: {len(LARGE) - PART - 100}\r\n"
                  f"Authorization: Bearer {admin.token}\r\n\r\n".encode() + LARGE[PART + 100:PART + 2_000_000])
        for worker in daemon.workers():
            os.kill(worker, 9)
    kept = offset(admin, path)
    assert kept == PART + 100
    is_file(admin, send(admin, path, kept, LARGE[kept:]), LARGE)
    daemon.stop()


def test_no_writer_passed_by_its_conditions(session_gateway):
    """Runs last: each PATCH and DELETE in this file has written under its lock, or only if the offset was unchanged."""
    assert "conditional.unlocked" not in session_gateway.log()

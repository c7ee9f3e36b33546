"""K17: a gateway that is killed at any point of an upload or a deletion leaves no row without its bytes, and no bytes without a
row after the collector's next round."""
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time

import pytest
import requests
from groundwork import bucket
from groundwork.deadline import until
from groundwork.pictures import draw_image, encode_image, decode_image

CONTENT = os.urandom(150_000)
MARK = "groundwork-files"
UPLOAD_SECONDS = 120
KILL_ERRORS = (requests.ConnectionError, requests.Timeout)

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace kills at a system call")

# System calls at which a gateway is killed: the name of the call, and which occurrence of it kills.
UPLOAD = [("openat", 1), ("write", 1), ("write", 2), ("write", 3), ("fsync", 1), ("rename", 1),
          *(("sendto", n) for n in range(1, 9)), ("recvfrom", 2), ("recvfrom", 5)]
if bucket.wanted():  # requests to the bucket count as well as those to the database; CONTENT is first written to the spool
    UPLOAD = [("pwrite64", 1), ("pwrite64", 3), *(("sendto", n) for n in range(1, 14)), *(("recvfrom", n) for n in range(2, 12))]
DELETION = [("unlink", 1), ("unlink", 2), ("fsync", 1), *(("sendto", n) for n in range(1, 8))]
if bucket.wanted():
    DELETION = [*(("sendto", n) for n in range(1, 12)), *(("recvfrom", n) for n in range(2, 8))]
VARIANT = [("sendmsg", 1), ("write", 1), ("write", 2), ("fsync", 1), ("rename", 1), *(("sendto", n) for n in range(1, 9)), ("recvfrom", 3), ("recvfrom", 5)]
if bucket.wanted():
    VARIANT = [("sendmsg", 1), ("pwrite64", 1), *(("sendto", n) for n in range(1, 14)), *(("recvfrom", n) for n in range(2, 10))]


@pytest.fixture(scope="module")
def victim(start_gateway):
    """A gateway that collects garbage often; tests kill its worker."""
    daemon = start_gateway(WORKERS=1, FILES_COLLECT_MS=300, UPLOAD_TIME_MS=UPLOAD_SECONDS * 1000)
    yield daemon
    daemon.stop()


@contextlib.contextmanager
def killed_at(victim, call, count):
    """Kills the worker when any of its threads makes the call for the `count`-th time."""
    worker = victim.workers()[0]
    strace = subprocess.Popen(["strace", "-f", "-p", str(worker), "-o", "/dev/null", "-e", f"trace={call}",
                               "-e", f"inject={call}:signal=KILL:when={count}"], stderr=subprocess.PIPE, text=True)
    assert "attached" in strace.stderr.readline()
    try:
        yield
    finally:
        strace.send_signal(signal.SIGINT)
        try:
            strace.wait(3)
        except subprocess.TimeoutExpired:  # strace waits for a tracee that is gone; the other tracees continue without strace
            strace.kill()
            strace.wait(60)
        strace.stderr.close()


def check_consistency(project, stored, ledger, look, time_is_over):
    """Checks that every row has its bytes now, and that the collector removes everything else once uploads had their time.
    Returns the files."""
    files, _, totals = ledger(project)
    kept = stored(project)
    assert files <= set(kept), f"rows without bytes: {files - set(kept)}"
    items = look.get("/files", params={"limit": 500}, expect=200).json()["items"]
    assert totals == (sum(item["size"] for item in items), len(items))
    for item in items:
        got = look.get(f"/files/{item['id']}/get", expect=200).content
        assert len(got) == item["size"] and hashlib.sha256(got).hexdigest() == item["sha256"]
    time_is_over(project, UPLOAD_SECONDS)
    until(lambda: set(stored(project)) == files and not ledger(project)[1],
          lambda: f"no files: {set(stored(project)) - files}, garbage: {ledger(project)[1]}")
    return items


@pytest.fixture
def caller(victim, project):
    client = project.client(token=project.admin.token)
    client.base_url = f"{victim.url}/org/{project.id}"
    return client


def attempt(caller, method, path, **options):
    try:
        return caller.request(method, path, timeout=60, **options).status_code
    except KILL_ERRORS:
        return None


@pytest.mark.parametrize("call, count", UPLOAD)
def test_uploads(victim, project, admin, caller, stored_files, ledger, expire_uploads, call, count):
    caller.get("/files", expect=200)
    with killed_at(victim, call, count):
        status = attempt(caller, "PUT", "/files/upload/x.bin", data=CONTENT)
    items = check_consistency(project, stored_files, ledger, admin, expire_uploads)
    assert status in (None, 201) and (status is None or len(items) == 1)
    victim.wait_ready()
    caller.put("/files/upload/y.bin", data=CONTENT, expect=201)


@pytest.mark.parametrize("call, count", DELETION)
def test_deletions(victim, project, admin, caller, stored_files, ledger, expire_uploads, put, call, count):
    number = put(admin, "x.bin", CONTENT)["id"]
    put(admin, "y.bin", CONTENT)
    caller.get("/files", expect=200)
    with killed_at(victim, call, count):
        status = attempt(caller, "DELETE", f"/files/{number}")
        time.sleep(0.3)  # the gateway removes the bytes after its answer
    items = check_consistency(project, stored_files, ledger, admin, expire_uploads)
    assert status in (None, 204) and (status is None or len(items) == 1)
    victim.wait_ready()


@pytest.mark.parametrize("call, count", VARIANT)
def test_variants(victim, project, admin, caller, stored_files, ledger, expire_uploads, put, db, call, count):
    """A gateway that is killed while it makes a variant leaves a row with its bytes, or nothing."""
    made = put(admin, "x.png", encode_image(draw_image(), "PNG"))
    caller.get("/files", expect=200)
    with killed_at(victim, call, count):
        status = attempt(caller, "GET", f"/files/{made['id']}/get", params={"width": 50})
    assert status in (None, 200)

    def all_keys():
        with db.cursor() as cursor:
            cursor.execute(f"select key from {project.schema(db)}.file_variants")
            return ledger(project)[0] | {row[0] for row in cursor.fetchall()}
    assert all_keys() <= set(stored_files(project))
    expire_uploads(project, UPLOAD_SECONDS)
    until(lambda: set(stored_files(project)) == all_keys() and not ledger(project)[1], "removed")
    assert status is None or len(stored_files(project)) == 2
    assert decode_image(admin.get(f"/files/{made['id']}/get", params={"width": 50}, expect=200).content).size == (50, 33)
    victim.wait_ready()


def test_slow_uploads_end(start_gateway, project, stored_files, ledger, admin, expire_uploads):
    """An upload that takes longer than allowed is refused and stores nothing."""
    daemon = start_gateway(WORKERS=1, UPLOAD_TIME_MS=1000)
    caller = project.client(token=admin.token)
    caller.base_url = f"{daemon.url}/org/{project.id}"

    def slowly():
        for _ in range(30):
            yield b"x" * 10_000
            time.sleep(0.1)
    try:
        answer = caller.put("/files/upload/x", data=slowly())
        assert answer.status_code in (408, 504), answer.text
    except KILL_ERRORS:
        pass
    assert check_consistency(project, stored_files, ledger, admin, expire_uploads) == []
    daemon.stop()


def test_a_deleted_project_leaves_nothing(victim, project, put, stored_files, db, servers):
    put(project.admin, "x.bin", CONTENT)
    number = project.schema(db)[2:]
    folder = servers.folder / "files" / number
    assert stored_files(project)
    project.delete()
    until(lambda: not (any(path.is_file() for path in folder.rglob("*")) if bucket.wanted() else folder.exists()), "files of the deleted project are left")


@pytest.mark.skipif(bucket.wanted(), reason="a bucket that is away: test_bucket_faults.py")
def test_a_store_that_is_away(start_gateway, servers, project, stored_files, ledger):
    """D9: requests get 503 while the volume is gone, and files are available again without a restart."""
    away = servers.folder / "away"
    away.mkdir()
    (away / MARK).touch()  # as an operator does after the loss of all files
    daemon = start_gateway(WORKERS=1, FILES_DIR=str(away), FILES_COLLECT_MS=300)
    client = project.client(token=project.admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    made = client.put("/files/upload/x", data=CONTENT, expect=201).json()
    away.rename(servers.folder / "elsewhere")
    away.write_text("no directory")
    assert client.put("/files/upload/y", data=CONTENT, expect=503).json()["code"] == "dependency_unavailable"
    client.get(f"/files/{made['id']}/get", expect=503)
    client.get(f"/files/{made['id']}", expect=200)
    away.unlink()
    (servers.folder / "elsewhere").rename(away)
    assert client.get(f"/files/{made['id']}/get", expect=200).content == CONTENT
    client.put("/files/upload/z", data=CONTENT, expect=201)
    daemon.stop()  # a running daemon would search its own store for the garbage of projects of the other gateways


@pytest.mark.skipif(bucket.wanted(), reason="a bucket that is gone: test_bucket_faults.py")
def test_a_volume_that_is_not_mounted(victim, start_gateway, servers, project, admin, put, stored_files, ledger, expire_uploads):
    """D9: the gateway does not take an empty mount point for its store: it writes nothing there and treats no file as gone."""
    one, two = [put(admin, name, CONTENT)["id"] for name in "ab"]
    place, aside = servers.folder / "files", servers.folder / "unmounted"
    place.rename(aside)
    place.mkdir()
    try:
        with pytest.raises(RuntimeError) as refused:
            start_gateway(WORKERS=1)
        assert MARK in str(refused.value) and "not mounted" in str(refused.value)
        assert put(admin, "c", CONTENT, expect=503)["code"] == "dependency_unavailable"
        admin.get(f"/files/{one}/get", expect=503)
        admin.delete(f"/files/{two}", expect=204)
        time.sleep(2)  # several rounds of the collector
        assert not list(place.iterdir())
        assert ledger(project)[1], "the collector forgot bytes while the store was not mounted"
    finally:
        place.rmdir()
        aside.rename(place)
    assert [item["id"] for item in check_consistency(project, stored_files, ledger, admin, expire_uploads)] == [one]

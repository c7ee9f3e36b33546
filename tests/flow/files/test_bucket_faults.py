"""A store that speaks S3 and answers late, wrongly or not at all: no file exists without its exact bytes."""
import concurrent.futures
import hashlib
import os
import time

import pytest
import requests
from groundwork.deadline import until

SMALL = os.urandom(300_000)
LARGE = os.urandom((40 << 20) + 12345)  # three parts


@pytest.fixture
def bucket(servers, session_gateway):
    servers.bucket.control.clear()
    yield servers.bucket.control
    servers.bucket.control.clear()


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests: each test counts from the files that earlier tests have left."""
    return shared_project


@pytest.fixture
def wait_clean(bucket, project, stored_files, ledger):
    """wait_clean(count) waits until the store has `count` more files than before the test, no garbage and no open upload, and checks
    that each stored file has a row."""
    before = len(stored_files(project))

    def look(count):
        until(lambda: len(stored_files(project)) == before + count and not ledger(project)[1] and not bucket.uploads(), "removed")
        assert ledger(project)[0] == set(stored_files(project))
    return look


def is_whole(client, made, content):
    assert made["sha256"] == hashlib.sha256(content).hexdigest() and made["size"] == len(content)
    got = client.get(f"/files/{made['id']}/get", expect=200).content
    assert hashlib.sha256(got).digest() == hashlib.sha256(content).digest()


def test_in_one_request_and_in_parts(bucket, admin, put, wait_clean):
    is_whole(admin, put(admin, "small", SMALL), SMALL)
    assert [each for each in bucket.asked() if each not in ("list", "listUploads")] == ["put", "get"]
    is_whole(admin, put(admin, "large", LARGE), LARGE)
    assert bucket.asked().count("part") == 3 and bucket.asked().count("complete") == 1 and bucket.asked().count("put") == 1
    edge = LARGE[:16 << 20]
    is_whole(admin, put(admin, "edge", edge), edge)
    assert bucket.asked().count("begin") == 1 and bucket.asked().count("put") == 2
    wait_clean(3)


@pytest.mark.parametrize("operation", ["put", "get", "begin", "part", "complete"])
@pytest.mark.parametrize("fault", [dict(kind="refuse", status=500, code="InternalError"), dict(kind="refuse", status=503, code="SlowDown"),
                                   dict(kind="refuse", status=400, code="RequestTimeout"), dict(kind="lose"), dict(kind="hang")],
                         ids=lambda each: each.get("code", each["kind"]))
def test_what_passes_is_tried_again(bucket, admin, put, wait_clean, operation, fault):
    content = SMALL if operation in ("put", "get") else LARGE
    if operation == "get" and fault["kind"] == "lose":
        pytest.skip("an answer that is cut: test_a_download_that_is_cut")
    bucket.fault(operation=operation, **fault)
    is_whole(admin, put(admin, "x", content), content)
    assert bucket.asked().count(operation) >= 2
    wait_clean(1)


def test_what_does_not_pass(bucket, admin, put, wait_clean, project):
    """A refusal that is final, or that lasts too long, fails the upload with 503 or 507, and nothing stays."""
    for fault in (dict(kind="refuse", status=403, code="AccessDenied"), dict(kind="refuse", status=503, code="SlowDown", count=5)):
        bucket.fault(operation="put", **fault)
        assert put(admin, "x", SMALL, expect=503)["code"] == "dependency_unavailable"
    bucket.fault(operation="put", kind="refuse", status=507, code="InsufficientStorage")
    assert put(admin, "x", SMALL, expect=507)["code"] == "storage_full"
    bucket.fault(operation="part", kind="refuse", status=403, code="AccessDenied", skip=1)
    put(admin, "x", LARGE, expect=503)
    wait_clean(0)


def test_an_error_in_an_answer_of_200(bucket, admin, put, wait_clean):
    bucket.fault(operation="complete", kind="hidden", count=2)
    is_whole(admin, put(admin, "x", LARGE), LARGE)
    bucket.fault(operation="complete", kind="hidden", count=5)
    put(admin, "y", LARGE, expect=503)
    wait_clean(1)


@pytest.mark.parametrize("operation, content", [("put", SMALL), ("part", LARGE)], ids=["put", "part"])
def test_a_tag_of_another_kind(bucket, admin, put, wait_clean, operation, content):
    """An ETag of another kind proves nothing: the gateway reads the object back, and the object is right."""
    bucket.fault(operation=operation, kind="etag")
    is_whole(admin, put(admin, "x", content), content)
    assert bucket.asked().count("get") == 2
    wait_clean(1)


@pytest.mark.parametrize("operation, content", [("put", SMALL), ("complete", LARGE)], ids=["put", "complete"])
def test_other_bytes_than_were_sent(bucket, admin, put, wait_clean, operation, content):
    bucket.fault(operation=operation, kind="corrupt")
    assert put(admin, "x", content, expect=503)["code"] == "dependency_unavailable"
    wait_clean(0)


def test_a_download_that_is_cut(bucket, admin, put):
    """The gateway requests the rest of a download that the store cuts off."""
    made = put(admin, "x", LARGE)
    bucket.fault(operation="get", kind="cut", bytes=5_000_000)
    bucket.fault(operation="get", kind="cut", bytes=7_000_000)
    is_whole(admin, made, LARGE)
    assert bucket.asked().count("get") == 3


@pytest.mark.parametrize("fault", [dict(kind="short", bytes=1), dict(kind="range"), dict(kind="ignore"), dict(kind="junk"),
                                   dict(kind="flood")], ids=lambda each: each["kind"])
def test_an_answer_that_is_another(bucket, admin, put, fault):
    """The client receives no byte before the store has answered as requested: it gets a 503, not a file that ends early."""
    made = put(admin, "x", SMALL)
    path, headers = f"/files/{made['id']}/get", {"Range": f"bytes=1000-{len(SMALL) - 1}"}
    bucket.fault(operation="get", **fault)
    assert admin.get(path, headers=headers, expect=503).json()["code"] == "dependency_unavailable"
    assert admin.get(path, headers=headers, expect=206).content == SMALL[1000:]
    if fault["kind"] == "short":
        bucket.fault(operation="get", **fault)
        admin.get(path, expect=503)


def test_what_is_read_back_is_short(bucket, admin, put, wait_clean):
    """The gateway refuses an upload whose ETag proves nothing and whose object has lost its end."""
    bucket.fault(operation="put", kind="etag")
    bucket.fault(operation="get", kind="short", bytes=1)
    assert put(admin, "x", SMALL, expect=503)["code"] == "dependency_unavailable"
    wait_clean(0)


def test_a_download_that_stops(bucket, admin, put):
    """The gateway requests the rest of a download again when the store stops sending."""
    made = put(admin, "x", LARGE)
    bucket.fault(operation="get", kind="stall", bytes=5_000_000)
    is_whole(admin, made, LARGE)
    assert bucket.asked().count("get") == 2


@pytest.mark.parametrize("operation, kind", [("begin", "flood"), ("begin", "junk"), ("put", "junk"), ("complete", "flood"), ("part", "junk")])
def test_an_answer_that_is_none(bucket, admin, put, wait_clean, operation, kind):
    """An answer that is not HTTP, or an answer without an end, of which 2 MB are read, fails the upload without a second
    attempt."""
    bucket.fault(operation=operation, kind=kind)
    assert put(admin, "x", SMALL if operation == "put" else LARGE, expect=503)["code"] == "dependency_unavailable"
    assert bucket.asked().count(operation) == 1
    wait_clean(0)


@pytest.mark.parametrize("ahead_ms", [-3_600_000, 3_600_000])
def test_clocks_that_differ(bucket, start_gateway, servers, admin, put, ahead_ms):
    """With clocks that differ by more than 15 minutes, requests get 503, and a gateway does not start and says why."""
    made = put(admin, "x", SMALL)
    bucket.clock(ahead=ahead_ms)
    put(admin, "y", SMALL, expect=503)
    admin.get(f"/files/{made['id']}/get", expect=503)
    with pytest.raises(RuntimeError) as refused:
        start_gateway(WORKERS=1)
    assert "RequestTimeTooSkewed" in str(refused.value)
    bucket.clock(ahead=0)
    is_whole(admin, made, SMALL)


def test_a_bucket_that_goes(bucket, start_gateway, project, admin, put, wait_clean):
    """While the bucket is missing, the gateway treats no file as deleted and forgets no removal."""
    made = put(admin, "x", SMALL)
    other = put(admin, "y", SMALL)
    collecting = start_gateway(WORKERS=1, FILES_COLLECT_MS=300)
    bucket.gone(yes=True)
    put(admin, "z", SMALL, expect=503)
    assert admin.get(f"/files/{made['id']}/get", expect=503).json()["code"] == "dependency_unavailable"
    admin.get(f"/files/{made['id']}", expect=200)
    admin.delete(f"/files/{other['id']}", expect=204)
    time.sleep(1)
    bucket.gone(yes=False)
    is_whole(admin, made, SMALL)
    wait_clean(1)
    collecting.stop()


def test_a_client_that_reads_slowly(bucket, project, gateway, admin, put):
    """A slow client receives the whole file: neither side buffers all of it, and unread bytes stay with the store."""
    made = put(admin, "x", LARGE)
    with requests.get(f"{gateway.url}/org/{project.id}/files/{made['id']}/get", headers={"Authorization": f"Bearer {admin.token}"},
                      stream=True, timeout=60) as answer:
        digest = hashlib.sha256()
        for count, piece in enumerate(answer.iter_content(1 << 20)):
            digest.update(piece)
            if count < 10:
                time.sleep(0.05)
    assert digest.hexdigest() == made["sha256"]


def test_removals_of_a_store_that_hangs(bucket, start_gateway, project, servers, put, wait_clean):
    """The number of removals that wait for a hanging store is bounded; the collector does the rest."""
    daemon = start_gateway(WORKERS=1, S3_TIMEOUT_MS=60000)
    client = project.client(token=project.admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    made = [put(client, "x", b"x")["id"] for _ in range(100)]
    bucket.fault(operation="remove", kind="hang", count=100000)
    for number in made:
        client.delete(f"/files/{number}", expect=204)
    seen = []

    def tasks():
        """Records the number of tasks of all workers, which report it once a second; returns True when it no longer changes."""
        seen.append(int(next(line.split()[1] for line in daemon.metrics().splitlines() if line.startswith("groundwork_tasks"))))
        return seen[-3:] == 3 * seen[-1:] and seen[-1] > 60

    until(tasks, lambda: f"tasks: {seen}", pause=1)
    assert seen[-1] < 80
    bucket.clear()
    client.get("/files", expect=200)
    daemon.stop()
    wait_clean(0)


def test_uploads_that_were_left(bucket, start_gateway, project, wait_clean, expire_uploads):
    """The collector aborts the multipart upload of a gateway that was killed between parts."""
    daemon = start_gateway(WORKERS=1, FILES_COLLECT_MS=300, UPLOAD_TIME_MS=120000, S3_TIMEOUT_MS=60000)
    client = project.client(token=project.admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    bucket.fault(operation="part", kind="hang", skip=1, count=10)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sender = pool.submit(client.put, "/files/upload/x", data=LARGE)
        until(lambda: bucket.uploads() and bucket.asked().count("part") >= 2, "the second part is sent")
        for worker in daemon.workers():
            os.kill(worker, 9)
        with pytest.raises(requests.RequestException):
            sender.result()
    expire_uploads(project, 120)
    wait_clean(0)
    daemon.stop()


def test_a_bucket_that_is_wrong(start_gateway, servers, project, put):
    """A gateway reports wrong settings when it starts; it starts when the store is merely away, and answers 503."""
    good = servers.bucket.settings()
    for wrong, why in (({"S3_SECRET": "another"}, "403 SignatureDoesNotMatch"), ({"S3_KEY_ID": "AKIDOTHER"}, "403 InvalidAccessKeyId"),
                       ({"S3_BUCKET": "other"}, "404 NoSuchBucket"), ({"S3_REGION": "eu-test-2"}, "403 SignatureDoesNotMatch"),
                       ({"S3_ENDPOINT": "ftp://x"}, "GROUNDWORK_S3_ENDPOINT"), ({"S3_ENDPOINT": "http://x/path"}, "GROUNDWORK_S3_ENDPOINT"),
                       ({"S3_BUCKET": ""}, "GROUNDWORK_S3_BUCKET"), ({"S3_SPOOL_DIR": "/nowhere"}, "GROUNDWORK_S3_SPOOL_DIR"),
                       ({"FILES_DIR": "/tmp"}, "exclude each other")):
        with pytest.raises(RuntimeError) as refused:
            start_gateway(WORKERS=1, **{**good, **wrong})
        assert why in str(refused.value), (wrong, refused.value)
    away = start_gateway(WORKERS=1, **{**good, "S3_ENDPOINT": "http://127.0.0.1:9"})
    client = project.client(token=project.admin.token)
    client.base_url = f"{away.url}/org/{project.id}"
    assert put(client, "x", SMALL, expect=503)["code"] == "dependency_unavailable"
    away.stop()

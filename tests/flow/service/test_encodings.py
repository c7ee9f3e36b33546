"""Compressed bodies: gzip is accepted for every body, within the limits on the decompressed size; other encodings get 415."""
import gzip
import io
import json
import zlib

import pytest

ITEMS = "/entities/notes/items"


@pytest.fixture(scope="module")
def desk(shared_project):
    project = shared_project
    project.entity("notes", [{"name": "text", "type": "text"}, {"name": "n", "type": "integer"}])
    return project


def send(client, path, body, encoding="gzip", method="POST", kind="application/json", **options):
    return client.request(method, path, data=body, headers={"Content-Encoding": encoding, "Content-Type": kind}, **options)


def packed(value):
    return gzip.compress(json.dumps(value).encode())


def chunks(body, size):
    return iter([body[at:at + size] for at in range(0, len(body), size)])


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
def test_records(desk, encoding):
    made = send(desk.admin, ITEMS, packed({"text": "é" * 3000, "n": 1}), encoding, expect=201).json()
    assert made["text"] == "é" * 3000
    changed = send(desk.admin, f"{ITEMS}/{made['id']}", packed({"n": 2}), encoding, "PUT", expect=200).json()
    assert changed["n"] == 2


def test_pieces_and_members(desk):
    """Chunked, byte by byte, and as several gzip members, which gzip itself can write."""
    for body in (packed({"n": 7}), gzip.compress(b'{"n":') + gzip.compress(b"") + gzip.compress(b"7}")):
        for size in (1, 7, 100000):
            assert send(desk.admin, ITEMS, chunks(body, size), expect=201).json()["n"] == 7


def test_many_records(desk):
    items = [{"text": f"text {n}" * 20, "n": n} for n in range(1000)]
    assert send(desk.admin, f"{ITEMS}/bulk", packed({"items": items}), expect=201).json()["created"] == 1000


def test_uploads_and_imports(desk):
    lines = "n,text\n" + "".join(f"{n},line {n}\n" for n in range(5000))
    form = (b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n' + lines.encode() + b"\r\n--x--\r\n")
    answer = send(desk.admin, f"{ITEMS}/import", gzip.compress(form), kind="multipart/form-data; boundary=x", expect=202)
    assert desk.admin.get(f"/tasks/{answer.json()['task_id']}", expect=200).json()["done"] == 5000
    made = send(desk.admin, "/files", chunks(gzip.compress(form), 1000), kind="multipart/form-data; boundary=x", expect=201).json()
    assert desk.admin.get(f"/files/{made['id']}/get", expect=200).content == lines.encode()


def test_files_alone(desk):
    content = bytes(range(256)) * 2000
    made = send(desk.admin, "/files/upload/plain.bin", chunks(gzip.compress(content), 4096), kind="application/octet-stream", method="PUT", expect=201).json()
    assert made["size"] == len(content) and desk.admin.get(f"/files/{made['id']}/get", expect=200).content == content
    cut = gzip.compress(content)[:-10]
    send(desk.admin, "/files/upload/plain.bin", cut, kind="application/octet-stream", method="PUT", expect=400)


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "gzip,br", "compress", "nonsense", "*"])
def test_other_encodings(desk, encoding):
    for method, path, kind in (("POST", ITEMS, "application/json"), ("PUT", f"{ITEMS}/1", "application/json"), ("POST", "/auth/v1/token", "application/json"),
                               ("POST", "/files", "multipart/form-data; boundary=x"), ("POST", f"{ITEMS}/import", "multipart/form-data; boundary=x")):
        answer = send(desk.admin, path, b"{}", encoding, method, kind, expect=415)
        assert answer.json()["code"] == "unsupported_media_type" and answer.headers["Accept-Encoding"] == "gzip"


def test_no_encoding_at_all(desk):
    send(desk.admin, ITEMS, b'{"n": 1}', "identity", expect=201)
    send(desk.admin, ITEMS, b'{"n": 1}', "", expect=201)
    desk.admin.request("GET", ITEMS, headers={"Content-Encoding": "br"}, expect=200)  # the request has no body


def test_operator_takes_none(operator):
    answer = send(operator, "", packed({"project_id": "x"}), expect=415)
    assert answer.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("body", [
    b"{}", b"", b"\x1f\x8b", gzip.compress(b'{"n": 1}')[:-1], gzip.compress(b'{"n": 1}')[:-9], gzip.compress(b'{"n": 1}') + b"x",
    gzip.compress(b'{"n": 1}')[:-8] + b"\0" * 8, zlib.compress(b'{"n": 1}'), gzip.compress(b"{"),
], ids=range(9))
def test_what_is_not_gzip(desk, body):
    for content in (body, chunks(body, 3)):
        answer = send(desk.admin, ITEMS, content, expect=400)
        assert answer.json()["code"] in ("bad_request", "invalid_json")


def bomb(size):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb") as file:
        for _ in range(size >> 20):
            file.write(b" " * (1 << 20))
    return out.getvalue()


def test_bombs(desk, gateway):
    """The size limit applies while a body is decompressed, not afterwards."""
    body = bomb(256 << 20)
    assert len(body) < 1 << 20
    for path in (ITEMS, f"{ITEMS}/bulk", "/auth/v1/token"):
        answer = send(desk.admin, path, body, expect=413)
        assert answer.json()["code"] == "payload_too_large"
    many = gzip.compress(b"") * 40000
    send(desk.admin, ITEMS, many + packed({"n": 3}), expect=201)

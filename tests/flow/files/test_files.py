"""Files: a download has the bytes of its upload, and a refused upload leaves nothing."""
import concurrent.futures
import hashlib
import os
import socket
import struct
import zlib

import pytest

from groundwork.deadline import until
from groundwork.soon import settle

PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"


def png(width=3, height=2):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + b"\x7f\x00\x00" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_one_file_by_a_form(admin, project, post, stored_files, ledger):
    content = os.urandom(200_000)
    made = post(admin, [("report.bin", content)])
    assert made["filename"] == "report.bin" and made["size"] == len(content)
    assert made["sha256"] == hashlib.sha256(content).hexdigest()
    assert made["items"] == [{key: value for key, value in made.items() if key != "items"}]
    assert made["uploaded_by"] == admin.user["id"] and made["is_public"] is False and made["folder_id"] is None
    assert admin.get(f"/files/{made['id']}", expect=200).json() == made["items"][0]
    answer = admin.get(f"/files/{made['id']}/get", expect=200)
    assert answer.content == content and answer.headers["Content-Length"] == str(len(content))
    files, garbage, totals = ledger(project)
    assert set(stored_files(project)) == files and not garbage and totals == (len(content), 1)


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 1_000_000, 5_000_000])
def test_sizes(shared_project, put, size):
    admin, content = shared_project.admin, os.urandom(size)
    made = put(admin, "x.bin", content)
    assert made["size"] == size and made["sha256"] == hashlib.sha256(content).hexdigest()
    assert admin.get(f"/files/{made['id']}/get", expect=200).content == content


def test_several_files_are_all_or_none(admin, project, post, stored_files, ledger):
    made = post(admin, [("a.txt", b"one"), ("b.txt", b"two" * 50_000), ("c.txt", b"")])
    assert [item["filename"] for item in made["items"]] == ["a.txt", "b.txt", "c.txt"]
    assert ledger(project)[2] == (3 + 150_000, 3)
    admin.put("/", {"settings": {"storage_quota": 200_000}}, expect=200)
    settle()
    refused = post(admin, [("d.txt", b"x"), ("e.txt", b"y" * 60_000)], expect=413)
    assert refused["code"] == "payload_too_large"
    assert admin.get("/files", expect=200).json()["total_items"] == 3
    until(lambda: len(stored_files(project)) == 3 and not ledger(project)[1], "removed")
    # An upload may use the remaining quota to the byte.
    post(admin, [("f.txt", b"z" * (200_000 - 150_003))])
    post(admin, [("g.txt", b"z")], expect=413)
    assert admin.get("/storage", expect=200).json()["bytes"] == 200_000


def test_names(admin, put, post):
    """F1: for any name that a sender writes, the stored name is one path segment of text, and its header is one line."""
    names = {
        "../../etc/passwd": "passwd", "/etc/shadow": "shadow", "C:\\Users\\me\\photo.jpg": "photo.jpg", "..": "file",
        "na\u00efve \u65e5\u672c.txt": "na\u00efve \u65e5\u672c.txt", "exe.\u202egpj.exe": "exe.gpj.exe", "x" * 300 + ".txt": "x" * 251 + ".txt",
        " spaced . ": "spaced",
    }
    for sent, kept in names.items():
        made = post(admin, [(sent, b"content")])
        assert made["filename"] == kept, (sent, made["filename"])
        header = admin.get(f"/files/{made['id']}/get", expect=200).headers["Content-Disposition"]
        assert header.startswith("attachment; filename=\"") and "\n" not in header and header.isascii()
    assert put(admin, "a%09b%0D%0Ac%7F.txt", b"x")["filename"] == "abc.txt"
    made = put(admin, "%E6%97%A5%22.txt", b"x")
    header = admin.get(f"/files/{made['id']}/get", expect=200).headers["Content-Disposition"]
    assert header == "attachment; filename=\"__.txt\"; filename*=UTF-8''%E6%97%A5%22.txt"
    for wrong in ("a/b", "..", "a\nb", "", "x" * 256):
        admin.put(f"/files/{made['id']}", {"filename": wrong}, expect=400)


def form(client, disposition, content=b"x", expect=201):
    """Uploads one part, with the parameters of its Content-Disposition as raw bytes; returns the answer's body."""
    body = b"--b\r\nContent-Disposition: form-data; name=\"file\"; " + disposition + b"\r\n\r\n" + content + b"\r\n--b--\r\n"
    return client.request("POST", "/files", data=body, expect=expect,
                          headers={"Content-Type": "multipart/form-data; boundary=b"}).json()


@pytest.mark.parametrize("disposition, kept", [
    (b"filename=\"x\"; filename*=UTF-8''na%C3%AFve%20%E6%97%A5.txt", "na\u00efve \u65e5.txt"),
    (b"filename=\"=?utf-8?B?bmHDr3ZlLnR4dA==?=\"; filename*=utf-8''na%C3%AFve.txt", "na\u00efve.txt"),  # as .NET sends it
    (b"filename=\"=?utf-8?B?bmHDr3ZlLnR4dA==?=\"", "na\u00efve.txt"),
    (b"filename=\"=?iso-8859-1?Q?na=EFve_1.txt?=\"", "na\u00efve 1.txt"),
    (b"filename=\"na\xefve.txt\"", "na\u00efve.txt"),
    (b"filename=\"x\"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
    (b"filename=\"x\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20b.txt", "aSet-Cookie: b.txt"),
    (b"filename=\"x\"; filename*=UTF-8''exe.%E2%80%AEgpj.exe", "exe.gpj.exe")])
def test_names_as_senders_write_them(shared_project, disposition, kept):
    made = form(shared_project.admin, disposition)
    assert made["filename"] == kept
    header = shared_project.admin.get(f"/files/{made['id']}/get", expect=200).headers["Content-Disposition"]
    assert header.isascii() and "\n" not in header


def test_a_refused_form_says_why(shared_project):
    for disposition, reason in ((b"name=\"b\"", "given twice"), (b"filename=\"x", "malformed")):
        assert reason in form(shared_project.admin, disposition, expect=400)["detail"]


@pytest.mark.parametrize("name, content, kind", [
    ("a.css", b"body { color: red }\n", "text/css"),
    ("a.js", b"alert(1);\n", "text/javascript"),
    ("A.MJS", b"export const a = 1;\n", "text/javascript"),
    ("a.csv", b"a,b\n1,2\n", "text/csv"),
    ("a.md", b"# Title\n\ntext\n", "text/markdown"),
    ("a.markdown", b"<h1 align=\"center\">Title</h1>\n\n<html>", "text/markdown"),
    ("a.txt", b"body { color: red }\n", "text/plain"),
    ("a.css", png(), "image/png"),
    ("a.css", PDF, "application/pdf"),
    ("a.html", b"<!DOCTYPE html><html></html>", "text/html")])
def test_text_has_the_type_of_its_ending(shared_project, put, name, content, kind):
    admin = shared_project.admin
    made = put(admin, name, content)
    assert made["mime_type"] == kind
    answer = admin.get(f"/files/{made['id']}/get", params={"disposition": "inline"}, expect=200)
    assert answer.headers["Content-Type"] == kind and answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"].startswith("inline" if kind == "image/png" else "attachment")


@pytest.mark.parametrize("name, content, kind", [("a.js", b"alert(1);\n", "text/javascript"), ("a.css", b"a { b: c }\n", "text/css")])
def test_no_page_of_ours_runs_a_file(shared_project, put, name, content, kind):
    """A page of the same origin gets a file as application/octet-stream when it loads the file as code: nosniff then stops the
    browser from running it."""
    made = put(shared_project.admin, name, content)

    def type_for(site, wanted_as):
        answer = shared_project.admin.get(f"/files/{made['id']}/get", expect=200,
                                          headers={"Sec-Fetch-Site": site, "Sec-Fetch-Dest": wanted_as})
        assert "Sec-Fetch-Dest" in answer.headers["Vary"]
        return answer.headers["Content-Type"]

    for wanted_as in ("script", "style", "worker", "serviceworker", "audioworklet", "iframe"):
        assert type_for("same-origin", wanted_as) == "application/octet-stream"
        assert type_for("cross-site", wanted_as) == kind
    for wanted_as in ("empty", "document"):
        assert type_for("same-origin", wanted_as) == kind


def test_a_download_under_another_name(admin, put):
    """A caller may choose the name of a download, and may save a file that would be shown, but cannot show a file that would be
    saved."""
    picture, page = put(admin, "a.png", png())["id"], put(admin, "a.html", b"<!DOCTYPE html><html></html>")["id"]

    def header(number, **query):
        return admin.get(f"/files/{number}/get", params=query, expect=200).headers["Content-Disposition"]

    assert header(picture) == "inline; filename=\"a.png\""
    assert header(picture, disposition="inline") == "inline; filename=\"a.png\""
    assert header(picture, disposition="attachment") == "attachment; filename=\"a.png\""
    assert header(picture, filename="") == "inline; filename=\"a.png\""
    assert header(picture, filename="b.png", disposition="attachment", width="2") == "attachment; filename=\"b.png\""
    assert header(page, disposition="inline", filename="b.html") == "attachment; filename=\"b.html\""
    assert header(page, filename="../../etc/na\u00efve.txt") == "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt"
    hostile = admin.get(f"/files/{page}/get", params={"filename": "a\"; x=\r\nSet-Cookie: b\u202e.txt"}, expect=200)
    assert hostile.headers["Content-Disposition"] == \
        "attachment; filename=\"a_; x=Set-Cookie: b.txt\"; filename*=UTF-8''a%22%3B%20x%3DSet-Cookie%3A%20b.txt"
    assert "Set-Cookie" not in hostile.headers
    long = header(page, filename="x" * 1000 + ".html")
    assert len(long) < 400 and long.endswith(".html\"")
    admin.get(f"/files/{page}/get", params={"disposition": "show"}, expect=400)
    admin.get(f"/files/{page}/get", params={"utm_source": "mail"}, expect=400)


@pytest.mark.parametrize("name, content, kind, inline", [
    ("page.png", b"<!DOCTYPE html><html><script>alert(1)</script></html>", "text/html", False),
    ("x.png", b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "image/svg+xml", False),
    ("x.jpg", b"<?xml version='1.0'?><a/>", "text/xml", False),
    ("x.png", PDF, "application/pdf", False),
    ("evil.html", png(), "image/png", True),
    ("x.bin", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "image/gif", True),
    ("x.js", b"#!/usr/bin/env node\nalert(1)\n", None, False),
    ("x.bin", b"\0\1\2", "application/octet-stream", False)])
def test_types_are_what_the_bytes_are(shared_project, put, name, content, kind, inline):
    """F2: only raster images are served inline; the bytes of a file decide its type, not its name."""
    admin = shared_project.admin
    made = put(admin, name, content)
    assert kind is None or made["mime_type"] == kind
    answer = admin.get(f"/files/{made['id']}/get", expect=200)
    assert answer.headers["Content-Type"] == made["mime_type"]
    assert answer.headers["Content-Disposition"].startswith("inline" if inline else "attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_conditions_and_ranges(admin, put):
    content = bytes(range(256)) * 1000
    number = put(admin, "x.bin", content)["id"]
    path = f"/files/{number}/get"

    def get(expect, **headers):
        return admin.get(path, headers={key.replace("_", "-"): value for key, value in headers.items()}, expect=expect)

    whole = get(200)
    tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
    assert whole.headers["Accept-Ranges"] == "bytes" and whole.headers["Cache-Control"] == "private, no-cache"
    assert tag.startswith('"') and not get(304, If_None_Match=tag).content
    assert get(304, If_None_Match=f'"x", W/{tag}').headers["ETag"] == tag
    get(200, If_None_Match='"x"')
    part = get(206, Range="bytes=1000-1999")
    assert part.content == content[1000:2000] and part.headers["Content-Range"] == "bytes 1000-1999/256000"
    assert part.headers["Content-Type"] == whole.headers["Content-Type"] and part.headers["ETag"] == tag
    assert get(206, Range="bytes=-10").content == content[-10:]
    assert get(206, Range="bytes=255999-").content == content[-1:]
    assert get(206, Range="bytes=0-0", If_Range=tag).content == content[:1]
    assert get(206, Range="bytes=0-0", If_Range=date).content == content[:1]
    assert get(200, Range="bytes=0-0", If_Range='"other"').content == content
    assert get(200, Range="bytes=0-0", If_Range=f"W/{tag}").content == content
    assert get(200, Range="lines=0-1").content == content
    assert get(206, Range="bytes=0-9,5-19").content == content[:20], "what overlaps is one"
    wrong = get(416, Range="bytes=256000-")
    assert wrong.headers["Content-Range"] == "bytes */256000" and wrong.json()["code"] == "range_not_satisfiable"
    assert "ETag" not in wrong.headers and wrong.headers["Cache-Control"] == "no-store"
    head = admin.head(path, expect=200)
    assert head.headers["Content-Length"] == "256000" and head.headers["ETag"] == tag and not head.content
    assert admin.head(path, headers={"Range": "bytes=0-1"}, expect=200).headers["Content-Length"] == "256000"


def test_several_ranges(admin, put):
    """The test reads a multipart/byteranges answer as RFC 2046 says."""
    content = os.urandom(300_000)
    number = put(admin, "x.bin", content)["id"]
    wanted = [(0, 9), (100, 199_999), (250_000, 250_000), (299_990, 299_999)]
    header = "bytes=" + ",".join(f"{first}-{last}" for first, last in wanted)
    answer = admin.get(f"/files/{number}/get", headers={"Range": header}, expect=206)
    kind, _, boundary = answer.headers["Content-Type"].partition("; boundary=")
    assert kind == "multipart/byteranges" and int(answer.headers["Content-Length"]) == len(answer.content)
    parts = answer.content.split(b"\r\n--" + boundary.encode())
    assert parts[0] == b"" and parts[-1] == b"--\r\n" and len(parts) == len(wanted) + 2
    for (first, last), part in zip(wanted, parts[1:-1]):
        head, _, body = part.partition(b"\r\n\r\n")
        assert f"Content-Range: bytes {first}-{last}/300000".encode() in head.split(b"\r\n")
        assert body == content[first:last + 1]
    many = "bytes=" + ",".join(f"{n * 100}-{n * 100}" for n in range(17))
    assert admin.get(f"/files/{number}/get", headers={"Range": many}, expect=200).content == content


def test_rows_of_others(project, admin, put):
    """Files and folders are under the row rule: owners, administrators, and members of a requested group see them."""
    alice, bob = project.user(), project.user()
    folder = alice.post("/folders", {"name": "Private"}, expect=201).json()["id"]
    number = put(alice, "a.txt", b"secret", folder_id=folder)["id"]
    for path in (f"/files/{number}", f"/files/{number}/get"):
        bob.get(path, expect=404)
        admin.get(path, expect=200)
        alice.get(path, expect=200)
        project.client().get(path, expect=401)
    assert bob.get("/files", expect=200).json()["total_items"] == 0
    assert bob.get("/folders", expect=200).json()["total_items"] == 0
    assert admin.get("/files", expect=200).json()["total_items"] == 1
    bob.get(f"/folders/{folder}", expect=404)
    bob.put(f"/files/{number}", {"filename": "mine.txt"}, expect=404)
    bob.delete(f"/files/{number}", expect=404)
    bob.delete(f"/folders/{folder}", expect=404)
    bob.post(f"/files/{number}/link", {}, expect=404)
    put(bob, "b.txt", b"x", expect=400, folder_id=folder)
    assert bob.delete("/files", json={"ids": [number, 424242]}, expect=200).json() == {"deleted": 0, "not_found": [number, 424242]}
    # Another user's folder does not block its name either.
    bob.post("/folders", {"name": "Private"}, expect=201)
    reader = project.user(permissions=["svc_group_data:read"])
    group = admin.post("/groups", {"name": "Team"}, expect=201).json()["id"]
    admin.post(f"/groups/{group}/members", {"user_ids": [alice.user["id"], reader.user["id"]]}, expect=200)
    reader.get(f"/files/{number}", expect=404)
    asked = {"X-Group-Id": str(group)}
    reader.get(f"/files/{number}/get", headers=asked, expect=200)
    reader.delete(f"/files/{number}", headers=asked, expect=404)
    only = project.user_with("svc_files:read")
    put(only, "x.txt", b"x", expect=403)


def test_update_and_delete(admin, project, put, stored_files, ledger):
    folder = admin.post("/folders", {"name": "Here"}, expect=201).json()["id"]
    one, two = put(admin, "one.txt", b"one line")["id"], put(admin, "two.txt", b"two lines")["id"]
    changed = admin.put(f"/files/{one}", {"filename": "uno.txt", "folder_id": folder}, expect=200).json()
    assert (changed["filename"], changed["folder_id"]) == ("uno.txt", folder)
    assert admin.get("/files", params={"folder_id": folder}, expect=200).json()["items"] == [changed]
    assert [f["id"] for f in admin.get("/files", params={"folder_id": 0}, expect=200).json()["items"]] == [two]
    assert admin.get("/files", params={"mime_type": "text/"}, expect=200).json()["total_items"] == 2
    assert admin.get("/files", params={"mime_type": "text/plain"}, expect=200).json()["total_items"] == 2
    assert admin.get("/files", params={"mime_type": "image/"}, expect=200).json()["total_items"] == 0
    admin.put(f"/files/{one}", {"folder_id": 424242}, expect=400)
    admin.put(f"/files/{one}", {"size": 1}, expect=400)
    assert admin.put(f"/files/{one}", {"folder_id": None}, expect=200).json()["folder_id"] is None
    admin.delete(f"/files/{one}", expect=204)
    admin.delete(f"/files/{one}", expect=404)
    admin.get(f"/files/{one}/get", expect=404)
    assert admin.delete("/files", json={"ids": [one, two]}, expect=200).json() == {"deleted": 1, "not_found": [one]}
    until(lambda: not stored_files(project) and not ledger(project)[1], "removed")
    assert ledger(project)[2] == (0, 0)


def test_many_at_once(admin, project, ledger):
    """The gateway reads few uploads at a time; other uploads wait for their turn while their bytes stay with the senders."""
    clients = [project.client(token=admin.token) for _ in range(40)]
    content = os.urandom(1_000_000)
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda client: client.put("/files/upload/x", data=content), clients))
    assert [answer.text for answer in answers if answer.status_code != 201] == []
    assert ledger(project)[2] == (40_000_000, 40)


def test_deleted_under_a_download(admin, project, gateway, put, stored_files):
    """A download that has begun receives the whole file although the file is deleted."""
    content = os.urandom(20_000_000)
    number = put(admin, "x.bin", content)["id"]
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
        s.sendall(f"GET /org/{project.id}/files/{number}/get HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                  f"Authorization: Bearer {admin.token}\r\n\r\n".encode())
        answer = s.recv(65536)
        admin.delete(f"/files/{number}", expect=204)
        until(lambda: not stored_files(project), "removed")
        while piece := s.recv(1 << 20):
            answer += piece
    assert answer.partition(b"\r\n\r\n")[2] == content


def test_folders(admin):
    def make(name, parent=None, expect=201):
        return admin.post("/folders", {"name": name, "parent_id": parent}, expect=expect).json()
    top = make("A")
    assert (top["name"], top["parent_id"], top["created_by"]) == ("A", None, admin.user["id"])
    inner = make("B", top["id"])
    assert make("A", expect=409)["code"] == "unique_violation"
    make("A", top["id"])
    for wrong in ("a/b", "..", "", "a\nb"):
        make(wrong, expect=400)
    make("C", 424242, expect=400)
    assert admin.put(f"/folders/{top['id']}", {"parent_id": inner["id"]}, expect=409).json()["code"] == "conflict"
    admin.put(f"/folders/{top['id']}", {"parent_id": top["id"]}, expect=409)
    assert admin.delete(f"/folders/{top['id']}", expect=409).json()["code"] == "in_use"
    moved = admin.put(f"/folders/{inner['id']}", {"name": "Z", "parent_id": None}, expect=200).json()
    assert (moved["name"], moved["parent_id"]) == ("Z", None)
    listed = admin.get("/folders", params={"parent_id": 0, "sort": "name"}, expect=200).json()
    assert [folder["name"] for folder in listed["items"]] == ["A", "Z"]
    admin.delete(f"/folders/{inner['id']}", expect=204)
    below = None
    for depth in range(20):
        below = make(f"d{depth}", below)["id"]
    make("too deep", below, expect=400)


def test_broken_uploads(admin, project, gateway, stored_files, ledger):
    """F4: a broken form is refused, and neither a broken form nor a client that leaves stores anything."""
    def raw(body, boundary="b", length=None):
        head = (f"POST /org/{project.id}/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {admin.token}\r\nContent-Length: "
                f"{length or len(body)}\r\nContent-Type: multipart/form-data; boundary={boundary}\r\nConnection: close\r\n\r\n")
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
            s.sendall(head.encode() + body)
            if length:
                return None
            answer = b""
            while piece := s.recv(65536):
                answer += piece
            return int(answer.split()[1])
    part = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"
    assert raw(part + b"data") == 400, "no end"
    assert raw(b"--b--\r\n") == 400, "no part"
    assert raw(part + b"data\r\n--b--\r\n", "b" * 71) == 415
    assert raw((part + b"data\r\n") * 21 + b"--b--\r\n") == 400, "too many"
    assert raw(part.replace(b'"file"', b'"other"') + b"data\r\n--b--\r\n") == 400
    raw(part + os.urandom(500_000), length=1_000_000)
    assert raw(part + b"data\r\n--b--\r\n") == 201
    admin.post("/files", data=b"x", headers={"Content-Type": "text/plain"}, expect=415)
    until(lambda: len(stored_files(project)) == 1 and not ledger(project)[1], "removed")
    assert ledger(project)[2] == (4, 1)


def test_limits_of_size(start_gateway, servers, project, put, stored_files, ledger):
    """An upload above the limit is refused: before it is read if it declares its length, otherwise as soon as the limit is
    passed."""
    small = start_gateway(UPLOAD_BYTES=100_000, WORKERS=1)
    client = project.client(token=project.admin.token)
    client.base_url = f"{small.url}/org/{project.id}"
    put(client, "x", b"x" * 100_001, expect=413)
    put(client, "x", iter([b"x" * 60_000] * 2), expect=413)
    client.post("/files", files={"file": ("x", b"x" * 100_001)}, expect=413)
    put(client, "x", b"x" * 100_000)
    until(lambda: len(stored_files(project)) == 1 and not ledger(project)[1], "removed")


def test_without_a_store(start_gateway, project, admin, put):
    number = put(admin, "x", b"x")["id"]
    none = start_gateway(FILES_DIR="", S3_ENDPOINT="", WORKERS=1)
    client = project.client(token=project.admin.token)
    client.base_url = f"{none.url}/org/{project.id}"
    assert put(client, "x", b"x", expect=503)["code"] == "dependency_unavailable"
    client.get(f"/files/{number}/get", expect=503)
    client.get(f"/files/{number}", expect=200)

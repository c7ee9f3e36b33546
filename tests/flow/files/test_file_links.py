"""Files that are read without credentials, as public files and by links that expire; and the sums that /storage shows."""
import concurrent.futures
import time
from urllib.parse import urlsplit

import pytest
import requests

from groundwork.deadline import until
from groundwork.soon import settle


def test_public_files(project, admin, put):
    """A12: an anonymous caller reads only public files, and gets the same answer for a hidden id as for a missing id."""
    nobody = project.client()
    hidden = put(admin, "hidden.txt", b"hidden")["id"]
    shown = put(admin, "shown.txt", b"shown", is_public="true")
    assert shown["is_public"] is True
    answer = nobody.get(f"/files/{shown['id']}/public", expect=200)
    assert answer.content == b"shown" and answer.headers["Cache-Control"] == "public, max-age=300"
    nobody.get(f"/files/{shown['id']}/public", headers={"If-None-Match": answer.headers["ETag"]}, expect=304)
    assert nobody.get(f"/files/{shown['id']}/public", headers={"Range": "bytes=1-2"}, expect=206).content == b"ho"
    assert nobody.get(f"/files/{shown['id']}/public", params={"utm_source": "mail"}, expect=200).content == b"shown"
    missing = nobody.get("/files/424242/public", expect=404).json()
    found = nobody.get(f"/files/{hidden}/public", expect=404).json()
    assert {**missing, "request_id": 0} == {**found, "request_id": 0}
    nobody.get(f"/files/{shown['id']}/get", expect=401)
    nobody.get(f"/files/{shown['id']}", expect=401)
    admin.put(f"/files/{shown['id']}", {"is_public": False}, expect=200)
    nobody.get(f"/files/{shown['id']}/public", expect=404)


def test_links(project, admin, put):
    one, two = put(admin, "one.txt", b"first file"), put(admin, "two.txt", b"second file")
    begun = time.monotonic()
    made = admin.post(f"/files/{one['id']}/link", {"expires_in": 60}, expect=200).json()
    assert urlsplit(made["url"]).path == f"/org/{project.id}/files/{one['id']}/shared"
    answer = requests.get(made["url"], timeout=60)
    assert (answer.status_code, answer.content) == (200, b"first file")
    kept, _, seconds = answer.headers["Cache-Control"].partition("=")
    assert kept == "private, max-age" and 58 - (time.monotonic() - begun) <= int(seconds) <= 60
    assert requests.get(made["url"], headers={"Range": "bytes=0-4"}, timeout=60).content == b"first"
    nobody = project.client()
    token = made["url"].partition("token=")[2]
    assert nobody.get(f"/files/{one['id']}/shared", params={"token": token}, expect=200).content == b"first file"
    for number, wrong in ((two["id"], token), (one["id"], token[:-1] + ("A" if token[-1] != "A" else "B")), (one["id"], ""),
                          (one["id"], token + "A"), (424242, token)):
        assert nobody.get(f"/files/{number}/shared", params={"token": wrong}, expect=401).json()["code"] == "token_invalid"
    nobody.get(f"/files/{one['id']}/shared", expect=401)
    decorated = {"token": token, "utm_source": "mail", "fbclid": "a[b]", "x": ["1", "2"]}
    assert nobody.get(f"/files/{one['id']}/shared", params=decorated, expect=200).content == b"first file"
    for wished, name in (("b.txt", "b.txt"), ("B.TXT", "B.TXT"), ("setup.exe", "setup.exe.txt"), ("b", "b.txt")):
        answer = nobody.get(f"/files/{one['id']}/shared", params={**decorated, "filename": wished}, expect=200)
        assert answer.headers["Content-Disposition"] == f"attachment; filename=\"{name}\""
    nobody.get(f"/files/{one['id']}/shared", params={"token": [token, token]}, expect=400)
    nobody.get(f"/files/{one['id']}/shared", params={**decorated, "width": "x"}, expect=400)
    for wrong in (0, -1, 7 * 24 * 3600 + 1, "60"):
        admin.post(f"/files/{one['id']}/link", {"expires_in": wrong}, expect=400)
    assert admin.post(f"/files/{one['id']}/link", expect=200).json()["url"]
    short = admin.post(f"/files/{one['id']}/link", {"expires_in": 1}, expect=200).json()["url"]
    time.sleep(2.1)
    assert requests.get(short, timeout=60).status_code == 401
    admin.delete(f"/files/{one['id']}", expect=204)
    assert requests.get(made["url"], timeout=60).status_code == 404


def test_a_link_is_of_its_project(project, operator, gateway, recorder, put):
    from groundwork.project import Project
    other = Project(gateway, operator, recorder)
    mine, theirs = put(project.admin, "a", b"mine"), put(other.admin, "a", b"theirs")
    assert mine["id"] == theirs["id"]
    token = project.admin.post(f"/files/{mine['id']}/link", {}, expect=200).json()["url"].partition("token=")[2]
    other.client().get(f"/files/{theirs['id']}/shared", params={"token": token}, expect=401)


def sums(project, db):
    with db.cursor() as cursor:
        cursor.execute(f"select coalesce(sum(size), 0), count(*) from {project.schema(db)}.files")
        return cursor.fetchone()


def test_storage(project, admin, put, db):
    empty = admin.get("/storage", expect=200).json()
    assert empty == {"bytes": 0, "files": 0, "quota_bytes": None, "variants": {"bytes": 0, "files": 0}, "entities": [], "kinds": []}
    put(admin, "a.txt", b"some text")
    put(admin, "b.pdf", b"%PDF-1.4\n")
    put(admin, "c.txt", b"more of it")
    found = admin.get("/storage", expect=200).json()
    assert (found["bytes"], found["files"]) == (28, 3)
    assert found["entities"] == [{"entity": None, "bytes": 28, "files": 3}]
    assert found["kinds"] == [{"kind": "document", "bytes": 9, "files": 1}, {"kind": "text", "bytes": 19, "files": 2}]
    project.user().get("/storage", expect=403)
    project.key(["svc_files:read"]).get("/storage", expect=403)


@pytest.mark.parametrize("quota", [0, 100_000])
def test_storage_is_true_under_concurrency(project, admin, db, put, quota, stored_files, ledger):
    """During concurrent uploads, deletions and refusals, the sums of /storage equal those of the rows and never exceed the
    quota."""
    admin.put("/", {"settings": {"storage_quota": quota}}, expect=200)
    settle()
    clients = [project.client(token=admin.token) for _ in range(6)]

    def work(number):
        client, mine, refused = clients[number], [], 0
        for n in range(25):
            size = (number * 977 + n * 1301) % 9000
            answer = client.put(f"/files/upload/{number}-{n}", data=b"x" * size)
            assert answer.status_code in (201, 413), answer.text
            refused += answer.status_code == 413
            if answer.status_code == 201:
                mine.append(answer.json()["id"])
            if n % 3 == 2 and mine:
                client.delete(f"/files/{mine.pop(0)}", expect=204)
            if n % 5 == 0:
                report = admin_report(client)
                assert not quota or report["bytes"] <= quota
        return refused

    def admin_report(client):
        report = client.get("/storage", expect=200).json()
        for part in ("entities", "kinds"):
            assert sum(each["bytes"] for each in report[part]) == report["bytes"], report
            assert sum(each["files"] for each in report[part]) == report["files"], report
        return report

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        refused = sum(pool.map(work, range(6)))
    assert bool(refused) == bool(quota)
    report = admin_report(admin)
    assert (report["bytes"], report["files"]) == sums(project, db)
    assert report["quota_bytes"] == (quota or None)
    until(lambda: len(stored_files(project)) == report["files"] and not ledger(project)[1], "removed")


def test_the_operators_ceiling(start_gateway, project):
    """GROUNDWORK_STORAGE_QUOTA_MAX is the largest quota that a project may choose, and its quota when it chooses none."""
    bounded = start_gateway(STORAGE_QUOTA_MAX=1000, WORKERS=1)
    client = project.client(token=project.admin.token)
    client.base_url = f"{bounded.url}/org/{project.id}"
    assert client.get("/", expect=200).json()["settings"]["storage_quota"] == 1000
    client.put("/files/upload/x", data=b"x" * 1001, expect=413)
    client.put("/", {"settings": {"storage_quota": 1001}}, expect=400)
    client.put("/", {"settings": {"storage_quota": 0}}, expect=400)
    client.put("/", {"settings": {"storage_quota": 10}}, expect=200)
    client.put("/files/upload/x", data=b"x" * 11, expect=413)
    client.put("/files/upload/x", data=b"x" * 10, expect=201)

"""Variants of pictures in the store: each is made once, their number is bounded, and they are deleted with their file, also if
a process is killed."""
import concurrent.futures
import os
import signal
import time

import pytest
from groundwork import bucket
from groundwork.deadline import until
from groundwork.pictures import GET, draw_image, encode_image, flat_png, decode_image, variant


@pytest.fixture
def stored_variants(project, db):
    """stored_variants() returns (spec, key) of all variants."""
    def look():
        with db.cursor() as cursor:
            cursor.execute(f"select spec, key from {project.schema(db)}.file_variants order by id")
            return cursor.fetchall()
    return look


def test_made_once(admin, put, stored_variants, stored_files, project):
    made = put(admin, "x.jpg", encode_image(draw_image(), "JPEG"))
    first = variant(admin, made, width=50)
    assert [spec for spec, _ in stored_variants()] == ["50x0-cover-jpg-3"] and len(stored_files(project)) == 2
    before = stored_variants(), stored_files(project)
    for _ in range(3):
        again = variant(admin, made, width=50, fit="fill")
        assert (again.content, again.headers["ETag"]) == (first.content, first.headers["ETag"])
    assert (stored_variants(), stored_files(project)) == before
    tag = first.headers["ETag"]
    assert variant(admin, made, width=50, headers={"If-None-Match": tag}, expect=304).headers["ETag"] == tag
    part = variant(admin, made, width=50, headers={"Range": "bytes=2-5"}, expect=206)
    assert part.content == first.content[2:6] and part.headers["Content-Range"] == f"bytes 2-5/{len(first.content)}"
    variant(admin, made, width=50, headers={"Range": "bytes=999999-"}, expect=416)
    assert tag != admin.get(GET.format(made["id"]), expect=200).headers["ETag"]
    assert admin.get("/storage", expect=200).json()["variants"] == {"bytes": len(first.content), "files": 1}
    assert admin.get("/storage", expect=200).json()["bytes"] == made["size"]


def test_goes_with_its_file(start_gateway, admin, project, put, stored_variants, stored_files, ledger):
    collector = start_gateway(WORKERS=1, FILES_COLLECT_MS=300)
    made = [put(admin, "x.jpg", encode_image(draw_image(), "JPEG")) for _ in range(3)]
    for each in made:
        variant(admin, each, width=50)
        variant(admin, each, width=60)
    assert len(stored_files(project)) == 9
    admin.delete(f"/files/{made[0]['id']}", expect=204)
    until(lambda: len(stored_files(project)) == 6, "removed")
    admin.delete("/files", json={"ids": [each["id"] for each in made[1:]]}, expect=200)
    until(lambda: not stored_files(project) and not ledger(project)[1], "removed")
    assert stored_variants() == [] and ledger(project)[2] == (0, 0)
    collector.stop()


def test_so_many_of_a_file(admin, project, put, stored_variants, stored_files, ledger):
    made = put(admin, "x.jpg", encode_image(draw_image(), "JPEG"))
    for width in range(1, 41):
        variant(admin, made, width=width)
    assert [spec for spec, _ in stored_variants()] == [f"{width}x0-cover-jpg-3" for width in range(9, 41)]
    until(lambda: len(stored_files(project)) == 33 and not ledger(project)[1], "removed")
    assert decode_image(variant(admin, made, width=1).content).size == (1, 1)


def test_bytes_that_were_lost(admin, project, put, stored_files, stored_variants):
    """A variant whose bytes were lost is made again at the second request."""
    made = put(admin, "x.jpg", encode_image(draw_image(), "JPEG"))
    want = variant(admin, made, width=50).content
    (_, key), = stored_variants()
    if bucket.wanted():
        pytest.skip("a bucket loses no object here")
    stored_files(project)[key].unlink()
    variant(admin, made, expect=503, width=50)
    assert variant(admin, made, width=50).content == want


def test_at_once(start_gateway, admin, project, put, stored_variants, stored_files, ledger):
    """Concurrent requests to two gateways leave one stored variant, and all get the same bytes."""
    other = start_gateway(WORKERS=1)
    second = project.client(token=admin.token)
    second.base_url = f"{other.url}/org/{project.id}"
    made = put(admin, "x.png", encode_image(draw_image(2000, 1500), "PNG"))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: variant((admin, second)[n % 2], made, width=500).content, range(8)))
    assert len(set(answers)) == 1 and decode_image(answers[0]).size == (500, 375)
    assert len(stored_variants()) == 1
    until(lambda: len(stored_files(project)) == 2 and not ledger(project)[1], "removed")
    other.stop()


def test_killed_while_it_works(start_gateway, admin, project, put, sandboxes):
    """A request gets its picture although the sandbox is killed while it works."""
    daemon = start_gateway(WORKERS=1, REQUEST_TIMEOUT_MS=600000)
    client = project.client(token=admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    made = put(client, "x.png", flat_png(9000, 9000))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for width in (50, 60):
            answer = pool.submit(variant, client, made, width=width)
            until(lambda: sandboxes(daemon), "started")
            time.sleep(0.2)
            for number in sandboxes(daemon):
                os.kill(number, signal.SIGKILL)
            assert decode_image(answer.result().content).size == (width, width)
    daemon.stop()

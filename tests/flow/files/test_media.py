"""Sizes and durations of pictures and recordings are in the row of a file from the upload on."""
import os
import pathlib
import signal
import struct

import pytest
from groundwork import pictures
from groundwork.deadline import at_most, until
from groundwork.pictures import draw_image, encode_image


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests: each test uses pictures of its own."""
    pictures.wait_examined(shared_project.admin)
    return shared_project


def facts(made):
    return made["width"], made["height"], made["duration"]


def wait_facts(client, made):
    """Returns the facts of a file; asks again if the sandbox took longer to start than an upload waits."""
    return facts(made) if made["width"] else facts(client.post(f"/files/{made['id']}/probe", expect=200).json())


@pytest.mark.parametrize("kind, options", [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("GIF", {}), ("WEBP", {}),
                                           ("WEBP", {"lossless": True})])
def test_sizes(admin, put, kind, options):
    made = put(admin, "x", encode_image(draw_image(313, 207), kind, **options))
    assert facts(made) == (313, 207, None)
    assert made["mime_type"] == f"image/{kind.lower()}"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_as_they_are_seen(admin, put, kind, orientation):
    made = put(admin, "x", pictures.encode_turned(draw_image(313, 207), orientation, kind))
    assert facts(made)[:2] == ((313, 207) if orientation < 5 else (207, 313))


def test_durations(admin, put, post):
    assert facts(put(admin, "x.wav", pictures.encode_wav(1.5))) == (None, None, 1.5)
    assert facts(put(admin, "x.mp4", pictures.encode_mp4(12.345, 640, 360))) == (640, 360, 12.345)
    assert facts(put(admin, "x.mp4", pictures.encode_mp4(2, 640, 360, quarter=True))) == (360, 640, 2)
    both = post(admin, [("a.png", encode_image(draw_image(), "PNG")), ("b.wav", pictures.encode_wav(0.25)), ("c.txt", b"words")])["items"]
    assert [facts(each) for each in both] == [(600, 400, None), (None, None, 0.25), (None, None, None)]


def test_of_a_large_film_only_its_heads_are_read(admin, put):
    assert facts(put(admin, "x.mp4", pictures.encode_mp4(padding=30 << 20))) == (640, 360, 12.345)


def test_what_says_nothing(admin, put):
    """A picture that is cut, lies about its size or is of another kind is stored like any other file."""
    png = encode_image(draw_image(), "PNG")
    assert facts(put(admin, "x", png[:20])) == (None, None, None)
    assert facts(put(admin, "x", png[:16] + struct.pack(">II", 0x7FFFFFFF, 0x7FFFFFFF) + png[24:])) == (None, None, None)
    assert facts(put(admin, "x.svg", b'<svg xmlns="http://www.w3.org/2000/svg" width="5" height="5"></svg>')) == (None, None, None)
    assert facts(put(admin, "x.jpg", encode_image(draw_image(), "JPEG")[:300])) in ((600, 400, None), (None, None, None))


def test_asked_again(admin, project, put):
    made = put(admin, "x.png", encode_image(draw_image(), "PNG"))
    again = admin.post(f"/files/{made['id']}/probe", expect=200).json()
    assert again == made
    text = put(admin, "x.txt", b"words")
    assert facts(admin.post(f"/files/{text['id']}/probe", expect=200).json()) == (None, None, None)
    project.user().post(f"/files/{made['id']}/probe", expect=404)
    admin.post("/files/424242/probe", expect=404)


def test_the_sandbox_is_killed(start_gateway, project, put, sandboxes):
    """A sandbox that is killed is started again for the next picture, and clients do not notice."""
    daemon = start_gateway(WORKERS=1)
    client = project.client(token=project.admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    for _ in range(3):
        assert wait_facts(client, put(client, "x.png", encode_image(draw_image(), "PNG"))) == (600, 400, None)
        for number in sandboxes(daemon):
            os.kill(number, signal.SIGKILL)
    until(lambda: not sandboxes(daemon), "gone")
    assert wait_facts(client, put(client, "x.png", encode_image(draw_image(), "PNG"))) == (600, 400, None)
    assert len(sandboxes(daemon)) == 1
    daemon.stop()


@pytest.mark.timed
@pytest.mark.parametrize("how", ["huge", "endless", "far", "much", "short", "pieces", "flood", "unknown", "failure", "silent", "ends"])
def test_a_program_that_was_taken_over(start_gateway, project, put, tmp_path, how):
    """Any lie of the sandbox leaves a file without facts, within the time that an upload waits, and without variants."""
    liar = tmp_path / f"liar-{how}"
    liar.write_bytes((pathlib.Path(__file__).parent / "liar.py").read_bytes())
    for folder in (*liar.parents, liar):
        if folder.is_relative_to(tmp_path.parent):
            folder.chmod(0o755)
    stays = how in ("endless", "silent")
    daemon = start_gateway(WORKERS=1, MEDIA_SANDBOX=str(liar), REQUEST_TIMEOUT_MS=4000 if stays else 60000)
    client = project.client(token=project.admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    with at_most(10, "the upload"):
        made = put(client, "x.png", encode_image(draw_image(), "PNG"))
    assert facts(made) == (None, None, None)
    answer = client.get(f"/files/{made['id']}/get", params={"width": 50}, expect=504 if stays else 422)
    assert answer.json()["code"] in ("picture_broken", "picture_too_large", "timeout")
    assert client.get(f"/files/{made['id']}/get", expect=200).content
    daemon.stop()


def test_no_program_no_start(start_gateway):
    with pytest.raises(RuntimeError) as refused:
        start_gateway(WORKERS=1, MEDIA_SANDBOX="/nowhere/media-sandbox")
    assert "GROUNDWORK_MEDIA_SANDBOX" in str(refused.value)

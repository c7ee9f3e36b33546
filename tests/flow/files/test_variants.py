"""Pictures in other sizes and formats are right, and files that are not pictures do no harm."""
import concurrent.futures
import functools
import threading
import time

import pytest
from groundwork import pictures
from groundwork.deadline import allowed, at_most, until
from groundwork.pictures import GET, distance, draw_image, encode_image, flat_png, noise_image, decode_image, variant
from groundwork.project import Project
from PIL import Image


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests: each test uses pictures of its own."""
    pictures.wait_examined(shared_project.admin)
    return shared_project


# --- the content of variants ---


@pytest.mark.parametrize("query, size", [
    (dict(width=100), (100, 67)), (dict(height=100), (150, 100)), (dict(width=100, height=100), (100, 100)),
    (dict(width=100, height=100, fit="cover"), (100, 100)), (dict(width=100, height=100, fit="contain"), (100, 100)),
    (dict(width=100, height=100, fit="inside"), (100, 67)), (dict(width=100, height=100, fit="fill"), (100, 100)),
    (dict(width=100, fit="inside"), (100, 67)),
    (dict(width=1, height=1), (1, 1)), (dict(width=4096, height=1, fit="fill"), (4096, 1)), (dict(format="png"), (600, 400))])
def test_sizes(admin, put, query, size):
    made = put(admin, "x.png", encode_image(draw_image(), "PNG"))
    got = variant(admin, made, **query)
    assert decode_image(got.content).size == size and got.headers["Content-Type"] == "image/png"


@pytest.mark.parametrize("fit", [None, "cover", "contain", "fill", "inside"])
@pytest.mark.parametrize("query, size", [(dict(width=1200), (1200, 800)), (dict(height=600), (900, 600)), (dict(width=700, height=700), (700, 700)),
                                         (dict(width=601, height=399), (601, 399)), (dict(width=599, height=401), (599, 401))])
def test_a_smaller_picture_is_enlarged(admin, put, fit, query, size):
    """A small picture is enlarged to the requested size, given by one side or both; only `inside` never enlarges it."""
    made = put(admin, "x.png", encode_image(draw_image(), "PNG"))
    got = decode_image(variant(admin, made, **query, **({"fit": fit} if fit else {})).content).size
    inside = min(1, query.get("width", 600) / 600, query.get("height", 400) / 400)
    assert got == ((int(600 * inside + 0.5), int(400 * inside + 0.5)) if fit == "inside" else size)


def test_as_others_scale(admin, put):
    """Scaled pictures equal those of Pillow's own Lanczos, whole and cropped."""
    image = draw_image()
    made = put(admin, "x.png", encode_image(image, "PNG"))
    assert distance(decode_image(variant(admin, made, width=90, height=60).content), image.resize((90, 60), Image.Resampling.LANCZOS)) < 1
    cut = image.crop((100, 0, 500, 400)).resize((80, 80), Image.Resampling.LANCZOS)
    assert distance(decode_image(variant(admin, made, width=80, height=80).content), cut) < 1
    larger = image.resize((900, 600), Image.Resampling.LANCZOS)
    assert distance(decode_image(variant(admin, made, width=900, height=600, fit="fill").content), larger) < 1
    padded = decode_image(variant(admin, made, width=90, height=90, fit="contain").content)
    assert padded.getpixel((0, 0)) == (0, 0, 0, 0) and distance(padded.crop((0, 15, 90, 75)), image.resize((90, 60), Image.Resampling.LANCZOS)) < 1
    assert decode_image(variant(admin, made, width=90, height=90, fit="contain", format="jpeg").content).getpixel((2, 2)) >= (250, 250, 250)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned(admin, put, kind, orientation):
    image = draw_image(300, 200)
    made = put(admin, "x", pictures.encode_turned(image, orientation, kind, **({"quality": 95} if kind != "PNG" else {})))
    turned = image.transpose(pictures.TURNS[orientation]) if orientation > 1 else image
    width, height = (60, 40) if orientation < 5 else (40, 60)
    assert (made["width"], made["height"]) == turned.size
    got = decode_image(variant(admin, made, width=width, height=height, format="png").content)
    assert distance(got, turned.resize((width, height), Image.Resampling.LANCZOS)) < 4
    side = min(turned.size)
    corner = (turned.width - side) // 2, (turned.height - side) // 2
    square = turned.crop((*corner, corner[0] + side, corner[1] + side)).resize((50, 50), Image.Resampling.LANCZOS)
    assert distance(decode_image(variant(admin, made, width=50, height=50, format="png").content), square) < 4


def composite_over(image, color):
    """Returns the image composited over `color`, because transparent pixels have no colour to compare."""
    return Image.alpha_composite(Image.new("RGBA", image.size, (*color, 255)), image.convert("RGBA")).convert("RGB")


def kinds():
    moving = [draw_image(60, 40), draw_image(60, 40).rotate(90), draw_image(60, 40).rotate(180)]
    yield "gray", draw_image(60, 40, "L"), encode_image(draw_image(60, 40, "L"), "JPEG", quality=95)
    yield "cmyk", draw_image(60, 40, "CMYK"), encode_image(draw_image(60, 40, "CMYK"), "JPEG", quality=95)
    yield "progressive", draw_image(60, 40), encode_image(draw_image(60, 40), "JPEG", quality=95, progressive=True)
    yield "palette", draw_image(60, 40, "P"), encode_image(draw_image(60, 40, "P"), "PNG")
    yield "bits", draw_image(60, 40, "1"), encode_image(draw_image(60, 40, "1"), "PNG")
    yield "deep", Image.new("RGB", (60, 40), (128, 128, 128)), encode_image(Image.new("I;16", (60, 40), 0x8080), "PNG")
    yield "alpha", draw_image(60, 40, "RGBA"), encode_image(draw_image(60, 40, "RGBA"), "PNG")
    yield "alpha-webp", draw_image(60, 40, "RGBA"), encode_image(draw_image(60, 40, "RGBA"), "WEBP", lossless=True, exact=True)
    yield "moving-gif", draw_image(60, 40, "P"), encode_image(draw_image(60, 40, "P"), "GIF", save_all=True, append_images=moving[1:])
    yield "moving-webp", draw_image(60, 40), encode_image(moving[0], "WEBP", save_all=True, append_images=moving[1:], lossless=True)
    yield "one", Image.new("RGB", (1, 1), (10, 20, 30)), encode_image(Image.new("RGB", (1, 1), (10, 20, 30)), "PNG")
    yield "appended", draw_image(60, 40), encode_image(draw_image(60, 40), "JPEG", quality=95) + b"PK\3\4 and a script <script>alert(1)</script>"


KINDS = {name: (image, content) for name, image, content in kinds()}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(admin, put, name):
    image, content = KINDS[name]
    made = put(admin, "x", content)
    assert (made["width"], made["height"]) == image.size
    got = decode_image(variant(admin, made, format="png").content)
    assert got.size == image.size
    assert distance(composite_over(got, (9, 99, 200)), composite_over(image, (9, 99, 200))) < (5 if name == "cmyk" else 3)
    assert distance(decode_image(variant(admin, made, format="jpeg").content), composite_over(image, (255, 255, 255))) < 15
    assert distance(composite_over(decode_image(variant(admin, made, format="webp").content), (9, 99, 200)), composite_over(image, (9, 99, 200))) < 15


def test_avif(admin, put):
    """The service writes AVIF, measures it and reads it back: nothing else here can read AVIF."""
    made = put(admin, "x.png", encode_image(draw_image(), "PNG"))
    content = variant(admin, made, format="avif", width=300).content
    again = put(admin, "x.avif", content)
    assert (again["mime_type"], again["width"], again["height"]) == ("image/avif", 300, 200)
    got = decode_image(variant(admin, again, format="png").content)
    assert distance(got, draw_image().resize((300, 200), Image.Resampling.LANCZOS)) < 4
    assert variant(admin, again, width=10).headers["Content-Type"] == "image/avif"
    clear = put(admin, "x.png", encode_image(draw_image(60, 40, "RGBA"), "PNG"))
    with_alpha = put(admin, "x.avif", variant(admin, clear, format="avif").content)
    assert distance(decode_image(variant(admin, with_alpha, format="png").content).getchannel("A"), draw_image(60, 40, "RGBA").getchannel("A")) < 3


# --- requests ---


def test_formats_and_names(admin, put):
    made = put(admin, "me & you.jpeg", encode_image(draw_image(), "JPEG"))
    for format, kind, name in (("webp", "image/webp", "webp"), ("png", "image/png", "png"), ("avif", "image/avif", "avif"), ("jpeg", "image/jpeg", "jpg")):
        got = variant(admin, made, format=format, width=20)
        assert got.headers["Content-Type"] == kind and f"me & you.{name}" in got.headers["Content-Disposition"]
        assert got.headers["Content-Disposition"].startswith("inline")
    assert variant(admin, made, width=20).headers["Content-Type"] == "image/jpeg"
    drawing = put(admin, "x.gif", encode_image(draw_image(), "GIF"))
    assert variant(admin, drawing, width=20).headers["Content-Type"] == "image/webp"
    assert variant(admin, drawing, width=20, format="auto", headers={"Accept": "image/*"}).headers["Content-Type"] == "image/png"


@pytest.mark.parametrize("accept, kind", [
    ("image/avif,image/webp,*/*;q=0.8", "image/webp"), ("IMAGE/WEBP", "image/webp"), ("*/*", "image/jpeg"), ("image/*", "image/jpeg"),
    ("image/webp;q=0, */*", "image/jpeg"), ("text/html", "image/jpeg"), ("image/webpx, ,;;", "image/jpeg")])
def test_as_the_client_can_show(admin, put, accept, kind):
    made = put(admin, "x.jpg", encode_image(draw_image(), "JPEG"))
    got = variant(admin, made, width=20, format="auto", headers={"Accept": accept})
    assert got.headers["Content-Type"] == kind and "Accept" in got.headers["Vary"]


@pytest.mark.parametrize("query", [dict(width=0), dict(width=-1), dict(width=4097), dict(height="x"), dict(width="1e3"), dict(fit="outside"),
                                   dict(format="gif"), dict(format="svg"), dict(format=""), dict(frame="last"), dict(frame=1), dict(size=1), dict(width="")])
def test_what_cannot_be_asked(admin, put, query):
    made = put(admin, "x.png", encode_image(draw_image(), "PNG"))
    variant(admin, made, expect=400, **query)


def test_who_may(admin, project, put):
    alice, bob = project.user(), project.user()
    made = put(alice, "x.png", encode_image(draw_image(), "PNG"))
    want = variant(alice, made, width=50).content
    variant(bob, made, expect=404, width=50)
    nobody = project.client()
    variant(nobody, made, expect=401, width=50)
    variant(nobody, made, expect=404, path="/files/{}/public", width=50)
    alice.put(f"/files/{made['id']}", {"is_public": True}, expect=200)
    got = variant(nobody, made, path="/files/{}/public", width=50)
    assert got.content == want and got.headers["Cache-Control"] == "public, max-age=300"
    link = alice.post(f"/files/{made['id']}/link", expect=200).json()["url"]
    got = nobody.session.get(f"{link}&width=50", timeout=60)
    assert got.status_code == 200 and got.content == want


# --- bad pictures ---


@pytest.fixture(scope="module")
def patient_admin(start_gateway, project):
    """The administrator, at a gateway that gives large pictures as much time as a busy machine needs."""
    daemon = start_gateway(WORKERS=1, REQUEST_TIMEOUT_MS=600000)
    client = project.client(token=project.admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    client.request = functools.partial(client.request, timeout=600)
    pictures.wait_examined(client)
    yield client
    daemon.stop()


@pytest.mark.timed
def test_bombs(patient_admin, put):
    """A bomb is refused by its head, or when memory or time run out, and the next picture is still scaled."""
    good = put(patient_admin, "x.png", encode_image(draw_image(), "PNG"))
    bombs = [flat_png(30000, 30000), flat_png(9000, 9000, interlaced=True), flat_png(4, 4, told=(30000, 30000)),
             flat_png(1, 1, told=(1, 999_999_999))]
    for bomb in bombs[:2]:
        made = put(patient_admin, "bomb.png", bomb)
        assert made["size"] < 200_000
        with at_most(15, "a bomb"):
            answer = variant(patient_admin, made, expect=422, width=50).json()
        assert answer["code"] == "picture_too_large"
    for bomb in bombs[2:]:
        assert variant(patient_admin, put(patient_admin, "bomb.png", bomb), expect=422, width=50).json()["code"] in ("picture_too_large", "picture_broken")
    assert decode_image(variant(patient_admin, good, width=50).content).size == (50, 33)


def test_takes_too_long(start_gateway, admin, project, put):
    """A picture that takes more time than allowed is refused, and the refusal names the time."""
    daemon = start_gateway(WORKERS=1, MEDIA_TIME_MS=1000, MEDIA_MEMORY_BYTES=2 << 30)
    client = project.client(token=admin.token)
    client.base_url = f"{daemon.url}/org/{project.id}"
    made = put(client, "x.png", encode_image(noise_image(4096, 4096), "PNG", compress_level=1))
    answer = variant(client, made, expect=422, width=4096, height=4096, format="avif").json()
    assert answer["code"] == "picture_too_large" and "time" in answer["detail"]
    daemon.stop()


def test_large_and_no_bomb(patient_admin, put):
    made = put(patient_admin, "x.png", flat_png(9000, 9000))
    assert (made["width"], made["height"]) == (9000, 9000)
    assert decode_image(variant(patient_admin, made, width=50).content).size == (50, 50)


def test_large_avif(patient_admin, put):
    """The largest possible variant is made as AVIF, and made from AVIF, within the memory of one picture."""
    made = put(patient_admin, "x.png", encode_image(draw_image(4096, 4096), "PNG", compress_level=1))
    content = variant(patient_admin, made, format="avif", width=4096).content
    again = put(patient_admin, "x.avif", content)
    assert (again["width"], again["height"]) == (4096, 4096)
    assert distance(decode_image(variant(patient_admin, again, width=300, format="png").content), draw_image(4096, 4096).resize((300, 300), Image.Resampling.LANCZOS)) < 4


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_cut(admin, put, kind):
    whole = encode_image(draw_image(), kind)
    for part in (0.1, 0.5, 0.9):
        made = put(admin, "x", whole[:int(len(whole) * part)])
        assert variant(admin, made, expect=422, width=50).json()["code"] == "picture_broken"


@pytest.mark.parametrize("name, content", [
    ("x.svg", b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'), ("x.txt", b"words"),
    ("x.pdf", b"%PDF-1.4\n%%EOF\n"), ("x.bmp", encode_image(draw_image(9, 9), "BMP")), ("x", b"")])
def test_no_picture(admin, put, name, content):
    """A file that is not of one of the seven formats is never decoded, and is served unchanged."""
    made = put(admin, name, content)
    assert variant(admin, made, expect=422, width=50).json()["code"] == "not_a_picture"
    assert admin.get(GET.format(made["id"]), expect=200).content == content


@pytest.mark.parametrize("content", [b"GIF89a=1;alert(1)//" + bytes(50), b"\xff\xd8\xff\xe0" + b"<script>" * 50, b"\x89PNG\r\n\x1a\n" + bytes(100),
                                     b"RIFF\x24\0\0\0WEBPVP8 " + bytes(30)])
def test_polyglots(admin, put, content):
    made = put(admin, "x", content)
    answer = variant(admin, made, expect=422, width=50)
    assert answer.json()["code"] in ("picture_broken", "not_a_picture", "picture_too_large")


def test_broken_anywhere(admin, put):
    """A picture with bytes changed at random places gives a variant or a 422."""
    for kind in ("PNG", "JPEG", "GIF", "WEBP"):
        content = bytearray(encode_image(draw_image(200, 100), kind))
        for n in range(8):
            content[(n * 7919 + 40) % len(content)] ^= 0x5A
            answer = admin.get(GET.format(put(admin, "x", bytes(content))["id"]), params={"width": 50}, expect=None)
            assert answer.status_code in (200, 422), answer.text


@pytest.mark.timed
def test_one_projects_bombs_and_anothers_pictures(start_gateway, admin, put, gateway, operator, recorder):
    """Bombs of one project occupy at most half of the sandboxes, so pictures of another project are soon ready."""
    daemon = start_gateway(WORKERS=1, REQUEST_TIMEOUT_MS=600000)
    other = Project(gateway, operator, recorder)
    quiet = other.client(token=other.admin.token)
    quiet.base_url = f"{daemon.url}/org/{other.id}"
    heavy = put(admin, "x.png", flat_png(9900, 9900))
    small = put(quiet, "x.png", encode_image(draw_image(), "PNG"))
    loud_url = f"{daemon.url}{admin.base_url[admin.base_url.index('/org/'):]}"
    done, answers = threading.Event(), []

    def flood(n):
        while not done.is_set():
            n += 20
            answers.append(admin.session.get(f"{loud_url}/files/{heavy['id']}/get", params={"width": n % 4000 + 1}, timeout=600,
                                             headers={"Authorization": f"Bearer {admin.token}"}).status_code)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        try:
            for n in range(10):
                pool.submit(flood, n)
            until(lambda: answers, "no large picture is made")
            waits = []
            for width in range(10, 20):
                began = time.monotonic()
                variant(quiet, small, width=width)
                waits.append(time.monotonic() - began)
        finally:
            done.set()
    assert sorted(waits)[5] < allowed(2), waits
    daemon.stop()

"""Animated pictures: their variants are animated WebP."""
import pytest
from groundwork import pictures
from groundwork.pictures import distance, draw_image, encode_image, gif, decode_image, variant
from PIL import Image

RED, GREEN, BLUE, WHITE = range(4)
COLORS = {RED: (255, 0, 0), GREEN: (0, 255, 0), BLUE: (0, 0, 255), WHITE: (255, 255, 255)}
KEEP, CLEAR, BACK = 1, 2, 3
FULL = (0, 0, 40, 20)


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests: each test uses pictures of its own."""
    pictures.wait_examined(shared_project.admin)
    return shared_project


def frames_of(content):
    """Returns all frames as RGBA, the time in ms that each is shown, and the number of plays (0: endless)."""
    image = decode_image(content)
    frames, times = [], []
    for n in range(image.n_frames):
        image.seek(n)
        image.load()
        frames.append(image.convert("RGBA"))
        times.append(image.info["duration"])
    return frames, times, image.info["loop"]


def is_near(pixel, color, alpha=255):
    return abs(pixel[3] - alpha) < 10 and (alpha == 0 or all(abs(a - b) < 40 for a, b in zip(pixel, COLORS[color])))


def animation(kind, **options):
    turns = [draw_image(60, 40), draw_image(60, 40).rotate(180), draw_image(60, 40).transpose(Image.Transpose.FLIP_LEFT_RIGHT)]
    return turns, encode_image(turns[0], kind, save_all=True, append_images=turns[1:], duration=[50, 120, 300], **options)


@pytest.mark.parametrize("kind, options", [("GIF", {"loop": 0}), ("WEBP", {"lossless": True, "loop": 0}), ("WEBP", {"quality": 90, "loop": 0})])
@pytest.mark.parametrize("query", [dict(), dict(format="webp"), dict(format="auto")])
def test_goes_on_moving(admin, put, kind, options, query):
    turns, content = animation(kind, **options)
    made = put(admin, "x", content)
    got = variant(admin, made, width=30, headers={"Accept": "image/webp"}, **query)
    assert got.headers["Content-Type"] == "image/webp"
    frames, times, plays = frames_of(got.content)
    assert (times, plays) == ([50, 120, 300], 0)
    for frame, turn in zip(frames, turns, strict=True):
        assert distance(frame, turn.resize((30, 20), Image.Resampling.LANCZOS)) < 15


@pytest.mark.parametrize("fit, size", [("cover", (30, 30)), ("contain", (30, 30)), ("fill", (30, 30)), ("inside", (30, 20))])
def test_fits(admin, put, fit, size):
    _, content = animation("GIF", loop=0)
    frames, _, _ = frames_of(variant(admin, put(admin, "x", content), width=30, height=30, fit=fit).content)
    assert len(frames) == 3 and all(frame.size == size for frame in frames)


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
@pytest.mark.parametrize("query", [dict(frame="first"), dict(frame="first", format="webp"), dict(format="png"), dict(format="jpeg"), dict(format="avif")])
def test_first_frame(admin, put, kind, query):
    """A variant has only the first frame if requested, and in formats without animation."""
    turns, content = animation(kind, loop=0)
    got = put(admin, "again", variant(admin, put(admin, "x", content), width=30, **query).content)
    shown = decode_image(variant(admin, got, format="png").content)
    assert distance(shown, turns[0].resize((30, 20), Image.Resampling.LANCZOS)) < 15
    if query.get("format") != "avif":
        assert getattr(decode_image(variant(admin, got).content), "n_frames", 1) == 1


def test_first_frame_and_all_of_them_are_two_variants(admin, put):
    _, content = animation("GIF", loop=0)
    made = put(admin, "x", content)
    counts = [decode_image(variant(admin, made, width=30, frame=frame).content).n_frames for frame in ("all", "first", "all")]
    assert counts == [3, 1, 3]
    assert variant(admin, made, frame="first").headers["Content-Type"] == "image/webp"


def test_turned(admin, put):
    """The frames of an animated WebP are turned as its Exif orientation says."""
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = 6
    turns, content = animation("WEBP", lossless=True, loop=0, exif=exif.tobytes())
    frames, _, _ = frames_of(variant(admin, put(admin, "x", content), width=20).content)
    for frame, turn in zip(frames, turns, strict=True):
        assert distance(frame, turn.transpose(pictures.TURNS[6]).resize((20, 30), Image.Resampling.LANCZOS)) < 15


@pytest.mark.parametrize("loops, plays", [(None, 1), (0, 0), (1, 2), (3, 4), (65535, 65535)])
def test_loops_of_gif(admin, put, loops, plays):
    """Browsers play a GIF once more than its loop count says."""
    content = gif((40, 20), [(*FULL, RED, 10, KEEP), (*FULL, BLUE, 10, KEEP)], loops=loops)
    assert frames_of(variant(admin, put(admin, "x.gif", content), format="webp").content)[2] == plays


def test_loops_of_webp(admin, put):
    _, content = animation("WEBP", loop=3)
    assert frames_of(variant(admin, put(admin, "x.webp", content), width=30).content)[2] == 3


def test_no_time_is_a_tenth_of_a_second(admin, put):
    content = gif((40, 20), [(*FULL, RED, 0, KEEP), (*FULL, BLUE, 1, KEEP), (*FULL, GREEN, 7, KEEP)], loops=0)
    assert frames_of(variant(admin, put(admin, "x.gif", content), width=20).content)[1] == [100, 10, 70]


def test_disposal(admin, put):
    """Each frame begins with what the disposal of the frame before leaves: that frame, a cleared area, or the picture before
    that frame."""
    content = gif((40, 20), [(*FULL, RED, 10, KEEP), (2, 2, 8, 8, BLUE, 10, BACK), (20, 2, 8, 8, GREEN, 10, CLEAR), (30, 10, 8, 8, WHITE, 10, KEEP),
                             (35, 15, 20, 20, BLUE, 10, KEEP)], loops=0)
    frames, _, _ = frames_of(variant(admin, put(admin, "x.gif", content), format="webp").content)
    first, second, third, fourth, fifth = ([frame.getpixel(at) for at in ((5, 5), (24, 5), (33, 13), (38, 18))] for frame in frames)
    assert all(is_near(pixel, RED) for pixel in first)
    assert is_near(second[0], BLUE) and is_near(second[1], RED)
    assert is_near(third[0], RED) and is_near(third[1], GREEN)
    assert is_near(fourth[0], RED) and is_near(fourth[1], None, alpha=0) and is_near(fourth[2], WHITE)
    assert is_near(fifth[1], None, alpha=0) and is_near(fifth[2], WHITE) and is_near(fifth[3], BLUE)


def test_colors(admin, put):
    """Each frame is converted from the picture's colour profile."""
    icc = pictures.profile(pictures.ADOBE)
    same = Image.new("RGB", (16, 16), (100, 180, 60)), Image.new("RGB", (16, 16), (60, 180, 100))
    content = encode_image(same[0], "WEBP", save_all=True, append_images=same[1:], lossless=True, icc_profile=icc, duration=100)
    frames, _, _ = frames_of(variant(admin, put(admin, "x.webp", content), format="webp").content)
    assert [frame.getpixel((8, 8))[0] < 12 for frame in frames] == [True, True]


# --- bad pictures ---

MANY = [(0, 0, 1, 1, n % 4, 2, KEEP) for n in range(2001)]


@pytest.mark.parametrize("content", [gif((10, 10), MANY), gif((9000, 9000), MANY[:2]), gif((60000, 60000), MANY[:2]), gif((1000, 1000), MANY[:101])],
                         ids=["frames", "canvas", "one", "sum"])
def test_bombs(admin, put, content):
    """A GIF of too many or too large frames is refused before a frame is decoded, and the refusal says how to get a still
    picture."""
    made = put(admin, "x.gif", content)
    assert made["size"] < 100_000
    answer = variant(admin, made, expect=422, width=8).json()
    assert answer["code"] == "picture_too_large" and "frame=first" in answer["detail"]


def test_webp_bombs(admin, put):
    """Each frame of a WebP counts with the size of the canvas that the head declares."""
    frames = [Image.new("L", (8, 8), n % 256) for n in range(100)]
    content = bytearray(encode_image(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=20, lossless=True))
    content[24:30] = (1023).to_bytes(3, "little") * 2
    assert variant(admin, put(admin, "x.webp", bytes(content)), expect=422, width=8).json()["code"] == "picture_too_large"


def test_webp_that_lasts_too_long(admin, put):
    """A WebP is refused if its frames together last longer than an integer holds."""
    frames = [Image.new("L", (8, 8), n % 256) for n in range(200)]
    content = encode_image(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=20, lossless=True)
    head, *rest = content.split(b"ANMF")
    content = b"ANMF".join([head, *(part[:16] + b"\xff\xff\xff" + part[19:] for part in rest)])
    assert variant(admin, put(admin, "x.webp", content), expect=422, width=8).json()["code"] == "picture_too_large"


def test_as_many_as_may_be(admin, put):
    made = put(admin, "x.gif", gif((10, 10), MANY[:2000], loops=0))
    assert decode_image(variant(admin, made, width=8).content).n_frames > 1
    more = put(admin, "x.gif", gif((10, 10), MANY))
    assert decode_image(variant(admin, more, width=8, frame="first").content).size == (8, 8)


def test_a_variant_has_no_more_pixels_than_its_picture_may(admin, put):
    """An animation is refused if all frames of the variant together would have more pixels than a picture may have."""
    made = put(admin, "x.gif", gif((10, 10), MANY[:40]))
    assert variant(admin, made, expect=422, width=4000).json()["code"] == "picture_too_large"


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_cut(admin, put, kind):
    _, whole = animation(kind, loop=0)
    for part in (0.3, 0.6, 0.9):
        made = put(admin, "x", whole[:int(len(whole) * part)])
        assert variant(admin, made, expect=422, width=30).json()["code"] == "picture_broken"


def test_without_an_end(admin, put):
    """A GIF is read although its last byte, the trailer, is missing or wrong, as some writers leave it."""
    for end in (b"", b"\0"):
        made = put(admin, "x.gif", gif((40, 20), [(*FULL, RED, 10, KEEP), (*FULL, BLUE, 10, KEEP)], loops=0, end=end))
        assert decode_image(variant(admin, made, width=20).content).n_frames == 2


def test_broken_anywhere(admin, put):
    """A picture with bytes changed at random places gives a variant or a 422."""
    for kind in ("GIF", "WEBP"):
        content = bytearray(animation(kind, loop=0)[1])
        for n in range(12):
            content[(n * 7919 + 40) % len(content)] ^= 0x5A
            answer = admin.get(pictures.GET.format(put(admin, "x", bytes(content))["id"]), params={"width": 30}, expect=None)
            assert answer.status_code in (200, 422), answer.text

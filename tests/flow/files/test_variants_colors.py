"""Colours of variants: the variant of a picture with a colour profile looks the same and has no profile."""
import io

import pytest
from groundwork import heic, pictures
from groundwork.pictures import ADOBE, DISPLAY_P3, distance, draw_image, encode_image, profile, decode_image, variant
from PIL import Image, ImageCms

PROFILES = {"adobe": profile(ADOBE), "p3": profile(DISPLAY_P3), "linear": profile(ADOBE, gamma=1)}
LOSSLESS = {"JPEG": {"quality": 100, "subsampling": 0}, "PNG": {}, "WEBP": {"lossless": True, "exact": True}}


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests: each test uses pictures of its own."""
    pictures.wait_examined(shared_project.admin)
    return shared_project


def as_srgb(image, icc):
    """Returns the image as the tests' own library converts it to sRGB."""
    return ImageCms.profileToProfile(image, ImageCms.ImageCmsProfile(io.BytesIO(icc)), ImageCms.createProfile("sRGB"), outputMode=image.mode)


def without_profile(content):
    image = decode_image(content)
    assert "icc_profile" not in image.info
    return image


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("name", PROFILES)
def test_profiles_become_srgb(admin, put, kind, name):
    icc, image = PROFILES[name], draw_image(60, 40)
    made = put(admin, "x", encode_image(image, kind, icc_profile=icc, **LOSSLESS[kind]))
    want = as_srgb(image, icc)
    assert distance(image, want) > 5
    assert distance(without_profile(variant(admin, made, format="png").content), want) < 1.5
    for format in ("jpeg", "webp"):
        assert distance(without_profile(variant(admin, made, format=format).content), want) < 15
    small = image.resize((30, 20), Image.Resampling.LANCZOS)
    assert distance(without_profile(variant(admin, made, width=30, format="png").content), as_srgb(small, icc)) < 2


@pytest.mark.parametrize("name, stored, shown", [
    ("adobe", (128, 128, 128), (129, 129, 129)), ("adobe", (100, 180, 60), (0, 181, 42)), ("adobe", (250, 250, 250), (250, 250, 250)),
    ("p3", (200, 100, 50), (216, 93, 24))])
def test_known_colors(admin, put, name, stored, shown):
    """Variants have colours that were calculated by hand, without the library."""
    made = put(admin, "x.png", encode_image(Image.new("RGB", (8, 8), stored), "PNG", icc_profile=PROFILES[name]))
    got = decode_image(variant(admin, made, width=4).content).convert("RGB").getpixel((1, 1))
    assert all(abs(a - b) <= 2 for a, b in zip(got, shown)), got


def test_avif_keeps_colors(admin, put):
    """A picture with a profile is converted once, on the way to AVIF and not again from AVIF."""
    made = put(admin, "x.png", encode_image(draw_image(60, 40), "PNG", icc_profile=PROFILES["p3"]))
    again = put(admin, "x.avif", variant(admin, made, format="avif").content)
    assert distance(decode_image(variant(admin, again, format="png").content), as_srgb(draw_image(60, 40), PROFILES["p3"])) < 4


@pytest.mark.parametrize("kind", ["avif", "heic"])
@pytest.mark.parametrize("number, shown", [(1, (200, 100, 50)), (12, (215, 93, 31)), (9, (241, 76, 29))])
def test_colors_by_numbers(admin, put, kind, number, shown):
    """AVIF and HEIC can name Display P3 and BT.2020 by a number instead of a profile."""
    image = Image.new("RGB", (64, 64), (200, 100, 50))
    if kind == "avif":
        content = variant(admin, put(admin, "x.png", encode_image(image, "PNG")), format="avif").content.replace(b"nclx\0\1", b"nclx\0" + bytes([number]))
    else:
        whole = heic.encode_heic(image, icc=PROFILES["adobe"])
        at = whole.index(b"colrprof")
        content = whole[:at] + b"colrnclx" + bytes([0, number, 0, 13, 0, 6, 0x80]) + whole[at + 15:]
    got = decode_image(variant(admin, put(admin, "x", content), format="png").content).convert("RGB").getpixel((8, 8))
    assert all(abs(a - b) <= 3 for a, b in zip(got, shown)), got


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_gray(admin, put, kind):
    image, icc = draw_image(60, 40, "L"), profile(gamma=1)
    made = put(admin, "x", encode_image(image, kind, icc_profile=icc, **LOSSLESS[kind]))
    got = without_profile(variant(admin, made, format="png").content).convert("RGB")
    want = image.point([round(255 * (12.92 * v / 255 if v / 255 < 0.0031308 else 1.055 * (v / 255) ** (1 / 2.4) - 0.055)) for v in range(256)])
    assert distance(got, want) < 1.5


def test_what_is_clear_stays_clear(admin, put):
    image = draw_image(60, 40, "RGBA")
    made = put(admin, "x.png", encode_image(image, "PNG", icc_profile=PROFILES["adobe"]))
    got = decode_image(variant(admin, made, format="png").content)
    assert distance(got.getchannel("A"), image.getchannel("A")) < 1
    opaque = image.copy()
    opaque.putalpha(255)
    assert distance(got.convert("RGB"), as_srgb(opaque.convert("RGB"), PROFILES["adobe"])) < 12  # nearly clear pixels have few colours


@pytest.mark.parametrize("icc", [b"", b"no profile", PROFILES["adobe"][:200], PROFILES["adobe"][:-300], profile(gamma=1), bytes(128) + b"\xff" * 400,
                                 profile(ADOBE, padding=5 << 20)],
                         ids=["empty", "words", "cut", "half", "of-gray", "noise", "large"])
def test_profiles_that_are_ignored(admin, put, icc):
    """A profile that is broken, is for another kind of pixels or is larger than 4 MB is ignored."""
    for kind in ("JPEG", "WEBP"):
        made = put(admin, "x", encode_image(draw_image(60, 40), kind, icc_profile=icc, **LOSSLESS[kind]))
        assert distance(decode_image(variant(admin, made, format="png").content), draw_image(60, 40)) < 1.5


def test_ink_is_as_before(admin, put):
    """A CMYK picture is converted without its profile."""
    image = draw_image(60, 40, "CMYK")
    made = put(admin, "x.jpg", encode_image(image, "JPEG", quality=100, icc_profile=PROFILES["adobe"]))
    assert distance(decode_image(variant(admin, made, format="png").content), image.convert("RGB")) < 5

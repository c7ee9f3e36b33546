"""HEIC of cameras and TIFF of scanners: their size in the row, and variants in formats that browsers show."""
import ctypes
import struct
import tempfile
import zlib

import pytest
from groundwork import heic, pictures
from groundwork.pictures import GET, DISPLAY_P3, distance, draw_image, encode_image, profile, decode_image, variant
from PIL import Image

WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, STRIP, ORIENTATION, SAMPLES, STRIP_ROWS, STRIP_BYTES, PLANAR, TILE_WIDTH, TILE_HEIGHT = \
    256, 257, 258, 259, 262, 273, 274, 277, 278, 279, 284, 322, 323


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests: each test uses pictures of its own."""
    pictures.wait_examined(shared_project.admin)
    return shared_project


def tiff(image, **options):
    return encode_image(image, "TIFF", **options)


def tiled_tiff(image, side=16):
    """Returns a TIFF of tiles, which Pillow does not write."""
    library = ctypes.CDLL("libtiff.so.6")
    library.TIFFOpen.restype = ctypes.c_void_p
    with tempfile.NamedTemporaryFile(suffix=".tiff") as file:
        out = ctypes.c_void_p(library.TIFFOpen(file.name.encode(), b"w"))
        for tag, value in ((WIDTH, image.width), (HEIGHT, image.height), (BITS, 8), (COMPRESSION, 5), (PHOTOMETRIC, 2), (SAMPLES, 3), (PLANAR, 1),
                           (TILE_WIDTH, side), (TILE_HEIGHT, side)):
            assert library.TIFFSetField(out, tag, value)
        for y in range(0, image.height, side):
            for x in range(0, image.width, side):
                assert library.TIFFWriteTile(out, image.crop((x, y, x + side, y + side)).tobytes(), x, y, 0, 0) > 0
        library.TIFFClose(out)
        return file.read()


def declared_tiff(width, height, compression=1, strip=bytes(300)):
    """Returns a gray TIFF of one strip whose head declares any size."""
    tags = [(WIDTH, 4, 1, width), (HEIGHT, 4, 1, height), (BITS, 3, 1, 8), (COMPRESSION, 3, 1, compression), (PHOTOMETRIC, 3, 1, 1),
            (STRIP, 4, 1, 122), (SAMPLES, 3, 1, 1), (STRIP_ROWS, 4, 1, height), (STRIP_BYTES, 4, 1, len(strip))]
    table = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + table + bytes(4) + strip


# --- size in the row ---


@pytest.mark.parametrize("size", [(60, 40), (61, 41), (600, 400)])
def test_size_of_heic(admin, put, size):
    """The coded picture of a HEIC with odd sides is larger than its size in the row."""
    made = put(admin, "x.jpg", heic.encode_heic(draw_image(*size)))
    assert (made["mime_type"], made["width"], made["height"]) == ("image/heic", *size)


@pytest.mark.parametrize("order", ["II", "MM"])
def test_size_of_tiff(admin, put, order):
    content = tiff(draw_image(61, 41)) if order == "II" else tiff(draw_image(61, 41).convert("L").convert("I;16B"))
    made = put(admin, "x.jpg", content)
    assert content.startswith(order.encode()) and (made["mime_type"], made["width"], made["height"]) == ("image/tiff", 61, 41)


@pytest.mark.parametrize("kind", ["TIFF", "HEIC"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned(admin, put, kind, orientation):
    image = draw_image(120, 80)
    turned = image.transpose(pictures.TURNS[orientation]) if orientation > 1 else image
    made = put(admin, "x", tiff(image, tiffinfo={ORIENTATION: orientation}) if kind == "TIFF" else heic.encode_heic(image, orientation))
    assert (made["width"], made["height"]) == turned.size
    for size in ((60, 40), (40, 60), (50, 50)):
        got = decode_image(variant(admin, made, width=size[0], height=size[1], fit="fill", format="png").content)
        assert distance(got, turned.resize(size, Image.Resampling.LANCZOS)) < 4


# --- variants ---


@pytest.mark.parametrize("kind", ["TIFF", "HEIC"])
def test_formats(admin, put, kind):
    """The file itself is a download, because browsers do not show it; its variants are shown."""
    made = put(admin, "photo.of.a.thing", tiff(draw_image()) if kind == "TIFF" else heic.encode_heic(draw_image()))
    want = draw_image().resize((300, 200), Image.Resampling.LANCZOS)
    for query, accept, type_ in ((dict(), "", "image/jpeg"), (dict(format="jpeg"), "", "image/jpeg"), (dict(format="webp"), "", "image/webp"),
                                 (dict(format="auto"), "image/webp", "image/webp"), (dict(format="auto"), "*/*", "image/jpeg"),
                                 (dict(format="png"), "", "image/png")):
        got = variant(admin, made, width=300, headers={"Accept": accept}, **query)
        assert got.headers["Content-Type"] == type_ and got.headers["Content-Disposition"].startswith("inline")
        assert distance(decode_image(got.content), want) < 15
    whole = admin.get(GET.format(made["id"]), expect=200)
    assert whole.headers["Content-Disposition"].startswith("attachment") and whole.headers["Content-Type"] == made["mime_type"]


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "jpeg", "group3", "group4"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK"])
def test_kinds_of_tiff(admin, put, compression, mode):
    if compression == "jpeg" and mode in ("P", "1") or compression.startswith("group") and mode != "1":
        return  # TIFF has no such combination
    image = draw_image(60, 40, mode)
    got = decode_image(variant(admin, put(admin, "x.tif", tiff(image, compression=compression)), format="png").content)
    assert distance(got, image.convert("RGBA")) < 3


def test_tiles(admin, put):
    assert distance(decode_image(variant(admin, put(admin, "x.tif", tiled_tiff(draw_image(100, 70))), format="png").content), draw_image(100, 70)) < 1


def test_sixteen_bits(admin, put):
    made = put(admin, "x.tif", tiff(Image.new("I;16", (60, 40), 0x8080)))
    assert decode_image(variant(admin, made, format="png").content).convert("RGB").getpixel((30, 20)) == (128, 128, 128)


def test_first_page(admin, put):
    pages = [draw_image(60, 40), draw_image(30, 30).rotate(90), draw_image(90, 90)]
    made = put(admin, "x.tif", tiff(pages[0], save_all=True, append_images=pages[1:]))
    assert (made["width"], made["height"]) == (60, 40)
    assert distance(decode_image(variant(admin, made, format="png").content), pages[0]) < 1


def test_colors(admin, put):
    icc = profile(DISPLAY_P3)
    image = Image.new("RGB", (64, 64), (200, 100, 50))
    for content in (tiff(image, icc_profile=icc), heic.encode_heic(image, icc=icc)):
        got = decode_image(variant(admin, put(admin, "x", content), width=16, format="png").content).convert("RGB").getpixel((8, 8))
        assert all(abs(a - b) <= 4 for a, b in zip(got, (216, 93, 24))), got


def test_heic_with_alpha(admin, put):
    image = draw_image(120, 80, "RGBA")
    got = decode_image(variant(admin, put(admin, "x", heic.encode_heic(image)), format="png").content)
    assert distance(got.getchannel("A"), image.getchannel("A")) < 3


def test_a_whole_photo(admin, put):
    made = put(admin, "x.heic", heic.encode_heic(draw_image(2016, 1512)))
    assert distance(decode_image(variant(admin, made, width=200, format="png").content), draw_image(2016, 1512).resize((200, 150), Image.Resampling.LANCZOS)) < 4


def test_rows_of_tiff(admin, put):
    """The strips of a TIFF are read one after the other, so a picture of 81 million pixels needs little memory."""
    made = put(admin, "x.tif", tiff(Image.new("L", (9000, 9000), 99), compression="tiff_adobe_deflate"))
    assert decode_image(variant(admin, made, width=8, format="png").content).convert("L").getpixel((4, 4)) == 99


# --- bad pictures ---


def flat_strip(size):
    """Returns a compressed strip of `size` * `size` black pixels."""
    packer = zlib.compressobj(9)
    return b"".join([*(packer.compress(bytes(size)) for _ in range(size)), packer.flush()])


@pytest.mark.parametrize("told", [(60000, 60000), (9999, 9999, 5), (1, 99_999_999), (99_999_999, 1)])
def test_bombs_of_tiff(admin, put, told):
    """A TIFF that declares a wrong size is refused by its head, or where its bytes end."""
    answer = variant(admin, put(admin, "x.tif", declared_tiff(*told)), expect=422, width=50).json()
    assert answer["code"] in ("picture_too_large", "picture_broken")


def test_a_strip_beyond_memory(admin, put):
    made = put(admin, "x.tif", declared_tiff(9900, 9900, 8, flat_strip(9900)))
    assert made["size"] < 200_000
    assert variant(admin, made, expect=422, width=50).json()["code"] == "picture_too_large"


@pytest.mark.parametrize("told, code", [((60000, 60000), "picture_too_large"), ((9999, 9999), None), ((8, 8), None), ((0, 0), None)])
def test_bombs_of_heic(admin, put, told, code):
    """A HEIC whose head declares another size than its picture is refused."""
    content = heic.encode_heic(draw_image(128, 64))
    lie = content.replace(b"ispe\0\0\0\0" + struct.pack(">II", 128, 64), b"ispe\0\0\0\0" + struct.pack(">II", *told))
    assert lie != content
    got = variant(admin, put(admin, "x.heic", lie), expect=422, width=50).json()["code"]
    assert got in ((code,) if code else ("picture_too_large", "picture_broken"))


def test_a_page_that_leads_to_itself(admin, put):
    content = bytearray(tiff(draw_image(60, 40)))
    first = struct.unpack_from("<I", content, 4)[0]
    count = struct.unpack_from("<H", content, first)[0]
    struct.pack_into("<I", content, first + 2 + 12 * count, first)
    assert decode_image(variant(admin, put(admin, "x.tif", bytes(content)), width=30, format="png").content).size == (30, 20)


@pytest.mark.parametrize("kind", ["TIFF", "HEIC"])
def test_cut(admin, put, kind):
    whole = tiff(draw_image()) if kind == "TIFF" else heic.encode_heic(draw_image())
    for part in (0.1, 0.5, 0.9):
        made = put(admin, "x", whole[:int(len(whole) * part)])
        assert variant(admin, made, expect=422, width=50).json()["code"] == "picture_broken"


@pytest.mark.parametrize("content", [tiff(draw_image(60, 40, "L").convert("F")), tiff(draw_image(60, 40), compression="lzma"),
                                     tiff(draw_image(60, 40), compression="zstd")], ids=["floats", "lzma", "zstd"])
def test_tiff_that_is_not_read(admin, put, content):
    """Few TIFFs have these formats, and each further codec could be attacked: the service refuses them."""
    assert variant(admin, put(admin, "x.tif", content), expect=422, width=50).json()["code"] == "not_a_picture"


def test_broken_anywhere(admin, put):
    """A picture with bytes changed at random places gives a variant or a 422."""
    for whole in (tiff(draw_image(100, 50), compression="tiff_lzw"), tiff(draw_image(100, 50), compression="jpeg"), heic.encode_heic(draw_image(100, 50))):
        content = bytearray(whole)
        for n in range(12):
            content[(n * 7919 + 40) % len(content)] ^= 0x5A
            answer = admin.get(GET.format(put(admin, "x", bytes(content))["id"]), params={"width": 50}, expect=None)
            assert answer.status_code in (200, 422), answer.text

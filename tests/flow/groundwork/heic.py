"""Creates HEIC pictures, which Pillow cannot write, by calling libheif."""
import ctypes
import functools
import struct
import tempfile

HEVC, RGB, INTERLEAVED = 1, 1, 10
AT_ORIENTATION = 20  # in struct heif_encoding_options, version 5


class Outcome(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("subcode", ctypes.c_int), ("message", ctypes.c_char_p)]


@functools.cache
def library():
    found = ctypes.CDLL("libheif.so.1")
    for name in ("heif_context_alloc", "heif_encoding_options_alloc", "heif_image_get_plane"):
        getattr(found, name).restype = ctypes.c_void_p
    return found


def call(name, *args):
    function = getattr(library(), name)
    function.restype = Outcome
    outcome = function(*args)
    assert outcome.code == 0, (name, outcome.message)


def encode_heic(image, orientation=1, icc=None, quality=95):
    """Encodes an RGB or RGBA picture with even sides. Properties of the container turn it as the EXIF orientation says."""
    heif, context = library(), ctypes.c_void_p(library().heif_context_alloc())
    encoder, picture, handle, row_bytes = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    call("heif_context_get_encoder_for_format", context, HEVC, ctypes.byref(encoder))
    call("heif_encoder_set_lossy_quality", encoder, quality)
    call("heif_image_create", image.width, image.height, RGB, INTERLEAVED + (image.mode == "RGBA"), ctypes.byref(picture))
    call("heif_image_add_plane", picture, INTERLEAVED, image.width, image.height, 8)
    plane = heif.heif_image_get_plane(picture, INTERLEAVED, ctypes.byref(row_bytes))
    size = image.width * len(image.mode)
    for y in range(image.height):
        ctypes.memmove(plane + y * row_bytes.value, image.crop((0, y, image.width, y + 1)).tobytes(), size)
    if icc:
        call("heif_image_set_raw_color_profile", picture, b"prof", icc, ctypes.c_size_t(len(icc)))
    options = heif.heif_encoding_options_alloc()
    ctypes.c_int.from_address(options + AT_ORIENTATION).value = orientation
    call("heif_context_encode_image", context, picture, encoder, ctypes.c_void_p(options), ctypes.byref(handle))
    with tempfile.NamedTemporaryFile(suffix=".heic") as file:
        call("heif_context_write_to_file", context, file.name.encode())
        heif.heif_context_free(context)
        content = file.read()
    if orientation < 5:
        return content
    stored, shown = (struct.pack(">II", *size) for size in (image.size, image.size[::-1]))
    return content.replace(b"ispe\0\0\0\0" + shown, b"ispe\0\0\0\0" + stored)  # cameras write the size as stored, not turned

"""Creates pictures and recordings for tests, and compares pictures."""
import io
import struct
import wave
import zlib

from PIL import Image

from .deadline import until

GET = "/files/{}/get"
ORIENTATION = 0x0112
# How to turn stored pixels for each EXIF orientation (Pillow's names).
TURNS = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
         5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_90}


def draw_image(width=600, height=400, mode="RGB"):
    """A picture without any symmetry, all corners different."""
    across = Image.linear_gradient("L").rotate(90).resize((width, height))
    down = Image.linear_gradient("L").resize((width, height))
    round_ = Image.radial_gradient("L").resize((width, height))
    if mode == "RGBA":
        return Image.merge("RGBA", (across, down, round_, down))
    return Image.merge("RGB", (across, down, round_)).convert(mode)


def encode_image(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def encode_turned(image, orientation, kind="JPEG", **options):
    """Bytes of a picture with stored pixels as in `image` and an EXIF orientation that turns it when shown."""
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return encode_image(image, kind, exif=exif.tobytes(), **options)


def decode_image(content):
    image = Image.open(io.BytesIO(content))
    image.load()
    return image


def distance(one, other):
    """Mean difference of two pictures of the same size, 0 to 255."""
    assert one.size == other.size
    one, other = one.convert("RGBA").tobytes(), other.convert("RGBA").tobytes()
    return sum(abs(a - b) for a, b in zip(one, other)) / len(one)


def encode_wav(seconds=1.5, rate=8000):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"\0\0" * int(seconds * rate))
    return out.getvalue()


def box(kind, *parts):
    data = b"".join(parts)
    return struct.pack(">I4s", 8 + len(data), kind) + data


def encode_mp4(seconds=12.345, width=640, height=360, quarter=False, padding=1000):
    """An MP4 whose header follows its content, as cameras write it."""
    matrix = (0, 65536, 0, -65536 & 0xFFFFFFFF, 0, 0, 0, 0, 1 << 30) if quarter else (65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
    head = box(b"mvhd", struct.pack(">IIIII", 0, 0, 0, 1000, int(seconds * 1000)), bytes(80))
    track = box(b"tkhd", struct.pack(">IIIIIIQHHHH", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0), struct.pack(">9I", *matrix),
                struct.pack(">II", width << 16, height << 16))
    return box(b"ftyp", b"isom", bytes(4), b"isom", b"mp42") + box(b"mdat", bytes(padding)) + box(b"moov", head, box(b"trak", track))


def variant(client, made, expect=200, path=GET, headers=None, **query):
    return client.get(path.format(made["id"]), params=query, headers=headers, expect=expect)


def wait_examined(client):
    """Waits until every worker's program that examines pictures runs: an upload waits only briefly for one that is starting."""
    def tells():
        made = client.put("/files/upload/x.png", data=encode_image(draw_image(), "PNG"), expect=201,
                          headers={"Content-Type": "application/octet-stream", "Connection": "close"}).json()
        return made["width"]

    until(lambda: all(tells() for _ in range(6)), "uploads are answered before their picture was examined")


# XYZ of red, green and blue as a profile has them: relative to the profile's white.
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
DISPLAY_P3 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
PROFILE_WHITE = (0.96420, 1.0, 0.82491)


def profile(primaries=None, gamma=2.2, padding=0):
    """An ICC profile (version 2) with these primaries and one gamma, or of gray without primaries. `padding` bytes follow it."""
    def fixed(*values):
        return struct.pack(f">{len(values)}i", *(round(value * 65536) for value in values))

    curve = b"curv" + bytes(4) + struct.pack(">IHH", 1, round(gamma * 256), 0)
    tags = {b"desc": b"desc" + bytes(4) + struct.pack(">I", 5) + b"test\0" + bytes(79), b"cprt": b"text" + bytes(4) + b"none\0\0\0\0",
            b"wtpt": b"XYZ " + bytes(4) + fixed(*PROFILE_WHITE)}
    if primaries:
        for name, each in zip((b"r", b"g", b"b"), primaries):
            tags |= {name + b"XYZ": b"XYZ " + bytes(4) + fixed(*each), name + b"TRC": curve}
    else:
        tags[b"kTRC"] = curve
    at, table, data = 132 + 12 * len(tags), struct.pack(">I", len(tags)), b""
    for name, value in tags.items():
        table += name + struct.pack(">II", at + len(data), len(value))
        data += value + bytes(-len(value) % 4)
    data += bytes(padding)
    head = struct.pack(">I4sI4s4s4s6H4s", at + len(data), b"lcms", 0x02100000, b"mntr", b"RGB " if primaries else b"GRAY", b"XYZ ",
                       2020, 1, 1, 0, 0, 0, b"acsp") + bytes(28) + fixed(*PROFILE_WHITE)
    return head + bytes(128 - len(head)) + table + data


def gif(size, frames, loops=None, end=b";"):
    """A GIF with the colours red, green, blue and white. A frame is (left, top, width, height, colour, hundredths, disposal)."""
    def blocks(data):
        return b"".join(bytes([len(data[at:at + 255])]) + data[at:at + 255] for at in range(0, len(data), 255)) + b"\0"

    def packed(color, count):
        """Encodes LZW without a growing dictionary: every two pixels begin with a clear code."""
        codes = ([4, color, color] * ((count + 1) // 2))[:3 * (count // 2) + 2 * (count % 2)] + [5]
        bits = "".join(f"{code:03b}" for code in reversed(codes))
        return b"\x02" + blocks(int(bits, 2).to_bytes((len(bits) + 7) // 8, "little"))

    out = [b"GIF89a", struct.pack("<HHBBB", *size, 0x81, 0, 0), bytes((255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255))]
    if loops is not None:
        out.append(b"!\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", loops) + b"\0")
    for left, top, width, height, color, hundredths, disposal in frames:
        out.append(b"!\xf9\x04" + struct.pack("<BHB", disposal << 2, hundredths, 0) + b"\0")
        out.append(b"," + struct.pack("<HHHHB", left, top, width, height, 0) + packed(color, width * height))
    return b"".join(out) + end


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def flat_png(width, height, interlaced=False, told=None):
    """A black PNG with one bit per pixel; `told` is a false size for its header."""
    packer = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    data = b"".join([*(packer.compress(row * 256) for _ in range(height // 256)), packer.compress(row * (height % 256)), packer.flush()])
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", *(told or (width, height)), 1, 0, 0, 0, int(interlaced))) + \
        png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")


def noise_image(width, height):
    """A picture that no format can compress."""
    return Image.effect_noise((width, height), 200).convert("RGB")

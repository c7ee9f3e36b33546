"""Variants of images: compares making them with npm's sharp, and stored variants with the download of a file of the same size."""
import io
import pathlib
import threading
import time

import requests
from PIL import Image
from tools import wrk
from world import standard_user

import files
import peers

VARIANTS, AT_ONCE = 200, 4
MADE_BAR, KEPT_BAR = 0.7, 0.6


def photograph(width=4000, height=3000):
    """An image with the pixels and bytes of a photograph taken by a phone."""
    across = Image.linear_gradient("L").rotate(90).resize((width, height))
    noise = Image.effect_noise((width // 4, height // 4), 60).resize((width, height))
    image = Image.merge("RGB", (across, Image.blend(across, noise, 0.5), noise))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    return out.getvalue()


def request_variants(url, headers, number):
    """Requests new variants; `number` gives each round other sizes."""
    places, errors = list(range(VARIANTS)), []

    def client():
        session = requests.Session()
        session.trust_env = False
        while places:
            try:
                n = places.pop()
            except IndexError:
                return
            answer = session.get(url, params={"width": 400 + n % 50, "height": 300 + n // 50 + 10 * number, "format": "jpeg"}, headers=headers, timeout=60)
            if answer.status_code != 200:
                errors.append(answer.status_code)
    threads = [threading.Thread(target=client) for _ in range(AT_ONCE)]
    since = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"rate": VARIANTS / (time.monotonic() - since), "errors": len(errors)}


def pictures(world, folder, args, out, say):
    admin = world.project("pictures")
    admin.post("/entities", {"name": "notes", "fields": [{"name": "text", "type": "text"}]}, expect=201)
    user = standard_user(admin, "notes")
    time.sleep(1.2)
    content = photograph()
    path = pathlib.Path(folder) / "photograph.jpg"
    path.write_bytes(content)
    file = files.upload(user, content)
    url, headers = f"{user.base_url}/files/{file['id']}/get", {"Authorization": f"Bearer {user.token}"}
    name = f"variants of a 12-megapixel JPEG ({len(content) / 1e6:.1f} MB), {AT_ONCE} at once / sharp"
    reason = peers.install()
    if reason:
        out.add(name, f"{request_variants(url, headers, 0)['rate']:.1f}/s", f">= {MADE_BAR}", True, reason)
    else:
        rounds = iter(range(args.rounds))
        ours, theirs = files.alternate(args.rounds, lambda: request_variants(url, headers, next(rounds)), lambda: peers.node("sharp", path, VARIANTS, AT_ONCE), say)
        files.ratio(out, name, MADE_BAR, ours, theirs)
    kept = requests.get(url, params={"width": 400}, headers=headers, timeout=60).content
    same = files.upload(user, kept)
    ours, theirs = files.alternate(args.rounds, lambda: wrk(f"{url}?width=400", args.seconds, headers=headers),
                                   lambda: wrk(f"{user.base_url}/files/{same['id']}/get", args.seconds, headers=headers), say)
    files.ratio(out, f"a variant that is kept ({len(kept) / 1000:.0f} KB) / download of as much", KEPT_BAR, ours, theirs)

"""Sealed values and data keys as they are stored (common/core/crypto/aead.h, common/product/keys), without the service."""
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MASTER = "00112233445566778899aabbccddeeff" * 2


def unseal(key, sealed, place):
    """Version and key id (5 bytes), nonce (12), text and tag."""
    sealed = bytes(sealed)
    return AESGCM(key).decrypt(sealed[5:17], sealed[17:], sealed[:5] + place.encode())


def seal(key, number, place, plain):
    """`number`: the key's."""
    head, nonce = b"\1" + number.to_bytes(4, "big"), os.urandom(12)
    return head + nonce + AESGCM(key).encrypt(nonce, plain, head + place.encode())


def unwrap(project, wrapped, *masters):
    """{id: key} of the rows (id, wrapped, ...) of a project's data_keys; `project`: its number."""
    return {row[0]: unwrap_one(f"p{project}:data_key:{row[0]}", row[1], masters or (MASTER,)) for row in wrapped}


def unwrap_one(place, wrapped, masters):
    for master in masters:
        try:
            return unseal(bytes.fromhex(master), wrapped, place)
        except InvalidTag:
            pass
    raise AssertionError(f"no master key opens {place}")


def key_of(sealed):
    """The id of the key that sealed it."""
    return int.from_bytes(bytes(sealed)[1:5], "big")


def setting_place(project, kind, key):
    """common/product/keys/place.c"""
    named = {"setting": "settings:oidc_client_secret", "signing_key": f"signing_key:{key}"}
    return f"p{project}:{named.get(kind, f'settings:{kind}:{key}')}"

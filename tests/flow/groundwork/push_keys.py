"""Push without a dispatcher: the ids that a dispatcher would sign, and credentials that a gateway accepts."""
import base64
import functools
import hashlib
import hmac
import json
import struct
import time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .records import execute, rows
from .sealed import unwrap

HOUR = 3600


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def data_keys(project, db):
    """{id: key}"""
    schema = project.schema(db)
    return unwrap(schema[2:], rows(db, f"select id, wrapped from {schema}.data_keys order by id"))


def derive(key, label):
    return HKDF(hashes.SHA256(), 32, None, label.encode()).derive(key)


def notification_id(project, db, send, category, sent=None, **changed):
    """A tap token as in common/product/push/tap_token.h."""
    number, key = list(data_keys(project, db).items())[-1]
    head = struct.pack(">BIQQ", 1, number, send, int(time.time() if sent is None else sent) + HOUR)
    bound = changed.get("bound", int(project.schema(db)[2:]))
    mac = hmac.new(derive(changed.get("key", key), "push tap token"), head + struct.pack(">Q", bound) + category.encode(), hashlib.sha256)
    return b64(head + mac.digest()[:16])


def mark_started(project, db, send):
    """Marks the send as if a dispatcher had claimed it."""
    execute(db, f"update {project.schema(db)}.push_sends set started_at = now(), status = 'Running' where id = %s", send)


@functools.cache
def rsa_key():
    return rsa.generate_private_key(65537, 2048)


def service_account(project_id="shop-1", **changed):
    """The text of a service account file; members that are None are omitted."""
    pem = rsa_key().private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    account = {"type": "service_account", "project_id": project_id, "private_key_id": "k1", "private_key": pem,
               "client_email": f"push@{project_id}.iam.gserviceaccount.com", "token_uri": "https://attacker.example/token", **changed}
    return json.dumps({name: value for name, value in account.items() if value is not None})


def subscription(endpoint="https://push.example.net/s/1", **changed):
    """A browser's PushSubscription as JSON text."""
    point = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    return json.dumps({"endpoint": endpoint, "expirationTime": None,
                       "keys": {"p256dh": b64(point), "auth": b64(bytes(range(16))), **changed}})

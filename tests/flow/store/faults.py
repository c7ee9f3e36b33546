"""Notifications that are not from the store, or not for this app. Each function makes a signed payload from a good one."""
import base64
import datetime
import json

from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from .chain import DAY, Chain, b64url, part


def hs256_with_public_key(app, payload):
    """A known attack: the public key as the secret of an HMAC."""
    public = app.chain.leaf_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = f"{part({'alg': 'HS256', 'x5c': app.chain.x5c})}.{part(payload)}"
    code = hmac.HMAC(public, hashes.SHA256())
    code.update(text.encode())
    return f"{text}.{b64url(code.finalize())}"


def rs256(app, payload):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = f"{part({'alg': 'RS256', 'x5c': app.chain.x5c})}.{part(payload)}"
    return f"{text}.{b64url(key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def tampered(app, payload):
    head, _, signature = app.chain.sign(payload).split(".")
    return f"{head}.{part({**payload, 'notificationType': 'DID_RENEW'})}.{signature}"


def without_signature(app, payload):
    head, body, _ = app.chain.sign(payload).split(".")
    return f"{head}.{body}."


def expired(app, payload):
    """A leaf that has expired, under the right root, and a date in the payload from before it expired."""
    now = datetime.datetime.utcnow()
    old = Chain(parent=app.chain, leaf={"start": now - 40 * DAY, "end": now - DAY})
    return old.sign({**payload, "signedDate": int((now - 2 * DAY).timestamp() * 1000)})


def not_yet(app, payload):
    now = datetime.datetime.utcnow()
    return Chain(parent=app.chain, leaf={"start": now + DAY, "end": now + 9 * DAY}).sign(payload)


def mixed(payload, own, other, count):
    """Signed by `own`. The chain has the first `count` certificates of `own`, followed by certificates of `other`."""
    return own.sign(payload, x5c=own.x5c[:count] + other.x5c[count:])


def changed(**data):
    def fault(app, payload):
        return app.chain.sign({**payload, "data": {**payload["data"], **data}})
    return fault


def inner_of(make):
    """Returns a fault whose inner transaction is replaced by make(app, transaction)."""
    def fault(app, payload):
        data = dict(payload["data"])
        body = data["signedTransactionInfo"].split(".")[1]
        info = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        data["signedTransactionInfo"] = make(app, info)
        return app.chain.sign({**payload, "data": data})
    return fault


FAULTS = {
    "own root": lambda app, payload: Chain().sign(payload),
    "own chain below the store's root": lambda app, payload: mixed(payload, Chain(), app.chain, 2),
    "own leaf below the store's authority": lambda app, payload: mixed(payload, Chain(), app.chain, 1),
    "own chain of the store's names": lambda app, payload: Chain(name=app.chain.name).sign(payload),
    "two certificates": lambda app, payload: app.chain.sign(payload, x5c=app.chain.x5c[:2]),
    "four certificates": lambda app, payload: app.chain.sign(payload, x5c=app.chain.x5c + app.chain.x5c[2:]),
    "no certificates": lambda app, payload: app.chain.sign(payload, x5c=[]),
    "leaf and authority swapped":
        lambda app, payload: app.chain.sign(payload, x5c=[app.chain.x5c[i] for i in (1, 0, 2)]),
    "backwards": lambda app, payload: app.chain.sign(payload, x5c=app.chain.x5c[::-1]),
    "leaf without its mark": lambda app, payload: Chain(parent=app.chain, leaf={"mark": None}).sign(payload),
    "authority without its mark": lambda app, payload: Chain(parent=app.chain, authority={"mark": None}).sign(payload),
    "authority that is none": lambda app, payload: Chain(parent=app.chain, authority={"ca": False}).sign(payload),
    "marks exchanged": lambda app, payload: Chain(
        parent=app.chain, leaf={"mark": "1.2.840.113635.100.6.2.1"}, authority={"mark": "1.2.840.113635.100.6.11.1"},
    ).sign(payload),
    "expired leaf, date inside from before": expired,
    "leaf not valid yet": not_yet,
    "alg none": lambda app, payload: app.chain.sign(payload, alg="none", signature=b""),
    "alg none, signature kept": lambda app, payload: app.chain.sign(payload, alg="none"),
    "alg HS256": hs256_with_public_key,
    "alg RS256": rs256,
    "tampered": tampered,
    "without signature": without_signature,
    "another key": lambda app, payload: Chain().sign(payload, x5c=app.chain.x5c),
    "another app": changed(bundleId="com.example.other"),
    "no app": changed(bundleId=None),
    "Xcode": changed(environment="Xcode"),
    "LocalTesting": changed(environment="LocalTesting"),
    "another app's transaction": inner_of(
        lambda app, info: app.chain.sign({**info, "bundleId": "com.example.other"})),
    "another environment's transaction": inner_of(
        lambda app, info: app.chain.sign({**info, "environment":
                                          "Sandbox" if app.environment == "Production" else "Production"})),
    "transaction of another chain": inner_of(lambda app, info: Chain().sign(info)),
    "transaction without signature": inner_of(lambda app, info: app.chain.sign(info, alg="none", signature=b"")),
}
# In production the app's id is checked, too.
PRODUCTION_FAULTS = {
    "another app's number": changed(appAppleId=7),
    "no app's number": changed(appAppleId=None),
}

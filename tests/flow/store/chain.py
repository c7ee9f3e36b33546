"""Certificate chains like the app store's: a P-384 root and authority, a P-256 signer, and the marks of the store."""
import base64
import datetime
import json

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID

LEAF_MARK = "1.2.840.113635.100.6.11.1"
AUTHORITY_MARK = "1.2.840.113635.100.6.2.1"
DAY = datetime.timedelta(days=1)
NULL = b"\x05\x00"


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value):
    return b64url(json.dumps(value, separators=(",", ":")).encode())


def raw_signature(key, data):
    """Returns an ES256 signature: r and s, 32 bytes each."""
    r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def certificate(name, key, issuer, issuer_key, mark=None, ca=False, start=None, end=None):
    now = datetime.datetime.utcnow()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start or now - DAY)
        .not_valid_after(end or now + 365 * DAY)
    )
    if ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    if mark:
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(mark), NULL), critical=False)
    return builder.sign(issuer_key, hashes.SHA384())


class Chain:
    """A certificate chain and its keys. `parent`: another chain, whose root is used. `leaf` and `authority`: options of certificate()."""

    def __init__(self, parent=None, name="Test Store", leaf=None, authority=None):
        self.name = name
        self.root_key = parent.root_key if parent else ec.generate_private_key(ec.SECP384R1())
        self.root = parent.root if parent else certificate(f"{name} Root", self.root_key, None, self.root_key, ca=True)
        self.authority_key = ec.generate_private_key(ec.SECP384R1())
        self.authority = certificate(
            f"{name} Authority", self.authority_key, self.root, self.root_key,
            **{"mark": AUTHORITY_MARK, "ca": True, **(authority or {})})
        self.leaf_key = ec.generate_private_key(ec.SECP256R1())
        self.leaf = certificate(
            f"{name} Signer", self.leaf_key, self.authority, self.authority_key, **{"mark": LEAF_MARK, **(leaf or {})})

    @classmethod
    def load_or_create(cls, folder, name="Test Store"):
        """Returns a chain under the root in the folder, so that services that trust this root trust the chain. Makes the root if there is none."""
        key, pem = folder / "root-key.pem", folder / "roots.pem"
        if not key.exists():
            made = cls(name=name)
            key.touch(mode=0o600)
            key.write_bytes(made.root_key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            pem.write_text(made.root_pem)
            return made
        root = cls.__new__(cls)
        root.root_key = serialization.load_pem_private_key(key.read_bytes(), None)
        root.root = x509.load_pem_x509_certificate(pem.read_bytes())
        return cls(parent=root, name=name)

    @property
    def x5c(self):
        chain = (self.leaf, self.authority, self.root)
        return [base64.b64encode(one.public_bytes(serialization.Encoding.DER)).decode() for one in chain]

    @property
    def root_pem(self):
        return self.root.public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, payload, x5c=None, alg="ES256", signature=None):
        """Returns a compact JWS."""
        text = f"{part({'alg': alg, 'x5c': self.x5c if x5c is None else x5c})}.{part(payload)}"
        return f"{text}.{b64url(raw_signature(self.leaf_key, text.encode()) if signature is None else signature)}"

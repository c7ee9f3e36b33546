"""A private certificate authority, and a server certificate for this machine."""
import datetime
import ipaddress
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject, issuer, key):
    now = datetime.datetime.utcnow()
    return (x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer))
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=30)))


def make(folder, names=("localhost",), addresses=("127.0.0.1", "::1")):
    """Writes ca.pem and server.pem (key and certificate) into the folder; returns both paths."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = (_builder("Push test authority", "Push test authority", authority)
            .add_extension(x509.BasicConstraints(True, None), True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), False)
            .sign(authority, hashes.SHA256()))
    alternatives = [*map(x509.DNSName, names), *(x509.IPAddress(ipaddress.ip_address(each)) for each in addresses)]
    leaf = (_builder("Push test server", "Push test authority", key)
            .add_extension(x509.SubjectAlternativeName(alternatives), False)
            .add_extension(x509.BasicConstraints(False, None), True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False)
            .sign(authority, hashes.SHA256()))
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    ca, server = folder / "ca.pem", folder / "server.pem"
    ca.write_bytes(root.public_bytes(pem))
    server.write_bytes(private + leaf.public_bytes(pem))
    return ca, server


def server_context(server, *protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(server)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context

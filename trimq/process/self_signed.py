"""The certificate of a server that has none, as RocketMQ's tls.test.mode.enable makes it.

It keeps eavesdroppers out, and proves nothing to anybody. RSA, because a client may allow RSA
suites only. The library takes 30 ms and 10 MB to load, so this module is imported in a worker
thread when a client first asks for TLS.
"""

import ssl
import tempfile
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_BITS = 2048
# A certificate without an end has this one (RFC 5280, 4.1.2.5).
_VALID = (datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))


def load_self_signed(context: ssl.SSLContext) -> None:
    """Blocks for about 100 ms: in a worker thread."""
    key = rsa.generate_private_key(65537, _BITS)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "TriMQ, self-signed")])
    begin, end = _VALID
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    x509.DNSName("localhost"),
                    x509.IPAddress(ip_address("127.0.0.1")),
                    x509.IPAddress(ip_address("::1")),
                ]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    text = certificate.public_bytes(pem) + key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # ssl takes keys from files only; only this user can read the folder.
    with tempfile.TemporaryDirectory(prefix="trimq-") as folder:
        file = Path(folder) / "self-signed.pem"
        file.write_bytes(text)
        context.load_cert_chain(file)

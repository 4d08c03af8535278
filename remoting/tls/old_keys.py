"""Private keys whose encryption OpenSSL 3 has dropped; loads `cryptography`, which has not."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)


def reencrypted(pem: bytes, password: str) -> bytes:
    """The same key and password in today's encryption; ValueError when the password is wrong."""
    secret = password.encode()
    try:
        key = load_pem_private_key(pem, secret)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(secret))

"""How clients may talk to a server: plain text, TLS, or either. Free of Trio."""

import ssl
from enum import StrEnum


class TlsMode(StrEnum):
    """`tls.server.mode`: may clients use TLS, must they?"""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class TlsRefused(Exception):
    """The client's way of talking is not the one this server is configured for."""


def client_context(trusted: str | None = None) -> ssl.SSLContext:
    """The Java client's default: encrypt, trust any certificate; with a CA file, verify."""
    context = ssl.create_default_context(cafile=trusted)
    if trusted is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context

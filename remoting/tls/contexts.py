"""TLS without Trio: modes, contexts made from files, and contexts that follow their files."""

import logging
import os
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from trimq.remoting.tls.suites import restrict

log = logging.getLogger("trimq.remoting")

_OTHER_KEY: Final = "the key does not belong to the certificate"
_REASONS: Final = {
    "KEY_VALUES_MISMATCH": _OTHER_KEY,
    "KEY_TYPE_MISMATCH": _OTHER_KEY,
    # OpenSSL's error for a key of another type than the certificate's.
    "NO_CERTIFICATE_ASSIGNED": _OTHER_KEY,
    "NO_CERTIFICATE_OR_CRL_FOUND": "there is no certificate in it",
}


class TlsMode(StrEnum):
    """`tls.server.mode`: may clients use TLS, must they?"""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class TlsRefused(Exception):
    """The client uses TLS, or plain text, and the server's configuration does not allow it."""


class TlsFilesError(ValueError):
    """Certificates or keys that cannot be used; the text names the file and says why."""


class TlsContext:
    """A context made when it is first needed, and made again when one of its files has changed.

    It corresponds to FileWatchService in RocketMQ; existing connections keep their context. New
    files that cannot be used are logged once, and the previous context stays.
    """

    def __init__(self, make: Callable[[], ssl.SSLContext], files: Iterable[str] = ()) -> None:
        """`make` raises TlsFilesError when it cannot; empty file names count as none."""
        self._make = make
        self._files = tuple(filter(None, files))
        self._made: ssl.SSLContext | None = None
        self._stamps: object = None
        self._turn = threading.Lock()

    @property
    def settled(self) -> ssl.SSLContext | None:
        """The context if it is made and can never change."""
        return None if self._files else self._made

    def current(self) -> ssl.SSLContext:
        """Blocks: in a worker thread. TlsFilesError when there never was a usable one."""
        with self._turn:
            # Checked before they are read: a change in between is noticed the next time.
            stamps = [_stamp(file) for file in self._files]
            if self._made is None:
                self._made = self._make()
            elif stamps != self._stamps:
                self._renew()
            self._stamps = stamps
            return self._made

    def _renew(self) -> None:
        try:
            self._made = self._make()
        except TlsFilesError as error:
            log.error("TLS files changed, but the previous ones stay in use: reason=%s", error)
        else:
            log.info("TLS files changed, new connections use them files=%s", " ".join(self._files))


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def load_pair(context: ssl.SSLContext, certificate: str, key: str, password: str = "") -> None:
    """A certificate chain and its key from PEM files; TlsFilesError, never a question."""

    asked = False

    def secret() -> str:
        nonlocal asked
        asked = True
        # Otherwise OpenSSL would ask on the terminal.
        if not password:
            raise TlsFilesError(f"{key} is encrypted, and its password is not configured")
        return password

    _check_readable(certificate, key)
    try:
        context.load_cert_chain(certificate, key, secret)
    except ssl.SSLError as error:
        if error.reason or not asked:
            raise TlsFilesError(f"cannot use {certificate} with {key}: {_reason(error)}") from error
        # OpenSSL has no error of its own for a wrong password, nor for an encryption that it has
        # dropped.
        _load_old_key(context, certificate, key, password)


def _load_old_key(context: ssl.SSLContext, certificate: str, key: str, password: str) -> None:
    """A key as made by following RocketMQ's documentation (PBE-SHA1-RC4-128), which OpenSSL 3 does not read."""
    try:
        from trimq.remoting.tls.old_keys import reencrypted

        pem = reencrypted(Path(key).read_bytes(), password)
    except (ImportError, ValueError) as error:
        raise TlsFilesError(
            f"cannot use {certificate} with {key}: the password does not open the key"
        ) from error
    with tempfile.TemporaryDirectory(prefix="trimq-") as folder:
        file = Path(folder) / "key.pem"
        file.write_bytes(pem)
        try:
            context.load_cert_chain(certificate, file, password)
        except ssl.SSLError as error:
            raise TlsFilesError(f"cannot use {certificate} with {key}: {_reason(error)}") from error


def load_authorities(context: ssl.SSLContext, file: str) -> None:
    """Trust what these PEM certificates have signed; TlsFilesError."""
    _check_readable(file)
    try:
        context.load_verify_locations(file)
    except ssl.SSLError as error:
        raise TlsFilesError(f"cannot use {file}: {_reason(error)}") from error


def _check_readable(*files: str) -> None:
    for file in files:
        try:
            with open(file, "rb"):
                pass
        except OSError as error:
            raise TlsFilesError(f"cannot read {file}: {error.strerror or error}") from error


def _reason(error: ssl.SSLError) -> str:
    return _REASONS.get(error.reason or "", str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """How a client uses TLS. Files are PEM; an empty text means none.

    With `authorities` the server's certificate must be signed by one of them, with `checked` alone by
    one of the system's; with neither, any is accepted, as by RocketMQ's clients. `named`: it must
    also be issued for the host that was asked for, which RocketMQ's clients do not check.
    """

    authorities: str = ""
    checked: bool = False
    named: bool = True
    certificate: str = ""
    key: str = ""
    password: str = ""
    ciphers: str = ""
    protocols: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        return self.authorities, self.certificate, self.key

    def context(self) -> ssl.SSLContext:
        """TlsFilesError when a file, a cipher or a protocol cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        if self.authorities:
            load_authorities(context, self.authorities)
        elif self.checked:
            context.load_default_certs()
        else:
            context.verify_mode = ssl.CERT_NONE
        context.check_hostname = self.named and context.verify_mode is ssl.CERT_REQUIRED
        if bool(self.certificate) != bool(self.key):
            raise TlsFilesError("a client's certificate and its key belong together: name both")
        if self.certificate:
            load_pair(context, self.certificate, self.key, self.password)
        try:
            restrict(context, self.ciphers, self.protocols)
        except ValueError as error:
            raise TlsFilesError(str(error)) from None
        return context


def client_context(trusted: str | None = None) -> ssl.SSLContext:
    """The Java client's default: encrypt, trust any certificate; with a CA file, verify."""
    return ClientTls(authorities=trusted or "").context()

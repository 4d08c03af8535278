"""The address that clients are told, from a file that somebody writes after the start.

Who starts a container learns its mapped port when it runs, and copies `HOST:PORT` into it. The start waits for that;
from then on every change of the file is announced. A file that says nothing usable is said of once.
"""

import logging
from pathlib import Path
from typing import Final

import trio

from trimq.broker.cluster.registration import Registration
from trimq.settings.announced import wrong_host, wrong_port
from trimq.settings.endpoints import AddressError, Endpoint

log = logging.getLogger("trimq.server")

# The start waits for it, and so does a test.
_FIRST_PAUSE: Final = 0.02
_PAUSE: Final = 0.5
# A host name of 253 characters, a port, and blanks.
_LONGEST: Final = 300


class AdvertiseFile:
    """One file; each content of it is looked at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = b""

    async def first(self) -> Endpoint:
        """Wait until it has an address."""
        found = await self._look()
        if found is None and not self._seen:
            log.info("waiting for the address that clients are told: file=%s", self._path)
        while found is None:
            await trio.sleep(_FIRST_PAUSE)
            found = await self._look()
        log.info("clients are told an address from a file: address=%s file=%s", found, self._path)
        return found

    async def follow(self, registration: Registration) -> None:
        """Announce each other address that it gets."""
        while True:
            await trio.sleep(_PAUSE)
            found = await self._look()
            if found is None:
                continue
            before = registration.changes
            registration.change(host=found.host, port=found.port)
            if registration.changes != before:
                log.info("clients are told another address: address=%s", found)

    async def _look(self) -> Endpoint | None:
        """None: nothing new, or nothing usable. An empty file is one that is being written."""
        try:
            content = await trio.to_thread.run_sync(self._read, abandon_on_cancel=True)
        except FileNotFoundError:
            return None
        except OSError as error:
            content, why = str(error).encode(), f"it cannot be read ({error.strerror})"
        else:
            why = ""
        if not content.strip() or content == self._seen:
            return None
        self._seen = content
        try:
            if why:
                raise AddressError(why)
            return _address(content.decode("utf-8", "replace").strip())
        except AddressError as error:
            log.warning("--advertise-file %s: %s; waiting for another content", self._path, error)
            return None

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(_LONGEST)


def _address(text: str) -> Endpoint:
    """AddressError for what clients could not connect to."""
    found = Endpoint.parse(text)
    why = wrong_host(found.host) or wrong_port(str(found.port))
    if why is not None:
        raise AddressError(
            f"'{text}' is of no use to clients: write HOST:PORT, e.g. 127.0.0.1:32768 ({why})"
        )
    return found

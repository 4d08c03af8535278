"""Keeps a mapped page that cannot be read from ending the process.

Such a page is a signal, SIGBUS, which belongs to the process as a whole: whoever opens a store takes it
(store/native/_pages.c), and passes on what is not the store's. Whoever takes it after us, as faulthandler does
when it is enabled, would take the guard away; so it is looked after.
"""

from __future__ import annotations

import logging
from typing import Final

from trimq.store import native

log: Final = logging.getLogger("trimq.store")

_TAKEN: Final = 2


class PageGuard:
    """One per store. `set` it before pages are read, `check` it now and then."""

    def __init__(self) -> None:
        self._told = False

    def set(self) -> None:
        native.guard()

    def check(self) -> None:
        """Take the signal back when somebody else has taken it; they get what is not ours."""
        if native.guard() == _TAKEN and not self._told:
            self._told = True
            log.warning(
                "another handler of SIGBUS was installed after the store was opened; it comes second "
                "again, since otherwise a page that the disk cannot deliver would end the process"
            )

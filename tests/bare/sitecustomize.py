"""Takes away what not every system has, in this process and those that it starts: see `make unit-bare`.

Python loads this at its start when the folder is on PYTHONPATH.
"""

import ctypes
import os
import select

# It chooses what it uses when it is loaded.
import selectors  # noqa: F401
import signal
from types import SimpleNamespace
from typing import Any

from trio._core import _io_epoll

MISSING = {
    os: (
        *("fdatasync", "posix_fadvise", "preadv", "pwritev", "sched_yield"),
        *("RWF_NOWAIT", "RWF_HIPRI", "RWF_SYNC", "RWF_DSYNC"),
    ),
    select: ("epoll",),
    signal: ("SIGUSR1",),
}


def _without_mincore(library: Any, name: str) -> Any:
    if name == "mincore":
        raise AttributeError(name)
    return _find(library, name)


# Trio has its own ways for other systems, and no switch.
_io_epoll.select = SimpleNamespace(**vars(select))
for module, names in MISSING.items():
    for missing in names:
        if hasattr(module, missing):
            delattr(module, missing)
_find = ctypes.CDLL.__getattr__
ctypes.CDLL.__getattr__ = _without_mincore  # type: ignore[method-assign]

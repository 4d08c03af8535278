"""Stores none of whose records is in memory, as far as they can tell."""

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from trimq.store.message_store import MessageStore


def make_cold(
    monkeypatch: pytest.MonkeyPatch, store: MessageStore, is_cold: Callable[[], bool] = lambda: True
) -> None:
    """From now on a read that must not wait finds nothing, whenever `is_cold` says so."""
    preadv = os.preadv

    def read(*args: Any) -> int:
        if is_cold():
            raise BlockingIOError(errno.EAGAIN, "not in the page cache")
        return preadv(*args)

    monkeypatch.setattr(store._log, "_hot_bytes", -1)
    monkeypatch.setattr(os, "preadv", read)

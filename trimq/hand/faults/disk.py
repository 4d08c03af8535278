"""A disk that is full, or may not be written: one layer in the store's file calls.

It stands where the system's calls are (`os`), as the store's own tests let a disk fail: whatever the store does comes
by there. Only files below the folders of this store fail, and there is no layer while there is no fault.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from trimq.store.native import writes
from trimq.store.queues.files import removal, writing

DiskFault = Literal["full", "read_only"]
_WRITES: Final = ("pwritev", "pwrite", "write", "posix_fallocate")
# They need no room: names that are taken away, and files that lose their end or get holes behind it.
_CHANGES: Final = ("ftruncate", "truncate", "replace", "rename", "unlink", "remove", "rmdir")
_MAKES: Final = ("mkdir", "link", "symlink")
_ASKS: Final = ("statvfs", "fstatvfs")
_FOR_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FREE: Final = (3, 4)  # f_bfree, f_bavail
# Where calls are made in C, without `os`; their twins in Python do the same by it.
_IN_C: Final = ((writing, "write_pieces"), (removal, "remove_folders"))


class FailingDisk:
    """Of a store with these folders."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.fault: DiskFault | None = None
        # Bytes that can still be written to a disk that is full.
        self._room = 0
        self._folders = tuple(os.path.realpath(one) for one in folders)
        self._layers: list[tuple[Any, str, Any, Any]] = []

    def fill(self, room: int = 0) -> None:
        """So many bytes more can be written; what comes behind them gets ENOSPC."""
        self._room = room
        self._begin("full")

    def protect(self) -> None:
        """Every change gets EROFS."""
        self._begin("read_only")

    def mend(self) -> None:
        """It is as it was."""
        self.fault = None
        left = []
        for one in self._layers:
            module, name, real, layer = one
            if getattr(module, name) is layer:
                setattr(module, name, real)
            else:
                # Another server of this process has its own on top: it passes calls on to this, which does nothing.
                left.append(one)
        self._layers = left

    def _begin(self, fault: DiskFault) -> None:
        self.fault = fault
        if self._layers:
            return
        for name in _WRITES:
            self._put(os, name, partial(self._write, name))
        for name in _CHANGES:
            self._put(os, name, self._change)
        for name in _MAKES:
            self._put(os, name, self._make)
        for name in _ASKS:
            self._put(os, name, self._asked)
        self._put(os, "open", self._open)
        for module, name in _IN_C:
            self._put(module, name, partial(_in_python, getattr(writes, name)))

    def _put(self, module: Any, name: str, made: Callable[..., Any]) -> None:
        real = getattr(module, name, None)
        if real is not None:
            layer = partial(made, real)
            setattr(module, name, layer)
            self._layers.append((module, name, real, layer))

    # --- the calls

    def _write(self, name: str, real: Callable[..., Any], fd: int, *more: Any) -> Any:
        if self._is_ours(fd):
            self._refuse_if("read_only", fd)
            if self.fault == "full":
                more = self._cut(name, fd, more)
        return real(fd, *more)

    def _cut(self, name: str, fd: int, more: tuple[Any, ...]) -> tuple[Any, ...]:
        """What there is room for, as the system writes a part of it."""
        if self._room <= 0 or name == "posix_fallocate":
            self._refuse_if("full", fd)
        chunks, *behind = more
        data = b"".join(chunks) if name == "pwritev" else bytes(chunks)
        kept = data[: self._room]
        self._room -= len(kept)
        return ([kept] if name == "pwritev" else kept, *behind)

    def _change(self, real: Callable[..., Any], what: Any, *more: Any, **named: Any) -> Any:
        if self._is_ours(what):
            self._refuse_if("read_only", what)
        return real(what, *more, **named)

    def _make(self, real: Callable[..., Any], what: Any, *more: Any, **named: Any) -> Any:
        if self._is_ours(what):
            self._refuse_if("read_only", what)
            self._refuse_without_room(what)
        return real(what, *more, **named)

    def _open(
        self, real: Callable[..., int], path: Any, flags: int, *more: Any, **named: Any
    ) -> int:
        if flags & _FOR_WRITING and self._is_ours(path):
            self._refuse_if("read_only", path)
            if flags & os.O_CREAT and not os.path.lexists(path):
                self._refuse_without_room(path)
        return real(path, flags, *more, **named)

    def _asked(self, real: Callable[..., os.statvfs_result], what: Any) -> os.statvfs_result:
        found = real(what)
        if self.fault == "full" and self._room <= 0 and self._is_ours(what):
            values = list(found)
            for field in _FREE:
                values[field] = 0
            return os.statvfs_result(values)
        return found

    # --- which, and what they get

    def _refuse_without_room(self, what: Any) -> None:
        if self._room <= 0:
            self._refuse_if("full", what)

    def _refuse_if(self, fault: DiskFault, what: Any) -> None:
        if self.fault == fault:
            code = errno.ENOSPC if fault == "full" else errno.EROFS
            raise OSError(code, os.strerror(code), what if isinstance(what, (str, bytes)) else None)

    def _is_ours(self, what: Any) -> bool:
        """Of a path, or a descriptor."""
        if self.fault is None:
            return False
        path = _path_of(what) if isinstance(what, int) else os.path.realpath(os.fsdecode(what))
        # Where the system does not tell, it is one of the store's: a server with a hand is in a process of its own.
        return path is None or any(
            path == folder or path.startswith(folder + os.sep) for folder in self._folders
        )


def _path_of(fd: int) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return None


def _in_python(twin: Callable[..., Any], _: Callable[..., Any], *more: Any) -> Any:
    return twin(*more)

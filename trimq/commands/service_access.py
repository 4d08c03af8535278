"""Whether the user of a service may read and write what it needs: said before it fails to start.

By mode bits and owners alone: access control lists are not looked at, and root may do everything.
"""

import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
# The service has its own.
_PRIVATE: Final = (Path("/tmp"), Path("/var/tmp"))
_READ: Final = 4
_WRITE: Final = 2
_SEARCH: Final = 1


@dataclass(frozen=True, slots=True)
class User:
    """`uid` -1: one that owns nothing and is in no group that matters."""

    name: str = ""
    uid: int = -1
    groups: Sequence[int] = ()

    @classmethod
    def named(cls, name: str) -> "User":
        """KeyError if there is none."""
        found = pwd.getpwnam(name)
        return cls(name, found.pw_uid, os.getgrouplist(name, found.pw_gid))

    def __str__(self) -> str:
        return f"the user {self.name}" if self.name else "a user of its own (DynamicUser=yes)"

    def may_read(self, path: Path) -> bool:
        return self._may(path, _READ)

    def may_write(self, folder: Path) -> bool:
        return self._may(folder, _WRITE | _SEARCH)

    def _may(self, path: Path, bits: int) -> bool:
        path = path.resolve()
        return self._has(path, bits) and all(self._has(one, _SEARCH) for one in path.parents)

    def _has(self, path: Path, bits: int) -> bool:
        try:
            found = path.stat()
        except OSError:
            return False
        if self.uid == 0:
            return True
        mode = found.st_mode
        if stat.S_ISDIR(mode) and bits == _READ:
            bits |= _SEARCH
        if found.st_uid == self.uid:
            return (mode >> 6) & bits == bits
        if found.st_gid in self.groups:
            return (mode >> 3) & bits == bits
        return mode & bits == bits


def lies_in_a_home(path: Path) -> bool:
    return any(_both(path, _HOMES))


def lies_in_a_private_folder(path: Path) -> bool:
    """Where the service sees an empty folder of its own."""
    return any(_both(path, _PRIVATE))


def _both(path: Path, folders: Sequence[Path]) -> Iterator[bool]:
    """As it is called, and where its links lead."""
    for one in (path, path.resolve()):
        yield any(one.is_relative_to(folder) for folder in folders)

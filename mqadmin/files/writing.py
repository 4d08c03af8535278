"""Files that commands write. A name that a peer chose stays in its folder, and no link is followed.

RocketMQ's tool puts files in folders below /tmp, which belongs to everybody: there, only folders
that nobody else can write to are used.
"""

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

TOOLS_FOLDER: Final = Path("/tmp/rocketmq")
"""Below it the official tool leaves message bodies and exports."""

# Letters, digits and the signs in ids; no separator, no hidden file, no terminal's control
# characters.
_PLAIN: Final = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.@%+=#:-]{0,199}")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
# Without the last one, a pipe with nobody at its other end would block us.
_OLD: Final = os.O_NOFOLLOW | os.O_NONBLOCK
PRIVATE: Final = 0o600


def is_plain_name(name: str) -> bool:
    """Whether a name that a peer chose can be a file's name."""
    return _PLAIN.fullmatch(name) is not None


def out_option(where: str) -> Callable[[F], F]:
    """`--out FOLDER`, our own flag; `where` names the folder that is used without it."""
    return click.option(
        "--out",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help=f"Where to leave files; without it {where}.",
    )


def write_file(
    folder: Path, name: str, data: bytes, *, replace: bool = False, mode: int = PRIVATE
) -> Path:
    """Write a file of that name in a folder, which is made if it is missing; returns its path.

    A file that already has these bytes stays. FileExistsError for another one, unless `replace` is
    given and it is a regular file of this user; OSError when the folder cannot be trusted or
    written to.
    """
    if "/" in name:
        raise OSError(errno.EINVAL, "that is a path, not a name")
    at = _open_folder(folder)
    try:
        try:
            file = os.open(name, _NEW, mode, dir_fd=at)
        except FileExistsError:
            if _holds(name, at, data):
                return folder / name
            if not replace:
                raise
            file = _own_file(name, at)
        with os.fdopen(file, "wb") as target:
            target.write(data)
    finally:
        os.close(at)
    return folder / name


def _open_folder(folder: Path) -> int:
    if TOOLS_FOLDER not in (folder, *folder.parents):
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    at = os.open(TOOLS_FOLDER.parent, os.O_RDONLY | os.O_DIRECTORY)
    for part in folder.relative_to(TOOLS_FOLDER.parent).parts:
        try:
            below = _private_folder(part, at)
        finally:
            os.close(at)
        at = below
    return at


def _private_folder(part: str, at: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(part, 0o700, dir_fd=at)
    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    found = os.fstat(below)
    foreign = found.st_uid not in (0, os.geteuid())
    shared = found.st_mode & stat.S_IWOTH or (
        found.st_mode & stat.S_IWGRP and found.st_gid != os.getegid()
    )
    if foreign or shared:
        os.close(below)
        raise PermissionError(errno.EPERM, f"others can write to {part!r}, choose another folder")
    return below


def _holds(name: str, at: int, data: bytes) -> bool:
    """Whether a regular file of that name has exactly these bytes."""
    try:
        file = os.open(name, os.O_RDONLY | _OLD, dir_fd=at)
    except OSError:
        return False
    with os.fdopen(file, "rb") as source:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size != len(data):
            return False
        return source.read(len(data)) == data


def _own_file(name: str, at: int) -> int:
    file = os.open(name, os.O_WRONLY | _OLD, dir_fd=at)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
        os.close(file)
        raise FileExistsError(errno.EEXIST, "what is there is not a regular file of yours")
    os.ftruncate(file, 0)
    return file

"""Damaged files of what can be made anew: they go to a folder of their own, where an operator may look at them.

RocketMQ's brokers load whatever lies in a folder of theirs, so nothing stays there under another name.
"""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Final

from trimq.store.disk.files import make_durable_directory, rename, sync_directory

log: Final = logging.getLogger("trimq.store")

FOLDER: Final = "damaged"
# What a system says of a file that it will not be able to read a moment later either.
_LASTING: Final = frozenset(
    {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EIO, errno.ENXIO}
)


def is_damage(error: Exception) -> bool:
    """Whether it is the file that is wrong, and not the moment: too few descriptors, say."""
    return not isinstance(error, OSError) or error.errno in _LASTING


def set_aside(root: Path, path: Path, why: object) -> None:
    """Move a file or a folder of the store to `damaged`. Blocks on the disk. OSError."""
    folder = root / FOLDER
    make_durable_directory(folder)
    name = "_".join(path.relative_to(root).parts)
    target, number = folder / name, 1
    while os.path.lexists(target):
        target, number = folder / f"{name}.{number}", number + 1
    rename(path, target)
    sync_directory(folder)
    sync_directory(path.parent)
    log.error(
        "a damaged file is set aside, and what was in it made anew: path=%s to=%s reason=%s",
        path,
        target,
        why,
    )

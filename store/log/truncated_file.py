"""A file of the commit log that loses its end while somebody still reads it.

A hole made in it would be seen by a view that is being sent, and by sendfile. So a copy without the end takes its
place; the old file is there until the last of them lets go of it. The copy is made in a folder of its own,
since a real broker reads every file beside the log's as one of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from trimq.store.disk.files import (
    create_sized,
    remove,
    remove_directory,
    rename,
    sync_data,
    sync_directory,
    write_fully,
)

FOLDER: Final = "cut"
_CHUNK: Final = 1 << 20


def copy_cut(path: str, fd: int, position: int, size: int) -> int:
    """Put a copy of the bytes before `position`, as long as the original, in the file's place; its descriptor.

    Blocks until the copy is on the disk. OSError: the file is as it was.
    """
    beside = Path(path).parent / FOLDER / Path(path).name
    copy = create_sized(beside, size)
    try:
        done = 0
        while done < position:
            data = os.pread(fd, min(_CHUNK, position - done), done)
            write_fully(copy, [data], done)
            done += len(data)
        sync_data(copy)
        rename(beside, Path(path))
        sync_directory(Path(path).parent)
    except BaseException:
        os.close(copy)
        remove_leftovers(Path(path).parent)
        raise
    remove_leftovers(Path(path).parent)
    return copy


def remove_leftovers(folder: Path) -> None:
    """Of a copy that was not finished."""
    beside = folder / FOLDER
    if beside.is_dir():
        for path in beside.iterdir():
            remove(path)
        remove_directory(beside)

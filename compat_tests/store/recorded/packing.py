"""A store directory as one small file: its files hold gigabytes of zeros, which stay away."""

from __future__ import annotations

import json
import os
import struct
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import zstandard

BLOCK: Final = 4096
_HEAD: Final = struct.Struct(">I")
# What a process held, and settings of an empty RocksDB with folders of the machine in them.
LEFT_OUT: Final = ("lock", "rocksdbstore/OPTIONS-*")


def pack(root: Path) -> bytes:
    """Every file below `root` with its name, length and what is not zero in it."""
    files: list[dict[str, Any]] = []
    data: list[bytes] = []
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        if any(fnmatch(name, pattern) for pattern in LEFT_OUT):
            continue
        extents = filled(path)
        files.append(
            {
                "name": name,
                "length": path.stat().st_size,
                "extents": [[at, len(part)] for at, part in extents],
            }
        )
        data += [part for _, part in extents]
    head = json.dumps(files).encode()
    whole = b"".join((_HEAD.pack(len(head)), head, *data))
    return zstandard.ZstdCompressor(level=19).compress(whole)


def unpack(packed: bytes, root: Path) -> None:
    """The same files below `root`; their zeros take no room where the file system can leave holes."""
    whole = zstandard.ZstdDecompressor().decompress(packed)
    (length,) = _HEAD.unpack_from(whole)
    at = _HEAD.size + length
    for file in json.loads(whole[_HEAD.size : at]):
        path = root / file["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as sink:
            sink.truncate(file["length"])
            for start, size in file["extents"]:
                sink.seek(start)
                sink.write(whole[at : at + size])
                at += size


def filled(path: Path) -> list[tuple[int, bytes]]:
    """Where a file is not zero: blocks that follow each other are one."""
    found: list[tuple[int, bytes]] = []
    with path.open("rb") as source:
        for first, end in _written(source.fileno()):
            source.seek(first)
            for at in range(first, end, BLOCK):
                block = source.read(min(BLOCK, end - at)).rstrip(b"\0")
                if not block:
                    continue
                if found and found[-1][0] + len(found[-1][1]) == at:
                    before, part = found.pop()
                    found.append((before, part + block))
                else:
                    found.append((at, block))
    return found


def _written(file: int) -> list[tuple[int, int]]:
    """What the file system has data of, from block to block; the rest was never written."""
    size = os.fstat(file).st_size
    found = []
    at = 0
    while at < size:
        try:
            first = os.lseek(file, at, os.SEEK_DATA)
        except OSError:
            # Nothing but a hole.
            break
        at = os.lseek(file, first, os.SEEK_HOLE)
        found.append((first // BLOCK * BLOCK, at))
    return found

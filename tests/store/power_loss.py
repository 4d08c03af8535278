"""What a power loss leaves of a directory, for everything that was done to it.

`Recorder` notes each file operation below a directory while it really happens. `Recording.crash`
plays them again up to a moment and keeps of what was not synced by then only what a disk may have
written:

- of a file each sector (or page) as it was at some moment since its last sync, independent of the
  others, and its length likewise;
- of a directory the first few changes since its last sync. File systems with a journal keep these
  in order; those of different directories are independent.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimq.store.upkeep import checkpointing

SECTOR = 512
PAGE = 4096


class File:
    """A file whatever its name; `base` is its content when the recording began."""

    def __init__(self, base: bytes = b"") -> None:
        self.base = base


class Directory:
    def __init__(self) -> None:
        self.base: dict[str, File | Directory] = {}
        self.live: dict[str, File | Directory] = {}


class Recording:
    """Events in their order; a mark is whatever a test wants to know of a moment."""

    def __init__(self, root: Directory) -> None:
        self.root = root
        self.events: list[tuple[Any, ...]] = []

    def mark(self, what: object) -> None:
        self.events.append(("mark", what))

    def marks(self, moment: int) -> list[Any]:
        return [event[1] for event in self.events[:moment] if event[0] == "mark"]

    def crash(self, moment: int, chance: random.Random, target: Path) -> None:
        """Make `target` what the disk may hold when the power goes before that event."""
        state = DiskState(self.root)
        for event in self.events[:moment]:
            state.apply(event)
        state.build(self.root, target, chance, chance.choice((SECTOR, SECTOR, PAGE)))


class DiskState:
    """Synced contents, and what was done to each file and directory since."""

    def __init__(self, root: Directory) -> None:
        self._contents: dict[File, bytes] = {}
        self._entries: dict[Directory, dict[str, File | Directory]] = {}
        self._pending: dict[File | Directory, list[tuple[Any, ...]]] = {}

    def apply(self, event: tuple[Any, ...]) -> None:
        kind, node = event[0], event[1]
        if kind == "sync":
            self._sync(node)
        elif kind == "sync all":
            for one in list(self._pending):
                self._sync(one)
        elif kind != "mark":
            self._pending.setdefault(node, []).append(event)

    def _sync(self, node: File | Directory) -> None:
        pending = self._pending.pop(node, [])
        if isinstance(node, File):
            content = self._content(node)
            for event in pending:
                content = changed(content, event)
            self._contents[node] = content
        else:
            self._entries[node] = self._names(node, pending)

    def _content(self, file: File) -> bytes:
        return self._contents.get(file, file.base)

    def _names(
        self, directory: Directory, pending: list[tuple[Any, ...]]
    ) -> dict[str, File | Directory]:
        names = dict(self._entries.get(directory, directory.base))
        for event in pending:
            if event[0] == "put":
                names[event[2]] = event[3]
            elif event[0] == "drop":
                names.pop(event[2], None)
            else:
                names.pop(event[2], None)
                names[event[3]] = event[4]
        return names

    def build(
        self, directory: Directory, target: Path, chance: random.Random, granule: int
    ) -> None:
        target.mkdir(parents=True, exist_ok=True)
        pending = self._pending.get(directory, [])
        kept = pending[: some(len(pending), chance)]
        for name, node in self._names(directory, kept).items():
            if isinstance(node, Directory):
                self.build(node, target / name, chance, granule)
            else:
                (target / name).write_bytes(self._torn(node, chance, granule))

    def _torn(self, file: File, chance: random.Random, granule: int) -> bytes:
        pending = self._pending.get(file, [])
        if not pending:
            return self._content(file)
        versions = [self._content(file)]
        for event in pending:
            versions.append(changed(versions[-1], event))
        size = len(versions[some(len(pending), chance)])
        pieces = []
        for start in range(0, size, granule):
            # How many different contents this piece had; it is on the disk as one of them.
            seen = [versions[0][start : start + granule]]
            for version in versions[1:]:
                piece = version[start : start + granule]
                if piece != seen[-1]:
                    seen.append(piece)
            pieces.append(seen[some(len(seen) - 1, chance)].ljust(granule, b"\0"))
        return b"".join(pieces)[:size]


def some(count: int, chance: random.Random) -> int:
    """0 to count; often all or nothing."""
    luck = chance.random()
    if luck < 0.3:
        return 0
    return count if luck < 0.6 else chance.randint(0, count)


def changed(content: bytes, event: tuple[Any, ...]) -> bytes:
    if event[0] == "size":
        return content[: event[2]].ljust(event[2], b"\0")
    position, data = event[2], event[3]
    return content[:position].ljust(position, b"\0") + data + content[position + len(data) :]


class Recorder:
    """Stands before the functions of `os` that change files."""

    def __init__(self, root: Path) -> None:
        self._prefix = str(root)
        self._fds: dict[int, File | Directory] = {}
        self._top = Directory()
        self.recording = Recording(self._top)
        self._real: dict[str, Callable[..., Any]] = {}
        if root.exists():
            self._top.base = found(root)
            self._revive(self._top)

    def _revive(self, directory: Directory) -> None:
        directory.live = dict(directory.base)
        for node in directory.live.values():
            if isinstance(node, Directory):
                self._revive(node)

    @contextmanager
    def running(self) -> Iterator[Recording]:
        names = [name for name in dir(Recorder) if name.startswith("os_")]
        try:
            for name in names:
                self._real[name[3:]] = getattr(os, name[3:])
                setattr(os, name[3:], getattr(self, name))
            sync_file_system = checkpointing.sync_file_system
            checkpointing.sync_file_system = lambda _: self._event("sync all", None)
            yield self.recording
        finally:
            checkpointing.sync_file_system = sync_file_system
            for name in names:
                setattr(os, name[3:], self._real[name[3:]])

    def _event(self, *event: Any) -> None:
        self.recording.events.append(event)

    # --- where things are

    def _place(self, path: Any) -> tuple[Directory, str] | None:
        """The directory and the name in it; None when it does not concern us."""
        text = os.path.abspath(os.fspath(path))
        if not text.startswith(self._prefix + "/"):
            return None
        directory = self._top
        *parents, name = text[len(self._prefix) + 1 :].split("/")
        for parent in parents:
            node = directory.live.get(parent)
            if not isinstance(node, Directory):
                return None
            directory = node
        return directory, name

    def _node(self, path: Any) -> File | Directory | None:
        if os.path.abspath(os.fspath(path)) == self._prefix:
            return self._top
        place = self._place(path)
        return place[0].live.get(place[1]) if place else None

    def _put(self, path: Any, node: File | Directory) -> None:
        place = self._place(path)
        if place is not None:
            place[0].live[place[1]] = node
            self._event("put", place[0], place[1], node)

    def _drop(self, path: Any) -> None:
        place = self._place(path)
        if place is not None:
            place[0].live.pop(place[1], None)
            self._event("drop", place[0], place[1])

    # --- what is recorded

    def os_open(self, path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        before = self._node(path)
        fd: int = self._real["open"](path, flags, mode, **more)
        if before is None and flags & os.O_CREAT and self._place(path):
            self._put(path, File())
        node = self._node(path)
        if node is not None:
            self._fds[fd] = node
            if flags & os.O_TRUNC and before is not None:
                self._event("size", node, 0)
        return fd

    def os_close(self, fd: int) -> None:
        self._fds.pop(fd, None)
        self._real["close"](fd)

    def os_pwritev(self, fd: int, chunks: list[bytes], position: int, *more: Any) -> int:
        count: int = self._real["pwritev"](fd, chunks, position, *more)
        if fd in self._fds:
            self._event("write", self._fds[fd], position, b"".join(chunks)[:count])
        return count

    def os_ftruncate(self, fd: int, size: int) -> None:
        self._real["ftruncate"](fd, size)
        if fd in self._fds:
            self._event("size", self._fds[fd], size)

    def os_truncate(self, path: Any, size: int) -> None:
        self._real["truncate"](path, size)
        if (node := self._node(path)) is not None:
            self._event("size", node, size)

    def os_fsync(self, fd: int) -> None:
        if fd in self._fds:
            self._event("sync", self._fds[fd])

    def os_fdatasync(self, fd: int) -> None:
        self.os_fsync(fd)

    def os_mkdir(self, path: Any, *more: Any, **options: Any) -> None:
        self._real["mkdir"](path, *more, **options)
        if self._place(path):
            self._put(path, Directory())

    def os_rmdir(self, path: Any, **options: Any) -> None:
        self._real["rmdir"](path, **options)
        self._drop(path)

    def os_unlink(self, path: Any, **options: Any) -> None:
        self._real["unlink"](path, **options)
        self._drop(path)

    def os_replace(self, source: Any, target: Any) -> None:
        self._real["replace"](source, target)
        place, to = self._place(source), self._place(target)
        if place is None or to is None:
            return
        node = place[0].live.pop(place[1])
        to[0].live[to[1]] = node
        if place[0] is not to[0]:
            # Two changes: of what becomes of the one nothing follows for the other.
            self._event("put", to[0], to[1], node)
            self._event("drop", place[0], place[1])
            return
        self._event("move", place[0], place[1], to[1], node)

    def os_link(self, source: Any, target: Any, **options: Any) -> None:
        self._real["link"](source, target, **options)
        if (node := self._node(source)) is not None:
            self._put(target, node)

    def _refuse(self, *_: Any, **__: Any) -> None:
        raise AssertionError("not recorded: add it to the recorder")

    os_pwrite = os_write = os_writev = os_rename = os_remove = os_symlink = _refuse


def found(path: Path) -> dict[str, File | Directory]:
    """A directory as it is on the disk."""
    entries: dict[str, File | Directory] = {}
    for entry in path.iterdir():
        if entry.is_dir():
            directory = Directory()
            directory.base = found(entry)
            entries[entry.name] = directory
        else:
            entries[entry.name] = File(entry.read_bytes())
    return entries

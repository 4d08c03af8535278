"""A table of the broker under `store/config`: written at once, made durable a little later.

A new topic must not be lost by a kill -9 right after its first message was acknowledged, so a
change goes to the page cache before the answer is sent. What may block on the disk (fsync) is left
to a worker thread, which touches files only. ConfigFile of the store reads the same two names.

A power loss may tear a version that was not synced yet. So one of the two names always holds one
that was: the twin is the last synced version before the newest, and the very first is synced at once.

| the newest version is | flag        | survives       | left by                                                  |
|-----------------------|-------------|----------------|----------------------------------------------------------|
| changed in memory     | `changes` > 0 | nothing      | `write` or a writer's turn -> written, or not saved      |
| not saved             | `_unsaved`  | nothing: the write failed, the log says so | `settle` tries again         |
| written               | `_unsynced` | kill -9        | `sync` -> synced; a failing one stays and is tried again |
| synced                | neither     | power losses   | the next write, which makes it the twin                  |
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

import trio

from trimq.codec.bodies.base import Body, decode_file
from trimq.codec.errors import CodecError
from trimq.store.disk.config_file import ConfigFile
from trimq.store.disk.files import (
    create,
    make_durable_directory,
    remove,
    rename,
    sync_data,
    sync_directory,
    sync_file,
    write_fully,
)
from trimq.store.disk.quarantine import is_damage, set_aside

log = logging.getLogger("trimq.broker")
T = TypeVar("T")
B = TypeVar("B", bound=Body)


class Writer(Protocol):
    """Notified of tables that have changed."""

    def changed(self, file: "TableFile") -> None: ...


class TableDamaged(Exception):
    """Neither the file nor its twin can be read as the table that it should hold."""


# What is lost with a file that is given up.
_LOST: Final = {
    "topics.json": "every topic's settings (messages stay, and are there once the topic is created again)",
    "subscriptionGroup.json": "every group's settings",
    "consumerOffset.json": "how far each group has read (it begins as a new one does)",
    "lmqConsumerOffset.json": "how far each group has read light queues",
    "delayOffset.json": "how far each delay level has been delivered",
    "consumerFilter.json": "the groups' SQL expressions, until their consumers send them again",
    "topicQueueMapping.json": "which queues of static topics are here",
    "consumerOrderInfo.json": "which orderly popped messages are still out",
    "messageRequestMode.json": "which groups are popped",
    "transactionMetrics": "a count of half messages",
    "timermetrics": "a count of timer messages",
}


class TableFile:
    """One JSON file and its `.bak` twin; neither is ever missing or half written."""

    def __init__(
        self, path: Path, pieces: Callable[[], Iterator[bytes]], *, spare: bool = False
    ) -> None:
        """`pieces` encodes the table as it is now, a bounded amount of work per piece. `spare`: figures, or what can be
        set again: without it the broker starts, and a damaged one is set aside.
        """
        self._spare = spare
        self.path = path
        self._pieces = pieces
        self._unsaved = False
        self._unsynced = False
        # Counts the versions written, and which of them is known to be on the disk.
        self._version = 0
        self._synced = -1
        self._safe = False
        # Decides when `changed` writes; without one it writes at once.
        self._writer: Writer | None = None
        # How large the last version is, and how many changes it lacks.
        self.size = 0
        self.changes = 0
        # Being written beside the loop: it must not overtake anything newer.
        self.busy = False

    @property
    def begun(self) -> bool:
        """Whether it has a version, or should have one."""
        return self._safe or self._unsaved or self._version > 0 or self.changes > 0

    @property
    def saved(self) -> bool:
        """Whether the last version that was written is on the disk."""
        return not (self._unsaved or self._unsynced)

    def write_by(self, writer: Writer) -> None:
        """Let a writer decide when changes are written."""
        self._writer = writer

    def changed(self) -> None:
        """The table has changed, and the next answer promises that the change is kept."""
        self.changes += 1
        if self._writer is None:
            self.write()
        else:
            self._writer.changed(self)

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """The table, from its twin if the newest version is unreadable; None on a fresh store. TableDamaged."""
        file = ConfigFile(self.path)
        try:
            return self._load(file, decode)
        except TableDamaged as error:
            if not self._spare:
                raise
            self._safe = self._unsynced = False
            for path in (self.path, file.backup):
                if os.path.lexists(path):
                    set_aside(self.path.parent.parent, path, error)
            return None
        except OSError as error:
            raise TableDamaged(self._refusal(error)) from error

    def _refusal(self, error: object, what: str = "") -> str:
        """What to do about it: nobody but the operator may give up a table."""
        what = what or f"neither {self.path} nor its twin can"
        lost = _LOST.get(self.path.name, "what it holds")
        return (
            f"{what} be read: {error}. Put a copy of {self.path.name} from a backup, or from a slave, there; or move it"
            f" and {self.path.name}.bak aside and start without them: then {lost} is lost"
        )

    def _load(self, file: ConfigFile, decode: Callable[[bytes], T]) -> T | None:
        try:
            data = file.load()
        except OSError as error:
            if not is_damage(error):
                raise
            log.error("config file unreadable, trying its twin: file=%s error=%s", self.path, error)
            data = self._twin_of_unreadable(file, error)
        if data is None:
            return None
        self._safe = True
        self.size = len(data)
        try:
            table = decode(data)
        except CodecError as error:
            log.error("config file unreadable, trying its twin: file=%s error=%s", self.path, error)
            backup = file.load_backup()
            if backup is None or backup == data:
                raise TableDamaged(self._refusal(error, f"{self.path} cannot")) from error
        else:
            # A killed process may have left it in the page cache only.
            self._unsynced = self.path.exists() and self.path.stat().st_size == len(data)
            self.sync()
            return table
        try:
            return decode(backup)
        except CodecError as error:
            raise TableDamaged(self._refusal(error)) from error

    def _twin_of_unreadable(self, file: ConfigFile, error: OSError) -> bytes:
        """What has the file's name makes room for the next version."""
        try:
            backup = file.load_backup()
        except OSError:
            backup = None
        if backup is None:
            raise TableDamaged(self._refusal(error)) from error
        set_aside(self.path.parent.parent, self.path, error)
        return backup

    def load_as(self, shape: type[B]) -> B | None:
        """The same for a file that holds a body."""
        return self.load(partial(decode_file, shape))

    def begin(self) -> None:
        """Write the first version in a new store. Blocks: before the loop runs.

        It has to be synced at once, and a sync takes seconds once the disk is busy with messages.
        """
        self.write()

    def write(self) -> None:
        """Write the table now, into the page cache. A failure is logged and repaired later."""
        self.changes = 0
        self._write(self._pieces())

    async def settle(self) -> None:
        """Repeat a failed write and let the last version survive a power loss."""
        if self._unsaved:
            self.changed()
        if self._unsynced:
            await trio.to_thread.run_sync(self.sync)

    async def write_in_steps(self) -> None:
        """Write a large table: encoded between other work, written and synced in a thread."""
        await trio.to_thread.run_sync(self._write_and_sync, await self._encoded())

    async def write_beside_the_loop(self) -> None:
        """The same into the page cache only."""
        self.busy = True
        try:
            self.changes = 0
            await trio.to_thread.run_sync(self._write, await self._encoded())
        finally:
            self.busy = False

    async def _encoded(self) -> list[bytes]:
        """One step for each piece."""
        pieces: list[bytes] = []
        for piece in self._pieces():
            pieces.append(piece)
            await trio.lowlevel.checkpoint()
        return pieces

    def close(self) -> None:
        """Write and sync, whatever it takes. Blocks: after the loop's work is done."""
        self.write()
        self.sync()

    def sync(self) -> None:
        """Blocks on the disk: for a worker thread."""
        if not self._unsynced:
            return
        self._unsynced = False
        version = self._version
        try:
            sync_file(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            self._unsynced = True
            log.error("config file not synced: file=%s error=%s", self.path, error)
            return
        self._synced = version
        self._safe = True

    def _write_and_sync(self, pieces: list[bytes]) -> None:
        self._write(pieces)
        self.sync()

    def _write(self, pieces: Iterable[bytes]) -> None:
        try:
            whole = list(pieces)
            self._replace(whole)
            self.size = sum(map(len, whole))
            self._unsaved = False
        except OSError as error:
            self._unsaved = True
            log.error("config file not saved: file=%s error=%s", self.path, error)

    def _replace(self, pieces: list[bytes]) -> None:
        """Write to a new file and rename over; a synced previous version becomes the twin."""
        make_durable_directory(self.path.parent)
        beside = self.path.with_name(self.path.name + ".new")
        fd = create(beside)
        try:
            os.ftruncate(fd, 0)
            write_fully(fd, pieces, 0)
            if not self._safe:
                sync_data(fd)
        finally:
            os.close(fd)
        if self._synced == self._version:
            self._keep_previous()
        rename(beside, self.path)
        self._version += 1
        self._unsynced = True
        if not self._safe:
            self.sync()

    def _keep_previous(self) -> None:
        twin = self.path.with_name(self.path.name + ".bak")
        link = self.path.with_name(self.path.name + ".old")
        with suppress(FileNotFoundError):
            remove(link)
        try:
            os.link(self.path, link)
        except FileNotFoundError:
            return
        rename(link, twin)

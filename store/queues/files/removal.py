"""Removing queues' folders beside the event loop.

What a disk takes for it is up to its journal, as with new files (`writing`). So the loop takes a topic's queues out
(`Queues.take_out`): from then on nobody finds them. A worker thread removes their folders, and the loop notes that
(`Queues.settle_removal`). Whoever makes such a queue anew before that removes them first.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
import threading

from trimq.store.disk.files import Unsynced, store_error
from trimq.store.errors import StoreError
from trimq.store.native import remove_folders
from trimq.store.queues.files.writing import Writing


class Removal:
    """The folders of some queues of a topic. `parents`: theirs, removed when they are empty then."""

    __slots__ = ("_lock", "_writings", "error", "folders", "is_done", "parents", "what")

    def __init__(self, what: str, parents: list[str]) -> None:
        """`what`: the queues, for errors."""
        self.what = what
        self.parents = parents
        self.folders: list[str] = []
        self.is_done = False
        # What went wrong the last time.
        self.error: StoreError | None = None
        self._lock = threading.Lock()
        self._writings: list[Writing] = []

    def add(self, folder: str) -> None:
        self.folders.append(folder)

    def wait_for(self, writing: Writing) -> None:
        """A thread may be at the disk with pieces that were taken back."""
        if writing not in self._writings:
            self._writings.append(writing)

    def take_over(self, other: Removal) -> None:
        """What it has not removed."""
        self.folders += other.folders
        self._writings += other._writings

    def run(self) -> None:
        """In any thread, and as often as one likes: `error` says what went wrong."""
        with self._lock:
            if self.is_done:
                return
            for writing in self._writings:
                writing.wait()
            code, path = remove_folders(self.folders, self.parents)
            if code:
                error = OSError(code, os.strerror(code), path)
                self.error = store_error(error, f"deleting {self.what}")
            else:
                self.error = None
                self.is_done = True

    def finish(self, unsynced: Unsynced) -> None:
        """On the loop: it has run, or does so now. StoreError: what is left can be tried again."""
        self.run()
        if self.error is not None:
            raise self.error
        unsynced.add_directories([os.path.dirname(one) for one in (*self.folders, *self.parents)])


def run_all(removals: list[Removal]) -> None:
    """One after the other."""
    for removal in removals:
        removal.run()


class Leaving:
    """Topics whose queues are gone for everybody, and whose folders may be there still."""

    __slots__ = ("_removals", "_unsynced")

    def __init__(self, unsynced: Unsynced) -> None:
        self._unsynced = unsynced
        self._removals: dict[str, list[Removal]] = {}

    def __contains__(self, topic: str) -> bool:
        return topic in self._removals

    def begin(self, topic: str, removal: Removal) -> Removal:
        self._removals.setdefault(topic, []).append(removal)
        return removal

    def take_failed(self, topic: str) -> list[Removal]:
        """Those of the topic that could not be done: another one has to take them over."""
        removals = self._removals.get(topic, [])
        failed = [one for one in removals if one.error is not None]
        for one in failed:
            removals.remove(one)
        return failed

    def stays(self, topic: str) -> bool:
        """Whether the folders could not be removed."""
        return any(one.error is not None for one in self._removals.get(topic, ()))

    def staying(self) -> list[str]:
        return [topic for topic in self._removals if self.stays(topic)]

    def settle(self, topic: str, removal: Removal) -> None:
        """It has run, or does so now. StoreError: it is tried again when the topic is deleted again, or used."""
        removals = self._removals.get(topic)
        if removals is None or removal not in removals:
            # Whoever needed it has done so.
            return
        removal.finish(self._unsynced)
        removals.remove(removal)
        if not removals:
            del self._removals[topic]

    def finish(self, topic: str) -> None:
        """On the loop: its folders must not be there any more. StoreError."""
        for removal in list(self._removals.get(topic, ())):
            self.settle(topic, removal)

    def finish_all(self) -> None:
        """All but those that could not be done: what they have left is found again when queues are listed anew."""
        for topic in list(self._removals):
            if not self.stays(topic):
                self.finish(topic)
        self._removals.clear()

"""What can go wrong in the store, as types a processor can map to RocketMQ's response codes.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """The store could not do what it was asked to."""


class MessageTooLarge(StoreError):
    """Body or record above `maxMessageSize` (PutMessageStatus.MESSAGE_ILLEGAL)."""


class PropertiesTooLong(StoreError):
    """The property block exceeds 32767 bytes (PutMessageStatus.PROPERTIES_SIZE_EXCEEDED)."""


class PropertiesLookTorn(StoreError):
    """The property block contains what only a lost sector leaves (PutMessageStatus.MESSAGE_ILLEGAL)."""


class TooManyLightQueues(StoreError):
    """A message names a light queue that would be one too many (PutMessageStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED)."""


class StoreNotWritable(StoreError):
    """The store accepts no messages now: not open, or a flush has failed."""


class DiskFull(StoreError):
    """The file system is full; what was staged has been taken back."""


class MessagesGone(StoreError):
    """What was to be read has been deleted with its commit-log file."""


class StoreInUse(StoreError):
    """Another process (ours or a real broker) holds the store's lock."""


class StoreDamaged(StoreError):
    """A file violates its format in a way that no crash can explain."""

    def __init__(self, file: Path, offset: int, reason: str) -> None:
        super().__init__(f"{file} is damaged at byte {offset}: {reason}")
        self.file = file
        self.offset = offset
        self.reason = reason


class WrongFileSize(StoreError):
    """The files of the commit log were made with another `mappedFileSizeCommitLog`."""

    def __init__(self, file: Path, length: int, setting: int) -> None:
        super().__init__(
            f"mappedFileSizeCommitLog={setting} does not fit the commit log, whose files ({file}) have {length}"
            " bytes each. Nothing is damaged: set it to that again, with --set, in the file of --config, or,"
            " when it was changed at run time, in config/broker.properties of the store"
        )

"""What an inspection yields: items with the fields of their declaration, and an end with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Unreadable(Exception):
    """There is nothing to print: no such file, no known kind, not a file of RocketMQ's."""


class Reason(StrEnum):
    """Why printing stopped."""

    END_OF_FILE = "end of file"
    ZEROS = "zeros"
    RANGE = "range"
    LIMIT = "limit"
    DAMAGE = "damage"


@dataclass(frozen=True, slots=True)
class Item:
    """One record, entry, slot, header or file."""

    name: str
    file: Path
    position: int
    """Its first byte in the file."""
    number: int
    """Physical offset of a record, queue offset or number of an entry; 0 where there is one only."""
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class End:
    """Where an inspection stopped; `resume` is the number to go on with."""

    file: Path
    position: int
    reason: Reason
    text: str
    resume: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which items to yield; None takes all. Ranges include both ends."""

    topic: str | None = None
    queue_id: int | None = None
    offsets: tuple[int, int] | None = None
    physical_offset: int | None = None
    key: str | None = None
    start: int | None = None
    end: int | None = None
    index_slots: int | None = None

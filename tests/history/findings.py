"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """The letters are those of docs/testing.md."""

    ACKNOWLEDGED = "a"
    ORIGIN = "b"
    ORDER = "c"
    SEEN = "d"
    COPIES = "e"
    GROUPS = "f"


@dataclass(frozen=True)
class Finding:
    """A broken rule, where (a queue and offset, a copy, a group), and the evidence in a sentence."""

    rule: Rule
    where: str
    evidence: str

    def __str__(self) -> str:
        return f"({self.rule}) {self.where}: {self.evidence}"

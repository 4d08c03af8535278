"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What holds after healing, whatever was killed or cut."""

    # Every SEND_OK lies at its queue offset.
    ACKNOWLEDGED = "a"
    # Nothing was invented, and no attempt is there twice.
    ORIGIN = "b"
    # In each queue, a send that ended before another began comes first.
    ORDER = "c"
    # What a consumer saw is there.
    SEEN = "d"
    # Offsets have no gaps, and copies are equal.
    COPIES = "e"
    # Each group gets every acknowledged message; its offsets go back at a kill or a change of role only.
    GROUPS = "f"


@dataclass(frozen=True)
class Finding:
    """A broken rule, where (a queue and offset, a copy, a group), and the evidence in a sentence."""

    rule: Rule
    where: str
    evidence: str

    def __str__(self) -> str:
        return f"({self.rule}) {self.where}: {self.evidence}"

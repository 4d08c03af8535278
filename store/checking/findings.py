"""What a check has found: problems, and notes about what is not damage. Examples are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

EXAMPLES: Final = 5


@dataclass(slots=True)
class Finding:
    """All occurrences of one kind."""

    kind: str
    count: int = 0
    examples: list[str] = field(default_factory=list)


class Findings:
    """Problems make a store unsound; notes do not."""

    def __init__(self, examples: int = EXAMPLES) -> None:
        self._examples = examples
        self._problems: dict[str, Finding] = {}
        self._notes: dict[str, Finding] = {}

    def problem(self, kind: str, text: str, count: int = 1) -> None:
        self._add(self._problems, kind, text, count)

    def note(self, kind: str, text: str, count: int = 1) -> None:
        self._add(self._notes, kind, text, count)

    def _add(self, where: dict[str, Finding], kind: str, text: str, count: int) -> None:
        finding = where.get(kind)
        if finding is None:
            finding = where[kind] = Finding(kind)
        finding.count += count
        if len(finding.examples) < self._examples:
            finding.examples.append(text)

    def problems(self) -> Iterator[Finding]:
        yield from self._problems.values()

    def notes(self) -> Iterator[Finding]:
        yield from self._notes.values()

    @property
    def sound(self) -> bool:
        return not self._problems

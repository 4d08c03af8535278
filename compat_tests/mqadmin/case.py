"""What one comparison of mqadmin is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CLUSTER: Final = "DefaultCluster"
BROKER: Final = "broker-a"
NEW_TOPIC: Final = "updateTopic -b {b} -t {topic} -r 4 -w 4"


@dataclass(frozen=True)
class AdminCase:
    """One comparison: command lines that the same tool runs one after the other."""

    command: str
    lines: tuple[str, ...]
    name: str = ""
    # Why the servers' own answers differ; then ours is compared with the official tool on each.
    differs: str | None = None
    # Why the servers' lines come in different orders; between servers they are compared sorted then.
    unordered: str | None = None
    # Patterns of what changes from moment to moment in this command's text, and what takes its place.
    masks: tuple[tuple[str, str], ...] = ()
    # The servers that refuse the last line: there ours fails with a sentence.
    refused_by: tuple[str, ...] = ()
    # How many lines the last command line prints before it is interrupted: it would go on for ever.
    interrupted_after: int = 0

    def __str__(self) -> str:
        return f"{self.command}-{self.name}" if self.name else self.command


def case(
    command: str,
    *lines: str,
    name: str = "",
    differs: str | None = None,
    unordered: str | None = None,
    masks: tuple[tuple[str, str], ...] = (),
    refused_by: tuple[str, ...] = (),
    interrupted_after: int = 0,
) -> AdminCase:
    slug = name.replace(" ", "-")
    return AdminCase(command, lines, slug, differs, unordered, masks, refused_by, interrupted_after)

"""One comparison of what the tools print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CLUSTER: Final = "DefaultCluster"
BROKER: Final = "broker-a"
NEW_TOPIC: Final = "updateTopic -b {b} -t {topic} -r 4 -w 4"


@dataclass(frozen=True)
class AdminCase:
    """One comparison. `waits_for` names what TriMQ does not answer yet; then only the real server is asked."""

    command: str
    lines: tuple[str, ...]
    name: str = ""
    waits_for: str | None = None
    # Why the servers' own answers differ; then ours is compared with the official tool on each.
    differs: str | None = None
    # Why the servers' lines come in different orders; between servers they are compared sorted then.
    unordered: str | None = None
    # Patterns of what changes from moment to moment in this command's text, and what takes its place.
    masks: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.command}-{self.name}" if self.name else self.command


def case(
    command: str,
    *lines: str,
    name: str = "",
    waits_for: str | None = None,
    differs: str | None = None,
    unordered: str | None = None,
    masks: tuple[tuple[str, str], ...] = (),
) -> AdminCase:
    slug = name.replace(" ", "-")
    return AdminCase(command, lines, slug, waits_for, differs, unordered, masks)

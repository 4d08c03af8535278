"""What a run has built, as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One target: its archive, or why there is none."""

    name: str
    seconds: float = 0
    archive: Path | None = None
    why_not: str = ""
    # Whether it could have been built here.
    failed: bool = False


def table(rows: Iterable[Row]) -> str:
    """Size in bytes. What was not built stands below, each with a sentence."""
    told = list(rows)
    lines = ["", f"{'seconds':>7} {'size':>9}  {'sha256':<64}  file"]
    for row in told:
        if row.archive is not None:
            content = row.archive.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            lines.append(f"{row.seconds:>7.0f} {len(content):>9}  {digest}  {row.archive.name}")
    left = [f"    {row.name:<16}{row.why_not}" for row in told if row.archive is None]
    return "\n".join([*lines, *(["", "not built:", *left] if left else [])])

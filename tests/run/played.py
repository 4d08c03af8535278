"""When each live part was last played: no part goes unplayed for more than five landings.

`played.json` holds the last commits that landed, the newest last, and by part the landing at which it was last played
and passed. Who lands something notes that with the next change:

    python -m tests.run.played COMMIT
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.run.part import ROOT, Part

FILE: Final = ROOT / "tests" / "run" / "played.json"
# For so many landings a part may be left out.
LEFT_OUT: Final = 5
# How many landings are kept: what was played before them is due anyway.
KEPT: Final = 10


@dataclass
class Played:
    """What the file says."""

    landed: list[str] = field(default_factory=list)
    parts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Played:
        return cls(**json.loads(file.read_bytes())) if file.exists() else cls()

    def write(self, file: Path) -> None:
        """A line for each part. Whoever reads meanwhile sees the old file or the new one."""
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(self.text())
        new.replace(file)

    def text(self) -> str:
        return (
            json.dumps({"landed": self.landed, "parts": self.parts}, indent=1, sort_keys=True)
            + "\n"
        )

    def unplayed(self, part: str) -> int | None:
        """For how many landings; None: never played, or nobody knows when."""
        landing = self.parts.get(part)
        if landing not in self.landed:
            return None
        return len(self.landed) - 1 - self.landed.index(landing)


def landed(file: Path | None = None) -> str | None:
    """The newest commit that has landed."""
    commits = Played.read(file or FILE).landed
    return commits[-1] if commits else None


def due(parts: Iterable[Part], file: Path | None = None) -> list[str]:
    """The names of those that were left out for five landings, or of which nothing is noted."""
    known = Played.read(file or FILE)
    unplayed = {part.name: known.unplayed(part.name) for part in parts}
    return [name for name, count in unplayed.items() if count is None or count >= LEFT_OUT]


def note(parts: Iterable[str], landed: str, file: Path | None = None) -> None:
    """These parts, by name, were played and passed when this commit landed. No part: it has landed, nothing more."""
    known = Played.read(file or FILE)
    if landed not in known.landed:
        known.landed.append(landed)
    known.landed = known.landed[-KEPT:]
    known.parts |= dict.fromkeys(parts, landed)
    known.parts = {name: commit for name, commit in known.parts.items() if commit in known.landed}
    known.write(file or FILE)


if __name__ == "__main__":
    # It is noted in full, however short it was given.
    asked = ["git", "rev-parse", "--verify", f"{sys.argv[1]}^{{commit}}"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    note([], found.stdout.strip())

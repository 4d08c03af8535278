"""Which releases there were: `releases.json`, the oldest first, a line with version, commit and date for each.

A release is noted with the first change after it. What the newest tree is played against is the last one: before 0.1.0
that is a commit that was never released, which its version says (`0.1.0.dev0`).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("releases.json")
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(\.dev\d+)?")


@dataclass(frozen=True, slots=True)
class Release:
    """One of them. The commit is named in full, the date is as in `2026-01-31`."""

    version: str
    commit: str
    date: str

    @property
    def was_released(self) -> bool:
        return ".dev" not in self.version

    def line(self) -> str:
        """As it stands in the file."""
        return f" {json.dumps(asdict(self))}"


def order(version: str) -> tuple[int, int, int, bool]:
    """By this they are sorted. ValueError for what is no version of ours: `1.2.3`, or `1.2.3.dev0` before it."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ValueError(f"{version} is no version: write MAJOR.MINOR.PATCH, as in 0.2.0")
    major, minor, patch = map(int, found.groups()[:3])
    return major, minor, patch, found[4] is None


def releases(file: Path = FILE) -> list[Release]:
    return [Release(**one) for one in json.loads(file.read_bytes())]


def newest(file: Path = FILE) -> Release:
    """The release before whatever comes next."""
    return releases(file)[-1]

"""What a release consists of: how each part is made, what it leaves in `dist/`, and how that is tried.

A further part is a further row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from releasing.trying import Trial, installed_by_pip

# An archive, a folder to work in, the version: what was seen. Failed.
Try = Callable[[Path, Path, str], Trial]


@dataclass(frozen=True)
class Row:
    """One part. In `command` and `leaves`, `{version}` and `{out}` stand for what they are in a run."""

    name: str
    command: tuple[str, ...]
    # Files of this part in `out`, each of which is tried.
    leaves: tuple[str, ...]
    tried: Try
    # For the plan.
    how: str

    def words(self, version: str, out: Path) -> list[str]:
        return [word.format(version=version, out=out) for word in self.command]

    def files(self, version: str, out: Path) -> list[Path]:
        return [out / name.format(version=version) for name in self.leaves]


_PIP: Final = "pip installs it into an empty environment; it sends, receives, is killed, starts and reads again"

_WHEELS: Final = (sys.executable, "-m", "releasing.wheels", "--out", "{out}")

ROWS: Final = (
    Row(
        "sdist",
        (*_WHEELS, "--only", "sdist"),
        ("trimq-{version}.tar.gz",),
        installed_by_pip,
        _PIP,
    ),
    Row(
        "pure wheel",
        (*_WHEELS, "--only", "pure"),
        ("trimq-{version}-py3-none-any.whl",),
        installed_by_pip,
        _PIP,
    ),
)

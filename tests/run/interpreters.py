"""Which Pythons are on this machine: the released CPythons that TriMQ supports."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.run.part import ROOT

MADE: Final = ROOT / "build" / "pythons"
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
ASK: Final = (
    "import json, sys;print(json.dumps([sys.implementation.name, sys.abiflags, *sys.version_info]))"
)


class Interpreter(NamedTuple):
    """A released CPython."""

    release: tuple[int, int, int]
    path: Path

    @property
    def version(self) -> str:
        return "{}.{}".format(*self.release)

    @property
    def name(self) -> str:
        return "{}.{}.{}".format(*self.release)

    @property
    def home(self) -> Path:
        """Everything that is made for it."""
        return MADE / self.version

    @property
    def python(self) -> Path:
        """That of its environment."""
        return self.home / "venv" / "bin" / "python"


def candidates() -> Iterator[Path]:
    for version in VERSIONS:
        found = shutil.which(f"python{version}")
        if found is not None:
            yield Path(found)
    yield from sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python"))


def ask(python: Path) -> Interpreter | None:
    """None for what does not run (pyenv has shims like that), is another kind of Python, or an alpha or beta."""
    command = [str(python), "-I", "-c", ASK]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        kind, flags, major, minor, micro, level, _ = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    # The flags say that it has no lock (`t`) or was built for debugging: other wheels than ours.
    if kind != "cpython" or flags or level not in ("candidate", "final"):
        return None
    return Interpreter((major, minor, micro), python)


def find(paths: Iterable[Path]) -> dict[str, Interpreter]:
    """The newest release of each version; of two equal ones the first."""
    found: dict[str, Interpreter] = {}
    for one in filter(None, map(ask, paths)):
        before = found.get(one.version)
        if one.version in VERSIONS and (before is None or one.release > before.release):
            found[one.version] = one
    return found

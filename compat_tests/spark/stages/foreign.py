"""A project that is not TriMQ's and has folders of the same names as TriMQ's layers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from compat_tests.servers.artifacts import ROOT

OWNER: Final = "somebody else"


def names() -> list[str]:
    """What stands at the top of our source tree and could be imported."""
    layers = [path.name for path in (ROOT / "trimq").iterdir() if path.is_symlink()]
    return sorted([*layers, "bench", "building", "docs", "tests"])


def sources() -> dict[str, str]:
    """Paths and texts: packages, and below one of them a module of a name that TriMQ has there, too."""
    packages = {f"{name}/__init__.py": f"OWNER = {OWNER!r}\n" for name in names()}
    return {**packages, "store/disk/files.py": f"OWNER = {OWNER!r}\n"}


def write_folder(folder: Path) -> Path:
    for name, text in sources().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def write_archive(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, text in sources().items():
            file.writestr(name, text)
    return path

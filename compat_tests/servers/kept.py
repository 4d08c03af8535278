"""Folders that are made once and kept: they exist when they are complete."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder; if it is not there yet it gets what `make` puts into the one that it is given.

    Whatever `make` raises leaves nothing behind.
    """
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            make(partial)
            partial.chmod(0o755)
            _rename(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def _rename(partial: Path, folder: Path) -> None:
    try:
        partial.rename(folder)
    except OSError:
        # Another process was faster and its result is as good as ours.
        if not folder.is_dir():
            raise

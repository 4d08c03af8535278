"""Which files differ from a commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.run.part import ROOT

# These would make git look at another repository.
_FOREIGN: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


def changed_files(since: str, folder: Path = ROOT) -> list[str] | None:
    """What the work tree in `folder` has changed since that commit: new files too, and both names of what has moved.

    None when nobody can say: there is no git, this is not a clone, or the clone has no such commit.
    """
    commit = _commit(since, folder)
    if not _is_clone(folder) or commit is None:
        return None
    differing = _git(folder, "diff", "-z", "--name-only", "--no-renames", commit)
    new = _git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    if differing is None or new is None:
        return None
    return sorted({name for name in f"{differing}\0{new}".split("\0") if name})


def is_unknown(since: str, folder: Path = ROOT) -> bool:
    """Whether git can say that this clone has no such commit."""
    return _is_clone(folder) and _commit(since, folder) is None


def _is_clone(folder: Path) -> bool:
    top = _git(folder, "rev-parse", "--show-toplevel")
    return top is not None and Path(top.strip()).resolve() == folder.resolve()


def _commit(since: str, folder: Path) -> str | None:
    found = _git(folder, "rev-parse", "--verify", "--quiet", f"{since}^{{commit}}")
    return None if found is None else found.strip()


def _git(folder: Path, *words: str) -> str | None:
    environment = {name: text for name, text in os.environ.items() if name not in _FOREIGN}
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=environment, capture_output=True, check=False
        )
    except OSError:
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None

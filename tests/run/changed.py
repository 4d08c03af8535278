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
    top = _git(folder, "rev-parse", "--show-toplevel")
    commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{since}^{{commit}}")
    if top is None or commit is None or Path(top.strip()).resolve() != folder.resolve():
        return None
    differing = _git(folder, "diff", "-z", "--name-only", "--no-renames", commit.strip())
    new = _git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    if differing is None or new is None:
        return None
    return sorted({name for name in f"{differing}\0{new}".split("\0") if name})


def _git(folder: Path, *words: str) -> str | None:
    environment = {name: text for name, text in os.environ.items() if name not in _FOREIGN}
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=environment, capture_output=True, check=False
        )
    except OSError:
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None

"""The sources that a release is built from: the files that git knows, as they are now; and their date."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

from releasing.targets import CannotBuild

# What neither a wheel nor the source archive holds.
_LEFT_OUT: Final = (".ci/", "bench/", "compat_tests/", "docs/", "releasing/", "tests/")
DATE: Final = "SOURCE_DATE_EPOCH"


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(
            f"{root} is no clone of a git repository ({done.stderr.strip()}): build in one, its files and dates count"
        )
    return done.stdout


def seconds(root: Path) -> int:
    """Of the last commit, since 1970; SOURCE_DATE_EPOCH overrides it. CannotBuild."""
    told = os.environ.get(DATE) or _git(root, "log", "-1", "--format=%ct").strip()
    # A zip archive knows no earlier year.
    if not told.isdecimal() or int(told) < 315_619_200:
        raise CannotBuild(f"{DATE}={told}: give the seconds since 1970 of a day in 1980 or later")
    return int(told)


def state(root: Path) -> str:
    """For the user: which commit, and whether it is just that."""
    commit = _git(root, "log", "-1", "--format=%h %cs").strip()
    changed = _git(root, "status", "--porcelain", "--untracked-files=no").strip()
    return f"{commit}, with changes that are not committed" if changed else commit


def copy(root: Path, folder: Path) -> None:
    """The files that git knows, and those alone; links stay links."""
    for name in _git(root, "ls-files", "-z").split("\0"):
        source, target = root / name, folder / name
        if not name or name.startswith(_LEFT_OUT) or not os.path.lexists(source):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        else:
            shutil.copy(source, target)


def project(root: Path) -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


def pythons(root: Path) -> str:
    """The oldest and the newest that the project names: `3.11 to 3.13`."""
    classifiers = project(root)["project"]["classifiers"]
    found = [
        re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", one) for one in classifiers
    ]
    minors = sorted(int(one[1]) for one in found if one)
    return f"3.{minors[0]} to 3.{minors[-1]}"

"""Which checkouts take part: this one, and with --against another one beside it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.servers.subjects import (
    BEFORE,
    KINDS,
    OTHER,
    OURS,
    REAL,
    ROOT,
    compiled_for_tests,
    compiled_in,
)

_UNKNOWN: Final = "no commit"


class NotThere(Exception):
    """The other tree cannot be measured; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Against:
    """Two compiled trees and the commits that they are copies of."""

    other: Path
    this_commit: str
    other_commit: str

    def __str__(self) -> str:
        return f"That tree: {self.other_commit}. This tree: {self.this_commit}."


def against(path: Path, this: Path = ROOT) -> Against:
    """`path` is a checkout in which `make tree` has run.

    NotThere: it is none, it is this one, or nothing is compiled in one of them.
    """
    path, this = path.resolve(), this.resolve()
    if not (path / "trimq").is_dir():
        raise NotThere(f"{path} is no checkout of TriMQ: it has no folder trimq")
    if path == this:
        raise NotThere(f"{path} is this tree: --against takes another checkout (git worktree add)")
    for tree in (path, this):
        if not compiled_in(tree / "build" / "compiled"):
            raise NotThere(f"nothing is compiled in {tree}: run 'make tree' there")
        if compiled_for_tests(tree / "build" / "compiled"):
            raise NotThere(f"{tree} was compiled for tests, slowly: run 'make tree' there")
    return Against(path / "build" / "compiled", _commit(this), _commit(path))


def _commit(tree: Path) -> str:
    words = ["git", "-C", str(tree), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return _UNKNOWN
    return done.stdout.strip() or _UNKNOWN


def kinds(two_trees: bool, real: bool, pure: bool, earlier: bool = False) -> tuple[str, ...]:
    """What takes part in a run that is no smoke run.

    Of two trees the compiled builds are compared; the real broker is there when it is asked for.
    `earlier`: two versions of the real broker, and ours.
    """
    if earlier:
        return (REAL, BEFORE, OURS)
    if two_trees:
        return (REAL, OTHER, OURS) if real else (OTHER, OURS)
    return KINDS if pure else KINDS[:2]

"""A part of `make test`, and a group of parts that run side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.run import memory

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Part:
    """A session of pytest with `words`, in `folder`; by the first word, also a target of make or a Python program."""

    name: str
    words: Sequence[str]
    folder: Path = ROOT
    # Whether it computes more than it waits.
    busy: bool = False
    # Whether what fails in it is played again, alone.
    again: bool = False
    # Whether its folders are in memory, where that is large.
    in_memory: bool = False
    # Whether its processes share their byte code; not where they see to it themselves.
    compiles_once: bool = True
    # When it is played where a change may touch everything (`table.TURNS`); None: each time.
    turn: int | None = None
    # Without one of these it cannot be played (tests/run/tools.py).
    tools: Sequence[str] = ()
    # What else stands in the way of playing it; empty: nothing.
    why_not: str = ""
    # What it took when that was measured; 0: it was not.
    seconds: int = 0
    # Before all others on PYTHONPATH.
    path: str = ""

    @property
    def files(self) -> list[str]:
        """What it tests: folders and files, as they are named."""
        return [word for word in self.words if not word.startswith("-") and "/" in word]

    @property
    def options(self) -> list[str]:
        """What decides how its tests are played, whichever they are."""
        return [word for word in self.words if word in ("--live", "--recorded")]

    def command(self, xml: Path) -> list[str]:
        option = f"--junitxml={xml}"
        if self.words[0] in ("make", sys.executable):
            return list(self.words)
        place = memory.folder(self.name) if self.in_memory else None
        options = [option] if place is None else [option, f"--basetemp={place}"]
        return [sys.executable, "-m", "pytest", *options, *self.words]


@dataclass(frozen=True)
class Group:
    """Parts, and how many of them run at a time: of the busy ones `busy`, but more of them when nothing else is left.

    A busy part keeps one core of two, and parts that mostly wait share the other one. The long ones come first.
    """

    parts: Sequence[Part]
    beside: int = 2
    busy: int = 2

    def next(self, waiting: Sequence[Part], running: Iterable[Part]) -> Part | None:
        """Which one of those that wait begins now beside those that run; None: none yet."""
        now = list(running)
        if len(now) >= self.beside:
            return None
        full = sum(part.busy for part in now) >= self.busy
        fitting = [part for part in waiting if not (full and part.busy)]
        if not fitting and len(now) < (self.beside + 1) // 2:
            fitting = list(waiting)
        return next(iter(fitting), None)

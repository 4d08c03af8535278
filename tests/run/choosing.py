"""Which live parts a change can touch, and why: the others need not be played for it.

A part is played for a file that is one of its tests, or that they import, start or name; for a file of the product
that belongs to a subject that it watches (tests/run/watched.py); and for everything of which nobody knows whom it
touches. Pages, benchmarks and unit tests touch none, unless a part reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tests.run import reads, watched
from tests.run.part import Part
from tests.run.reads import Reads

# What starts the servers and plays on them, for all.
SHARED: Final = (
    "compat_tests/scenarios/go/",
    "compat_tests/scenarios/java/",
    "compat_tests/servers/",
)
RECORDS: Final = "compat_tests/records/"
# Of stores that the real broker wrote: make test opens them, and no live part.
STORES: Final = "compat_tests/records/store/"
SUBJECTS: Final = "compat_tests/scenarios/subjects/"
# No live part runs what is in them; some read a page, or import what pages are made with, or which releases there are.
QUIET: Final = ("bench/", "docs/", "releasing/", "tests/")
# What git looks at, and nobody else.
OF_GIT: Final = (".gitattributes", ".gitignore")

UNCHANGED: Final = "nothing that it watches has changed"
UNKNOWN: Final = "git cannot say what has changed"
DUE: Final = "not played for five landings"
OTHER: Final = "it is played whatever has changed"


@dataclass(frozen=True)
class Choice:
    """Whether a part is played, and why or why not: one sentence.

    `widely`: for nothing that is its own, so that it may wait for its turn.
    """

    part: Part
    is_played: bool
    why: str
    widely: bool = False


def choose(
    parts: Sequence[Part], changed: Iterable[str] | None, due: Collection[str] = ()
) -> list[Choice]:
    """For each part, in their order.

    `changed` are paths as git says them, or None if nobody knows; `due` the names of those that have been left out for
    too long (played.due).
    """
    every = {part.name: reads.of(part) for part in parts}
    live = [name for name, one in every.items() if one.own]
    whys: dict[str, list[tuple[bool, str]]] = {
        name: [(True, UNKNOWN)] if changed is None else [] for name in live
    }
    for file in sorted(set(changed or ())):
        found = {name: why for name in live if (why := _touched(name, every, file)) is not None}
        for name, why in found.items():
            whys[name].append((len(found) == len(live) > 1, why))
    return [_choice(part, whys.get(part.name), part.name in due) for part in parts]


def _choice(part: Part, whys: Sequence[tuple[bool, str]] | None, is_due: bool) -> Choice:
    """`whys`: of each file that touches it, whether it touches all parts, and why; None: it is not a live part."""
    if whys is None:
        return Choice(part, True, OTHER, part.turn is not None)
    own = [why for widely, why in whys if not widely]
    if own or not whys:
        why = own[0] if own else DUE if is_due else UNCHANGED
        return Choice(part, bool(own) or is_due, why)
    return Choice(part, True, DUE if is_due else whys[0][1], not is_due)


def _touched(name: str, every: Mapping[str, Reads], file: str) -> str | None:
    """Why this file has the part played; None: it does not."""
    part = every[name]
    if file.startswith("compat_tests/"):
        return _touched_by_tests(part, every, file)
    if file in OF_GIT:
        return None
    if file.startswith(QUIET) or file.endswith(".md"):
        return f"{file}: read" if _is_read(part, file) else None
    watchers = watched.watchers_of(file)
    if watchers is None:
        return f"changes everywhere: {file}"
    if name in watchers:
        return f"{file}: watched"
    return f"{file}: imported" if file in part.files else None


def _is_read(part: Reads, file: str) -> bool:
    """Whether a test imports it, or names a page or what was recorded. What benchmarks are run with is nobody's."""
    path = PurePosixPath(file)
    is_named = path.suffix != ".py" and path.parts[0] != "bench" and path.name in part.texts
    return is_named or file in part.files


def _touched_by_tests(part: Reads, every: Mapping[str, Reads], file: str) -> str | None:
    if file in part.own:
        return f"its own test {file}"
    if file.startswith(SHARED):
        return f"all parts use {file}"
    if file in part.files:
        return f"{file}: imported"
    if file.startswith(STORES):
        return None
    if file.startswith(RECORDS):
        return f"{file}: its record" if _is_record(part, every, file) else None
    if file.startswith(SUBJECTS):
        subject = file.removeprefix(SUBJECTS).partition("/")[0]
        return f"{file}: its driver" if subject in part.subjects else None
    path = PurePosixPath(file)
    if path.suffix == ".md" or path.match("test_*.py"):
        return None
    if path.name in part.texts:
        return f"{file}: read"
    if any(file in one.files or path.name in one.texts for one in every.values()):
        return None
    return f"{file}: beside its tests" if _has_tests_in(part, reads.folder_of(file)) else None


def _is_record(part: Reads, every: Mapping[str, Reads], file: str) -> bool:
    """Of the batch that a record of scenarios is named after (DRIVER-VERSION-BATCH), or else of all in that folder."""
    path = PurePosixPath(file)
    folder = f"compat_tests/{path.parts[2]}"
    batch = path.stem.split("-", 2)[-1]
    playing = [one for one in every.values() if batch in _own_texts(one, folder)]
    return part in playing if playing else _has_tests_in(part, folder)


def _own_texts(part: Reads, folder: str) -> set[str]:
    own = (file for file in part.own if file.startswith(f"{folder}/"))
    return {text for file in own for text in reads.source(file).texts}


def _has_tests_in(part: Reads, folder: str) -> bool:
    return any(file.startswith(f"{folder}/") for file in part.own)

"""What two versions of the real server show otherwise, by the records of both.

    python -m compat_tests.comparing.changed

prints a line for each recorded case on which they differ, with the first place where they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Final

from compat_tests.comparing.record_files import RecordFile
from compat_tests.comparing.records import FOLDER, compared
from compat_tests.servers.versions import VERSIONS

# What mqadmin asks and is answered depends on times of the run, and is compared by its texts elsewhere.
KINDS: Final = ("wire", "scenarios")
# What is long in several answers of mqadmin's cases, once: no cases.
BODIES: Final = "mqadmin/bodies"
# What is shown of two texts, from the place where they begin to differ.
_SHOWN: Final = 60
_BOTH: Final = re.compile(r"(?P<where>.*?): real (?P<old>.*), ours (?P<new>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Changed:
    """`record`: the file's name below records/, without its suffix. `how`: the first place where they differ."""

    record: str
    case: str
    how: str


def files(kind: str, folder: Path = FOLDER) -> Iterator[tuple[str, RecordFile]]:
    """(name, record) of all records of one kind."""
    for file in sorted((folder / kind).glob("*.json")):
        record = RecordFile.read(file)
        assert record is not None
        yield f"{kind}/{file.stem}", record


def changed(old: str, new: str, folder: Path = FOLDER) -> list[Changed]:
    """The cases that both versions have shown, and not alike."""
    found = []
    for kind in KINDS:
        for name, record in files(kind, folder):
            before, after = record.seen.get(old, {}), record.seen.get(new, {})
            for case in sorted(before.keys() & after.keys()):
                if lines := compared(before[case], after[case]):
                    found.append(Changed(name, case, _words(lines[0])))
    return found


def counts(version: str, folder: Path = FOLDER) -> dict[str, int]:
    """By kind, how much is recorded of that version: cases, command lines with their failures, stores."""
    found = {}
    for kind in (*KINDS, "mqadmin"):
        records = [record for name, record in files(kind, folder) if name != BODIES]
        found[kind] = sum(len(record.seen.get(version, {})) for record in records)
    found["store"] = len(list((folder / "store" / version).glob("*.zst")))
    return found


def _words(line: str) -> str:
    """One line of a difference: what stands there, from where it is not the same any more."""
    found = _BOTH.fullmatch(line)
    if found is None:
        return line[: 2 * _SHOWN]
    old, new = found["old"], found["new"]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    return f"{_excerpt(old, same)} became {_excerpt(new, same)}"


def _excerpt(text: str, begin: int) -> str:
    more = "..." if len(text) > begin + _SHOWN else ""
    return f"{'...' if begin else ''}{text[begin : begin + _SHOWN]}{more}"


def main() -> None:
    for old, new in pairwise(VERSIONS):
        for one in changed(old, new):
            print(f"{old} to {new}: {one.record}: {one.case}: {one.how}")


if __name__ == "__main__":
    main()

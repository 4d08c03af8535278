"""What was seen on the real server, kept: a version of it does not change, and most of a run is waiting for it.

``records/SUBJECT.json`` holds the normalised outcomes of a subject, by case and by version of the server, and the
fingerprint of everything else that they depend on: the server's settings, the sources of who asks, and how outcomes are
normalised. A record with another fingerprint does not count. Every day another tenth is played on the real server all
the same, and a record that differs from a live run fails.

``make compat-live`` plays everything live, ``make compat-record`` writes the records.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat_tests.comparing.normalise import differences, normalise
from compat_tests.comparing.record_files import RecordFile
from compat_tests.comparing.selection import is_of_the_day
from compat_tests.scenarios.driver import Outcome
from compat_tests.servers import artifacts
from compat_tests.servers.server import COMMON_SETTINGS, Server
from compat_tests.servers.versions import REFERENCE

FOLDER: Final = artifacts.TESTS / "records"
SHOWN: Final = 20
RENEW: Final = (
    "compat_tests/records/{name}.json is not what the real server shows now: if that is right, "
    "'make compat-record' renews it"
)
NO_RECORD: Final = (
    f"compat_tests/records/{{name}}.json has no outcome of this from {REFERENCE}, or has it of other sources: "
    "'make compat-record' plays it on the real server, which needs JDK 17 and Maven"
)
# The Java client notes how far the queue reached when it pulled: one message further, or not yet.
_CHANCE: Final = re.compile(r"\.properties\.MAX_OFFSET: real '\d+', ours '\d+'$")


@dataclass(frozen=True)
class Seen:
    """An outcome without what belongs to its run; ``error`` is a scenario that could not end."""

    outcome: Any
    error: str | None = None

    @classmethod
    def of(cls, outcome: Outcome, server: Server) -> Seen:
        return cls(normalise(outcome, server), outcome.error)


@dataclass(frozen=True)
class Subject:
    """Cases that are recorded together."""

    # Of the file, without its suffix.
    name: str
    # Whatever their outcomes depend on: texts, and files of sources.
    about: tuple[str, ...]
    sources: tuple[Path, ...]

    def fingerprint(self) -> str:
        """Changes when anything changes that the real server's outcomes depend on."""
        digest = hashlib.sha256()
        digest.update("\0".join(self.about).encode())
        for file in self.sources:
            digest.update(b"\0" + file.name.encode() + b"\0" + _meaning(file))
        return digest.hexdigest()


def settings_text(settings: Mapping[str, str]) -> str:
    """The settings that the real server is started with, for a subject's `about`."""
    return json.dumps({**COMMON_SETTINGS, **settings}, sort_keys=True)


def with_imports(files: Iterable[Path]) -> tuple[Path, ...]:
    """The files, and those of compat_tests that they import, and so on; not what starts servers."""
    found: dict[Path, None] = {}
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = None
            waiting += _imported(file)
    return tuple(sorted(found))


def _imported(file: Path) -> list[Path]:
    names = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    paths = [artifacts.ROOT / f"{name.replace('.', '/')}.py" for name in names]
    own = [path for path in paths if artifacts.TESTS in path.parents and path.exists()]
    return [path for path in own if path.parent.name != "servers"]


def _meaning(file: Path) -> bytes:
    """The file's text; a Python file's without its imports and empty lines: other modules move."""
    data = file.read_bytes()
    if file.suffix != ".py":
        return data
    lines = data.splitlines(keepends=True)
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[number - 1] = b""
    return b"".join(line for line in lines if line.strip())


class Records:
    """The records of one session of tests."""

    def __init__(
        self,
        *,
        live: bool,
        writing: bool,
        only: bool = False,
        folder: Path = FOLDER,
        version: str = REFERENCE,
    ) -> None:
        """`live`: nothing is taken from a record. `writing`: what is seen live becomes the record. `only`: nothing is
        played live, and what is not recorded fails. `version`: of the real server.
        """
        if only and (live or writing):
            raise ValueError("--recorded plays nothing live, --live and --record do: one of them")
        self.only = only
        self._live = live or writing
        self.writing = writing
        self._folder = folder
        self._version = version
        # Kept to be written at the end.
        self._fresh: dict[Subject, dict[str, Seen]] = {}
        # A fingerprint reads many files, and every case asks.
        self._found: dict[Subject, dict[str, Seen]] = {}
        self._changed: dict[Subject, dict[str, Seen]] = {}

    @property
    def lives(self) -> bool:
        """Whether everything is played live."""
        return self._live

    def find(self, subject: Subject) -> dict[str, Seen]:
        """What was seen of each case; none without a record that counts, or when it is written anew."""
        if self.writing:
            return {}
        if subject not in self._found:
            self._found[subject] = self._read(subject.name, subject.fingerprint())
        return self._found[subject]

    def newer(self, subject: Subject, case: str) -> Seen | None:
        """What the newest version of the real server has shown of a case, where that is something else than this
        version shows: TriMQ does as the newest does, and an older one says only that nothing else has changed.
        """
        if subject not in self._changed:
            file = self._folder / f"{subject.name}.json"
            self._changed[subject] = self._changes(file, subject.fingerprint())
        return self._changed[subject].get(case)

    def is_due(self, name: str, today: datetime.date | None = None) -> bool:
        """Whether what is called so is played live although there is a record."""
        return self._live or (not self.only and is_of_the_day(name, today))

    def outcome(self, subject: Subject, case: str, play: Callable[[], Seen]) -> Seen:
        """What the real server shows of a case: by the record, or by `play` on it, which then has to agree."""
        recorded = self.find(subject).get(case)
        if recorded is not None and not self.is_due(f"{subject.name}: {case}"):
            return recorded
        if self.only:
            raise AssertionError(NO_RECORD.format(name=subject.name))
        live = play()
        assert live.error is None, f"on the real server: {live.error}"
        if recorded is not None:
            assert_still(subject, recorded, live)
        self.keep(subject, {case: live})
        return live

    def keep(self, subject: Subject, seen: Mapping[str, Seen]) -> None:
        """Outcomes of the real server that a check has found good."""
        if self.writing:
            self._fresh.setdefault(subject, {}).update(seen)

    def write(self) -> None:
        """The record holds what was kept; what is not played this time stays, if it still counts.

        So does what other versions have shown.
        """
        for subject, seen in self._fresh.items():
            file = self._folder / f"{subject.name}.json"
            mark = subject.fingerprint()
            record = self._counting(file, mark) or RecordFile(mark)
            own = record.seen.setdefault(self._version, {})
            own.update({case: one.outcome for case, one in seen.items()})
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(record.text(lambda one, other: not compared(one, other)))

    def _read(self, name: str, mark: str) -> dict[str, Seen]:
        record = self._counting(self._folder / f"{name}.json", mark)
        outcomes = record.seen.get(self._version, {}) if record else {}
        return {case: Seen(outcome) for case, outcome in outcomes.items()}

    def _changes(self, file: Path, mark: str) -> dict[str, Seen]:
        record = self._counting(file, mark)
        if record is None or record.newest == self._version:
            return {}
        own, newest = record.seen.get(self._version, {}), record.seen[record.newest]
        return {
            case: Seen(outcome)
            for case, outcome in newest.items()
            if case in own and compared(outcome, own[case])
        }

    @staticmethod
    def _counting(file: Path, mark: str) -> RecordFile | None:
        record = RecordFile.read(file)
        return record if record is not None and record.fingerprint == mark else None


def compared(real: object, other: object) -> list[str]:
    """Where two outcomes differ, but for what is chance on any server."""
    return [line for line in differences(real, other) if not _CHANCE.search(line)]


def assert_still(subject: Subject, recorded: Seen, live: Seen) -> None:
    """AssertionError, with what renews the record, when the real server shows something else now."""
    assert live.error is None, f"on the real server: {live.error}"
    found = compared(recorded.outcome, live.outcome)
    if found:
        lines = [
            line.replace("ours", "now").replace("real", "recorded", 1) for line in found[:SHOWN]
        ]
        raise AssertionError("\n".join([RENEW.format(name=subject.name), *lines]))

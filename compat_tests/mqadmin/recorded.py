"""What is recorded of a case: what our tool asked the real server and was told, and what the official tool printed."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from compat_tests.comparing.record_files import RecordFile
from compat_tests.comparing.records import NO_RECORD, Records, Seen, Subject, settings_text
from compat_tests.mqadmin.case import AdminCase
from compat_tests.mqadmin.cases import groups
from compat_tests.mqadmin.cases.messages import MESSAGE_CASES
from compat_tests.mqadmin.cases.topics import TOPIC_CASES
from compat_tests.mqadmin.exchanges import Exchange
from compat_tests.mqadmin.filling import NAMES, SETTINGS
from compat_tests.mqadmin.places import RECORDED
from compat_tests.mqadmin.replay import play
from compat_tests.mqadmin.texts import check_codes, shown, words_of, write_files
from compat_tests.mqadmin.tools import Printed
from compat_tests.servers.artifacts import TESTS

_HERE: Final = Path(__file__).parent
_DRIVER: Final = TESTS / "scenarios/java/shim/rocketmq-5/driver/AdminTool.java"
# Beside the addresses, and the names that are always the same.
_VALUES: Final = ("client", "offset_id", "unique_id", "traced")
# Whose commands stay live, and why.
LIVE: Final[Mapping[str, str]] = {
    "consumerStatus-stacks": "what the threads of a JVM do is 200 kB, of which nothing is compared",
}
# Answers that are longer are kept once, however often they were given.
_LONG: Final = 150
_BODIES: Final = Subject("mqadmin/bodies", (), ())
_FAILURES: Final = "mqadmin/failures"


@dataclass(frozen=True)
class Recorded:
    """The names that the lines of a case use, the exchanges of each line, the official tool's text."""

    values: Mapping[str, str]
    heard: Sequence[Sequence[Exchange]]
    text: str

    def keep(self, records: Records, subject: Subject, name: str, mark: str) -> None:
        heard = [[one.value() for one in line] for line in self.heard]
        for exchange in (one for line in heard for one in line):
            body = exchange["answer"].get("body", "")
            if isinstance(body, str) and len(body) > _LONG:
                digest = hashlib.sha256(body.encode()).hexdigest()[:12]
                records.keep(_BODIES, {digest: Seen(body)})
                exchange["answer"]["body"] = {"same": digest}
        text = self.text.splitlines(keepends=True)
        outcome = {"of": mark, "values": dict(self.values), "heard": heard, "text": text}
        records.keep(subject, {name: Seen(outcome)})

    @classmethod
    def find(cls, records: Records, subject: Subject, name: str, mark: str) -> Recorded:
        """AssertionError without a record of what `mark` says."""
        seen = records.find(subject).get(name)
        assert seen is not None, NO_RECORD.format(name=subject.name)
        assert seen.outcome["of"] == mark, NO_RECORD.format(name=subject.name)
        value, bodies = seen.outcome, records.find(_BODIES)
        for exchange in (one for line in value["heard"] for one in line):
            body = exchange["answer"].get("body")
            if isinstance(body, dict) and "same" in body:
                exchange["answer"]["body"] = bodies[body["same"]].outcome
        heard = [[Exchange.of(one) for one in line] for line in value["heard"]]
        return cls(value["values"], heard, "".join(value["text"]))


def used_values(lines: Iterable[str], values: Mapping[str, str]) -> dict[str, str]:
    """Those of a server's names that the lines say."""
    text = " ".join(lines)
    return {name: values[name] for name in _VALUES if f"{{{name}}}" in text}


@cache
def _subject(name: str) -> Subject:
    sources = (_HERE / "filling.py", _HERE / "masks.py", _DRIVER)
    return Subject(name, (settings_text(SETTINGS.settings),), sources)


def _subject_of(case: AdminCase) -> Subject:
    """The cases of a module are recorded together; each says itself of which lines it is."""
    modules = {"groups": groups.CASES, "messages": MESSAGE_CASES, "topics": TOPIC_CASES}
    found = [name for name, cases in modules.items() if case in cases]
    return _subject(f"mqadmin/{found[0] if found else 'catalogue'}")


def keep(records: Records, case: AdminCase, found: Recorded) -> None:
    found.keep(records, _subject_of(case), str(case), _mark(case))


def keep_failure(records: Records, line: str, found: Recorded) -> None:
    found.keep(records, _subject(_FAILURES), line, "")


def find(records: Records, case: AdminCase) -> Recorded:
    return Recorded.find(records, _subject_of(case), str(case), _mark(case))


def find_failure(records: Records, line: str) -> Recorded:
    return Recorded.find(records, _subject(_FAILURES), line, "")


def check(case: AdminCase, recorded: Recorded, folder: Path) -> None:
    """AssertionError unless our tool asks the same and prints what the official one printed."""
    printed = _play(case, recorded, folder)
    text = shown(case, printed, RECORDED, folder / "out", folder / "tmp")
    assert text == recorded.text, _difference(recorded.text, text)
    if not case.interrupted_after:
        check_codes(case, printed, "real", ours=True)


def _difference(then: str, now: str) -> str:
    """Line by line, with blanks and line ends to be seen."""
    before, after = ([repr(one) for one in text.splitlines(keepends=True)] for text in (then, now))
    return "\n".join(difflib.unified_diff(before, after, "recorded", "now", n=1, lineterm=""))


def play_failure(line: str, recorded: Recorded, folder: Path) -> Printed:
    """What our tool says; AssertionError when it asks something else."""
    (printed,) = _play(AdminCase("", (line,)), recorded, folder)
    return printed


def _play(case: AdminCase, recorded: Recorded, folder: Path) -> list[Printed]:
    values = {**NAMES, "b": RECORDED.broker_addr, **recorded.values, **write_files(folder)}
    return play(
        case.lines,
        recorded.heard,
        lambda line: words_of(line, values, case, folder / "out"),
        folder,
        endless=bool(case.interrupted_after),
    )


def forget_unused(folder: Path) -> None:
    """Of the answers that are kept once, those that are in no record any more."""
    file = folder / f"{_BODIES.name}.json"
    record = RecordFile.read(file)
    if record is not None:
        others = [one.read_text() for one in file.parent.glob("*.json") if one != file]
        for bodies in record.seen.values():
            for digest in [one for one in bodies if not any(one in text for text in others)]:
                del bodies[digest]
        file.write_text(record.text(lambda one, other: one == other))


def _mark(case: AdminCase) -> str:
    """Changes with the case, but not with the reasons that it gives."""
    meaning: Any = (case.lines, case.masks, case.interrupted_after)
    return hashlib.sha256(repr(meaning).encode()).hexdigest()[:12]

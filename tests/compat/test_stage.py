"""When a scenario that differs is played again, and what counts then."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from compat_tests.comparing.records import Records, Seen, Subject
from compat_tests.scenarios import stage as stages
from compat_tests.scenarios.batches import MAIN, Case
from compat_tests.scenarios.driver import JAVA_5
from compat_tests.scenarios.stage import COMPILED, REAL, Stage

CASE = Case(JAVA_5, MAIN, "send")
GOOD, OTHER = Seen({"status": "SEND_OK"}), Seen({"status": "FLUSH_DISK_TIMEOUT"})
LATE = Seen(None, "not within 40 s")


class Group:
    """No server: what sides would show stands in the test."""

    tls = None

    def side(self, name: str) -> str:
        return name

    def close(self) -> None:
        pass


class Recorded(Records):
    def __init__(self, seen: Mapping[str, Seen], *, due: bool) -> None:
        super().__init__(live=False, writing=False)
        self._is_due = due
        self._seen = dict(seen)
        self.kept: dict[str, Seen] = {}

    def find(self, subject: Subject) -> dict[str, Seen]:
        return self._seen

    def keep(self, subject: Subject, seen: Mapping[str, Seen]) -> None:
        self.kept |= seen

    def is_due(self, name: str, today: object = None) -> bool:
        return self._is_due


def staged(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    plays: Mapping[str, list[Seen]],
    record: Mapping[str, Seen] | None = None,
) -> Stage:
    """A stage on which each side shows one of `plays` after the other."""

    def live(self: Stage, case: Case, group: object, side: str, *_: object) -> dict[str, Seen]:
        return {case.scenario: plays[side].pop(0)}

    monkeypatch.setattr(Stage, "_live", live)
    monkeypatch.setattr(Stage, "group", lambda self, key: Group())
    records = Recorded(record or {}, due=True)
    return Stage(None, folder, [CASE], {COMPILED: folder}, records)  # type: ignore[arg-type]


def test_the_same_is_played_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plays = {REAL: [GOOD], COMPILED: [GOOD]}
    stage = staged(monkeypatch, tmp_path, plays)
    stage.check(CASE)
    assert plays == {REAL: [], COMPILED: []}
    assert stage.again == []


def test_a_difference_in_the_crowd_is_played_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = staged(monkeypatch, tmp_path, {REAL: [GOOD, GOOD], COMPILED: [OTHER, GOOD]})
    stage.check(CASE)
    assert len(stage.again) == 1


def test_what_was_seen_alone_becomes_the_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = staged(monkeypatch, tmp_path, {REAL: [LATE, GOOD], COMPILED: [GOOD, GOOD]})
    stage.check(CASE)
    assert isinstance(stage.records, Recorded)
    assert stage.records.kept == {CASE.scenario: GOOD}


def test_a_difference_alone_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plays = {REAL: [GOOD] * 3, COMPILED: [OTHER, OTHER, GOOD]}
    stage = staged(monkeypatch, tmp_path, plays)
    with pytest.raises(AssertionError, match="1 difference"):
        stage.check(CASE)
    assert plays[COMPILED] == [GOOD], "it was not played a third time"


@pytest.mark.parametrize(
    "plays",
    [
        {REAL: [GOOD, LATE, GOOD], COMPILED: [LATE, GOOD, GOOD]},
        {REAL: [GOOD, GOOD, GOOD], COMPILED: [OTHER, LATE, GOOD]},
    ],
)
def test_one_that_could_not_end_alone_is_played_a_last_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plays: dict[str, list[Seen]]
) -> None:
    stage = staged(monkeypatch, tmp_path, plays)
    stage.check(CASE)
    assert len(stage.again) == stages.ALONE


def test_one_that_never_ends_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stage = staged(monkeypatch, tmp_path, {REAL: [GOOD] * 3, COMPILED: [LATE] * 3})
    with pytest.raises(AssertionError, match="failed on TriMQ"):
        stage.check(CASE)


def test_the_real_server_has_to_be_as_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = {CASE.scenario: GOOD}
    stage = staged(monkeypatch, tmp_path, {REAL: [OTHER, GOOD], COMPILED: [GOOD]}, record)
    stage.check(CASE)
    assert len(stage.again) == 1
    stage = staged(monkeypatch, tmp_path, {REAL: [OTHER, OTHER], COMPILED: [GOOD]}, record)
    with pytest.raises(AssertionError, match="recorded"):
        stage.check(CASE)

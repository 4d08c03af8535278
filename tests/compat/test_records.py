"""What counts as a record of the real server, and when it is played live all the same."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from compat_tests.comparing.records import (
    Records,
    Seen,
    Subject,
    assert_still,
    settings_text,
    with_imports,
)
from compat_tests.comparing.selection import PARTS, is_for_the_plain_build
from compat_tests.scenarios.batches import MAIN, TLS
from compat_tests.scenarios.driver import JAVA_4, JAVA_5
from compat_tests.scenarios.recorded import subject
from compat_tests.servers.versions import VERSIONS

SETTINGS = {"autoCreateTopicEnable": "false"}
SUBJECT = subject(JAVA_5, MAIN, SETTINGS)
SEEN = {"send": Seen({"status": "SEND_OK"}), "pull": Seen([1, None])}


def reading(folder: Path) -> Records:
    return Records(live=False, writing=False, folder=folder)


def write(folder: Path, seen: dict[str, Seen] = SEEN, what: Subject = SUBJECT) -> None:
    records = Records(live=False, writing=True, folder=folder)
    for case, outcome in seen.items():
        records.keep(what, {case: outcome})
    records.write()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_was_seen_is_found_again(tmp_path: Path) -> None:
    write(tmp_path)
    assert reading(tmp_path).find(SUBJECT) == SEEN


def test_another_driver_batch_or_setting_has_no_record(tmp_path: Path) -> None:
    write(tmp_path)
    assert reading(tmp_path).find(subject(JAVA_4, MAIN, SETTINGS)) == {}
    assert reading(tmp_path).find(subject(JAVA_5, TLS, SETTINGS)) == {}
    assert reading(tmp_path).find(subject(JAVA_5, MAIN, {})) == {}


def test_a_record_of_other_sources_does_not_count(tmp_path: Path) -> None:
    write(tmp_path)
    (file,) = files(tmp_path)
    file.write_text(file.read_text().replace('"fingerprint": "', '"fingerprint": "0'))
    assert reading(tmp_path).find(SUBJECT) == {}


def test_what_was_not_played_this_time_stays_in_the_record(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, {"send": Seen("other")})
    assert reading(tmp_path).find(SUBJECT) == {**SEEN, "send": Seen("other")}


def test_a_record_of_other_sources_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path)
    changed = replace(SUBJECT, about=("changed",))
    write(tmp_path, {"send": Seen("other")}, changed)
    assert reading(tmp_path).find(changed) == {"send": Seen("other")}


def test_a_record_written_again_is_the_same_file(tmp_path: Path) -> None:
    write(tmp_path)
    (file,) = files(tmp_path)
    before = file.read_bytes()
    write(tmp_path, dict(reversed(SEEN.items())))
    assert file.read_bytes() == before


def of_version(folder: Path, version: str, seen: dict[str, Seen] | None = None) -> dict[str, Seen]:
    """What is found of that version, when `seen` was recorded on it."""
    records = Records(live=False, writing=seen is not None, folder=folder, version=version)
    if seen is not None:
        records.keep(SUBJECT, seen)
        records.write()
    return Records(live=False, writing=False, folder=folder, version=version).find(SUBJECT)


def test_each_version_of_the_real_server_has_its_own_outcomes(tmp_path: Path) -> None:
    old, new = VERSIONS[0], VERSIONS[-1]
    newer = {"send": SEEN["send"], "pull": Seen([2]), "added": Seen(None)}
    older = {**SEEN, "gone": Seen(7)}
    assert of_version(tmp_path, old, older) == older
    assert of_version(tmp_path, new) == {}
    assert of_version(tmp_path, new, newer) == newer
    assert of_version(tmp_path, old) == older
    # The older one again: what is equal stays where it is.
    (file,) = files(tmp_path)
    before = file.read_bytes()
    assert of_version(tmp_path, old, older) == older
    assert file.read_bytes() == before


def test_what_two_versions_show_alike_is_stored_once(tmp_path: Path) -> None:
    for version in VERSIONS:
        of_version(tmp_path, version, SEEN)
    (file,) = files(tmp_path)
    text = file.read_text()
    assert [text.count(f'"{case}"') for case in SEEN] == [1, 1]
    of_version(tmp_path, VERSIONS[0], {"send": Seen("other")})
    text = file.read_text()
    assert [text.count(f'"{case}"') for case in SEEN] == [2, 1]


def test_where_versions_differ_the_newest_says_what_is_wanted(tmp_path: Path) -> None:
    old, new = VERSIONS[0], VERSIONS[-1]
    of_version(tmp_path, old, {**SEEN, "gone": Seen(7)})
    of_version(tmp_path, new, {"send": SEEN["send"], "pull": Seen([2]), "added": Seen(None)})
    wanted = {}
    for version in (old, new):
        records = Records(live=False, writing=False, folder=tmp_path, version=version)
        cases = ("send", "pull", "gone", "added", "nothing of that name")
        found = {case: records.newer(SUBJECT, case) for case in cases}
        wanted[version] = {case: seen for case, seen in found.items() if seen is not None}
    assert wanted == {old: {"pull": Seen([2])}, new: {}}
    # Of a record of other sources nothing is wanted.
    records = Records(live=False, writing=False, folder=tmp_path, version=old)
    assert records.newer(replace(SUBJECT, about=("changed",)), "pull") is None


def test_only_a_writing_session_writes(tmp_path: Path) -> None:
    records = reading(tmp_path)
    records.keep(SUBJECT, SEEN)
    records.write()
    assert files(tmp_path) == []


def test_everything_is_played_live_once_in_so_many_days(tmp_path: Path) -> None:
    records = reading(tmp_path)
    first = datetime.date(2026, 1, 1).toordinal()
    days = [datetime.date.fromordinal(first + day) for day in range(PARTS)]
    for name in ("scenarios/java-5.5.0-main", "scenarios/go-2.1.2-main", "locks: of two"):
        assert sum(records.is_due(name, day) for day in days) == 1
    assert Records(live=True, writing=False, folder=tmp_path).is_due("any", days[0])


def test_the_plain_build_plays_everything_in_so_many_days_and_some_of_it_always() -> None:
    first = datetime.date(2026, 1, 1).toordinal()
    days = [datetime.date.fromordinal(first + day) for day in range(PARTS)]
    names = [f"case {number}" for number in range(200)]
    counts = [sum(is_for_the_plain_build(name, day) for day in days) for name in names]
    assert set(counts) == {1, PARTS}
    assert 10 < counts.count(PARTS) < 40


def test_a_case_is_played_where_no_record_counts_or_it_is_due(tmp_path: Path) -> None:
    write(tmp_path)
    played: list[str] = []

    def play(shown: object) -> Seen:
        played.append("live")
        return Seen(shown)

    live = Records(live=True, writing=False, folder=tmp_path)
    assert live.outcome(SUBJECT, "pull", lambda: play([1, None])) == SEEN["pull"]
    with pytest.raises(AssertionError, match="make compat-record"):
        live.outcome(SUBJECT, "pull", lambda: play([2, None]))
    assert reading(tmp_path).outcome(SUBJECT, "new", lambda: play(3)) == Seen(3)
    assert len(played) == 3
    # One of two names is not of this day's tenth.
    kept = reading(tmp_path)
    due = [name for name in SEEN if kept.is_due(f"{SUBJECT.name}: {name}")]
    for name in SEEN.keys() - set(due):
        assert kept.outcome(SUBJECT, name, lambda: play(4)) == SEEN[name]
    assert len(due) < len(SEEN)
    assert len(played) == 3


def test_a_record_that_differs_says_what_renews_it() -> None:
    assert_still(SUBJECT, SEEN["send"], SEEN["send"])
    with pytest.raises(AssertionError, match="make compat-record") as told:
        assert_still(SUBJECT, SEEN["send"], Seen({"status": "FLUSH_DISK_TIMEOUT"}))
    assert "recorded 'SEND_OK', now 'FLUSH_DISK_TIMEOUT'" in str(told.value)


def a_source(folder: Path, text: str) -> Subject:
    file = folder / "source.py"
    file.write_text(text)
    return Subject("one", (settings_text({}),), (file,))


def test_imports_and_empty_lines_make_no_other_fingerprint(tmp_path: Path) -> None:
    plain = a_source(tmp_path, "import json\nA = 1\n").fingerprint()
    moved = a_source(tmp_path, "from a import (\n    b,\n)\n\n\nA = 1\n").fingerprint()
    changed = a_source(tmp_path, "import json\nA = 2\n").fingerprint()
    assert plain == moved != changed


def test_a_source_brings_what_it_imports_but_what_starts_servers() -> None:
    names = {path.name for path in with_imports(subject(JAVA_5, MAIN, {}).sources[-1:])}
    assert {"normalise.py", "driver.py"} <= names
    assert not names & {"artifacts.py", "processes.py", "server.py"}


def test_how_far_a_queue_reached_when_it_was_pulled_is_chance() -> None:
    def seen(end: str, place: str = "0") -> Seen:
        return Seen({"messages": [{"properties": {"MAX_OFFSET": end}, "offset": place}]})

    assert_still(SUBJECT, seen("1"), seen("2"))
    with pytest.raises(AssertionError, match="offset"):
        assert_still(SUBJECT, seen("1"), seen("2", "1"))
    missing = Seen({"messages": [{"properties": {}, "offset": "0"}]})
    with pytest.raises(AssertionError, match="MAX_OFFSET"):
        assert_still(SUBJECT, seen("1"), missing)


def test_on_a_machine_without_the_real_server_nothing_is_played_live(tmp_path: Path) -> None:
    """On no day of the ten; and what is not recorded, or of other sources, fails instead of being passed over."""
    write(tmp_path)
    only = Records(live=False, writing=False, only=True, folder=tmp_path)
    first = datetime.date(2026, 1, 1).toordinal()
    for day in range(PARTS):
        assert not only.is_due("locks: of two", datetime.date.fromordinal(first + day))

    def play() -> Seen:
        raise NotImplementedError

    assert only.outcome(SUBJECT, "pull", play) == SEEN["pull"]
    with pytest.raises(AssertionError, match="make compat-record"):
        only.outcome(SUBJECT, "new", play)
    with pytest.raises(ValueError, match="--recorded plays nothing live"):
        Records(live=True, writing=False, only=True, folder=tmp_path)

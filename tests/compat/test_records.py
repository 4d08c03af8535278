"""What counts as a record of the real server, and when it is played live all the same."""

import datetime
from pathlib import Path

from compat_tests.driver import JAVA_4, JAVA_5
from compat_tests.records import PARTS, Records, Seen
from compat_tests.scenarios import MAIN, TLS

SETTINGS = {"autoCreateTopicEnable": "false"}
SEEN = {"send": Seen({"status": "SEND_OK"}), "pull": Seen([1, None])}


def reading(folder: Path) -> Records:
    return Records(live=False, writing=False, folder=folder)


def write(folder: Path) -> None:
    records = Records(live=False, writing=True, folder=folder)
    for scenario, seen in SEEN.items():
        records.keep(JAVA_5, MAIN, SETTINGS, {scenario: seen})
    records.write()


def test_what_was_seen_is_found_again(tmp_path: Path) -> None:
    write(tmp_path)
    assert reading(tmp_path).find(JAVA_5, MAIN, SETTINGS) == SEEN


def test_another_driver_batch_or_setting_has_no_record(tmp_path: Path) -> None:
    write(tmp_path)
    assert reading(tmp_path).find(JAVA_4, MAIN, SETTINGS) == {}
    assert reading(tmp_path).find(JAVA_5, TLS, SETTINGS) == {}
    assert reading(tmp_path).find(JAVA_5, MAIN, {}) == {}


def test_a_record_of_other_sources_does_not_count(tmp_path: Path) -> None:
    write(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text().replace('"fingerprint": "', '"fingerprint": "0'))
    assert reading(tmp_path).find(JAVA_5, MAIN, SETTINGS) == {}


def test_only_a_writing_session_writes(tmp_path: Path) -> None:
    records = reading(tmp_path)
    records.keep(JAVA_5, MAIN, SETTINGS, SEEN)
    records.write()
    assert list(tmp_path.iterdir()) == []


def test_every_batch_is_played_live_once_in_so_many_days(tmp_path: Path) -> None:
    records = reading(tmp_path)
    first = datetime.date(2026, 1, 1).toordinal()
    days = [datetime.date.fromordinal(first + day) for day in range(PARTS)]
    for driver, batch in ((JAVA_5, MAIN), (JAVA_4, MAIN), (JAVA_5, TLS)):
        assert sum(records.is_due(driver, batch, day) for day in days) == 1
    assert Records(live=True, writing=False, folder=tmp_path).is_due(JAVA_5, MAIN, days[0])

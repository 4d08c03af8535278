"""Consumer offsets: as sent, reset ones first, written in steps, loaded again."""

from pathlib import Path

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.steps import at_once

VECTORS = Path(__file__).parents[1].parent / "vectors" / "config"
CLIENT = "10.0.0.7:4711"


@pytest.fixture
def offsets(tmp_path: Path, clock: Clock) -> ConsumerOffsets:
    return ConsumerOffsets(BrokerConfig(consumer_offset_update_version_step=3), tmp_path, clock)


def test_offsets_are_kept_as_sent(
    offsets: ConsumerOffsets, caplog: pytest.LogCaptureFixture
) -> None:
    assert offsets.query("g", "T", 0) == -1
    offsets.commit(CLIENT, "g", "T", 0, 10)
    assert not caplog.records
    offsets.commit(CLIENT, "g", "T", 0, 4)
    assert offsets.query("g", "T", 0) == 4
    assert "offset went back" in caplog.text
    assert offsets.query("g", "T", 1) == offsets.query("h", "T", 0) == -1
    assert offsets.data_version.counter == 0
    offsets.commit(CLIENT, "g", "T", 1, -7)
    assert offsets.query_all("g", "T") == {0: 4, 1: -7}
    assert offsets.data_version.counter == 1


def test_pull_offsets_are_kept_separately(offsets: ConsumerOffsets) -> None:
    offsets.commit(CLIENT, "g", "T", 0, 10)
    assert offsets.query_pull("g", "T", 0) == 10
    offsets.commit_pull("g", "T", 0, 15)
    assert (offsets.query_pull("g", "T", 0), offsets.query("g", "T", 0)) == (15, 10)
    offsets.clear_pull("g", "T")
    assert offsets.query_pull("g", "T", 0) == 10


def test_a_reset_offset_is_answered_until_it_is_used(offsets: ConsumerOffsets) -> None:
    offsets.commit(CLIENT, "g", "T", 0, 10)
    offsets.assign_reset("g", "T", 0, 3)
    offsets.commit(CLIENT, "g", "T", 0, 12)
    assert offsets.has_reset("g", "T", 0)
    assert offsets.query("g", "T", 0) == 3
    assert offsets.take_reset("g", "T", 0) == 3
    assert offsets.take_reset("g", "T", 0) is None
    assert not offsets.has_reset("g", "T", 0)
    assert offsets.query("g", "T", 0) == 12
    offsets.assign_reset("g", "T", 0, -1)
    assert not offsets.has_reset("g", "T", 0)


def test_reset_offsets_can_be_switched_off(tmp_path: Path, clock: Clock) -> None:
    config = BrokerConfig(use_server_side_reset_offset=False)
    offsets = ConsumerOffsets(config, tmp_path, clock)
    offsets.assign_reset("g", "T", 0, 3)
    offsets.commit("c", "g", "T", 0, 12)
    assert offsets.query("g", "T", 0) == 12


def test_who_reads_what(offsets: ConsumerOffsets) -> None:
    for group, topic in (("g", "T"), ("g", "U"), ("h", "T")):
        offsets.commit(CLIENT, group, topic, 0, 1)
    assert offsets.topics_of("g") == {"T", "U"}
    assert offsets.groups_of("T") == {"g", "h"}
    offsets.copy_group("g", "i", "T")
    assert offsets.query("i", "T", 0) == 1
    at_once(offsets.forget_topic("T"))
    assert offsets.groups_of("T") == set()
    assert offsets.topics_of("h") == set()
    assert offsets.query("g", "U", 0) == 1


def test_a_deleted_group_leaves_nothing(offsets: ConsumerOffsets) -> None:
    offsets.commit(CLIENT, "g", "T", 0, 1)
    offsets.commit_pull("g", "V", 0, 1)
    offsets.assign_reset("g", "U", 0, 1)
    offsets.commit(CLIENT, "gg", "T", 0, 1)
    at_once(offsets.forget_group("g"))
    assert offsets.topics_of("g") == set()
    assert offsets.query_pull("g", "V", 0) == offsets.query("g", "U", 0) == -1
    assert offsets.query("gg", "T", 0) == 1


async def test_only_changes_are_written(
    offsets: ConsumerOffsets, tmp_path: Path, clock: Clock
) -> None:
    path = tmp_path / "consumerOffset.json"
    await offsets.file.persist_in_steps()
    assert not path.exists()
    for number in range(200):
        offsets.commit(CLIENT, f"g{number % 7}", f"T{number}", 0, number)
    await offsets.file.persist_in_steps()
    before = path.stat().st_mtime_ns, path.read_bytes()
    await offsets.file.persist_in_steps()
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before

    again = ConsumerOffsets(BrokerConfig(), tmp_path, clock)
    again.load()
    assert again.query("g3", "T199", 0) == 199
    assert again.topics_of("g0") == offsets.topics_of("g0")
    assert again.data_version == offsets.data_version


def test_the_real_brokers_file_loads_and_is_written_the_same(tmp_path: Path, clock: Clock) -> None:
    """But for the pull offsets, which it does not read back either: since 5.5.1 they are not in the file."""
    path = tmp_path / "consumerOffset.json"
    real = (VECTORS / "consumerOffset.json").read_bytes()
    path.write_bytes(real)
    offsets = ConsumerOffsets(BrokerConfig(), tmp_path, clock)
    offsets.load()
    offsets.file.persist()
    without = real[: real.index(b',\n\t"pullOffsetTable"')] + b"\n}"
    assert _lines(path.read_bytes()) == _lines(without)


async def test_pull_offsets_are_not_written(
    offsets: ConsumerOffsets, tmp_path: Path, clock: Clock
) -> None:
    offsets.commit_pull("g", "T", 0, 5)
    assert offsets.query_pull("g", "T", 0) == 5
    await offsets.file.persist_in_steps()
    assert not (tmp_path / "consumerOffset.json").exists()
    offsets.clear_pull("g", "T")
    assert offsets.query_pull("g", "T", 0) == -1


def test_an_empty_table_is_written_as_java_does(offsets: ConsumerOffsets, tmp_path: Path) -> None:
    offsets.file.persist()
    text = (tmp_path / "consumerOffset.json").read_bytes()
    assert text.endswith(b',\n\t"groupTopicMap":{},\n\t"offsetTable":{}\n}')


def _lines(text: bytes) -> list[bytes]:
    return sorted(line.rstrip(b",") for line in text.split(b"\n"))


async def test_the_file_is_written_when_a_start_would_read_too_much(
    tmp_path: Path, clock: Clock
) -> None:
    """Though no offset has changed; the file says where the log ends."""
    path = tmp_path / "consumerOffset.json"
    log = [7]
    offsets = ConsumerOffsets(BrokerConfig(), tmp_path, clock)
    offsets.file.log_end = lambda: log[0]
    offsets.load()
    offsets.file.begin()

    def noted() -> int:
        again = ConsumerOffsets(BrokerConfig(), tmp_path, clock)
        again.load()
        assert again.file.noted_log_end is not None
        return again.file.noted_log_end

    assert noted() == 7
    for log[0], is_late, expected in ((8, False, 7), (9 << 20, False, 7), (9 << 20, True, 9 << 20)):
        if is_late:
            offsets.file.hurry()
        await offsets.file.persist_in_steps()
        assert noted() == offsets.file.written_log_end == expected
    before = path.stat().st_mtime_ns
    await offsets.file.persist_in_steps()
    assert path.stat().st_mtime_ns == before
    # One that was old already when it was read.
    again = ConsumerOffsets(BrokerConfig(), tmp_path, clock)
    again.file.log_end = lambda: log[0]
    again.load()
    again.file.begin()
    log[0] = 100 << 20
    again.file.hurry()
    await again.file.persist_in_steps()
    assert noted() == log[0]

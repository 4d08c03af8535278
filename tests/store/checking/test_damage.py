"""Every kind of damage that a check knows is produced, and found under its name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trimq.codec.entries.queue import pack
from trimq.store.checking.check import CheckReport, StoreCheck
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.store.upkeep.checkpoint_file import load_checkpoint, save_checkpoint

COUNT = 60
QUEUE_FILE = 20 * 8
LOG_FILE = 2048
TOPICS = {"topicConfigTable": {name: {"topicName": name} for name in ("T0", "T1", "T2")}}


class Site:
    """A closed store of 60 messages over three topics, and ways to its bytes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.offsets: list[int] = []
        store = self.store()
        for number in range(COUNT):
            message = Message(f"T{number % 3}", 0, b"body %d" % number, b"TAGS\x01t\x02")
            self.offsets.append(store.put(message).physical_offset)
        store.close()
        self.table("topics.json", TOPICS)
        self.table("consumerOffset.json", {"offsetTable": {"T0@G": {"0": 20}}})

    def store(self) -> MessageStore:
        config = StoreConfig(
            root=self.root,
            mapped_file_size_commit_log=LOG_FILE,
            mapped_file_size_consume_queue=QUEUE_FILE,
            message_index_enable=False,
        )
        times = iter(range(1_000_000, 2_000_000))
        store = MessageStore(config, lambda: next(times))
        store.open()
        return store

    def table(self, name: str, value: object) -> None:
        path = self.root / "config" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))

    def log(self, number: int) -> tuple[Path, int]:
        """File and position of a message's record."""
        base = self.offsets[number] - self.offsets[number] % LOG_FILE
        return self.root / "commitlog" / f"{base:020d}", self.offsets[number] - base

    def change_log(self, number: int, at: int, data: bytes) -> None:
        path, position = self.log(number)
        patch(path, position + at, data)

    def queue(self, topic: str, offset: int) -> tuple[Path, int]:
        index = offset % (QUEUE_FILE // 20)
        folder = self.root / "consumequeue" / topic / "0"
        return folder / f"{(offset - index) * 20:020d}", index * 20

    def change_entry(self, topic: str, offset: int, entry: bytes) -> None:
        path, position = self.queue(topic, offset)
        patch(path, position, entry)

    def checkpoint(self, **values: int) -> None:
        path = self.root / "checkpoint"
        checkpoint = load_checkpoint(path)
        for name, value in values.items():
            setattr(checkpoint, name, value)
        save_checkpoint(path, checkpoint)

    def abort(self) -> None:
        (self.root / "abort").write_text("1")

    def check(self, quick: bool = False) -> CheckReport:
        return StoreCheck(self.root, quick=quick).run()


def patch(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "store")


def kinds(report: CheckReport) -> dict[str, int]:
    return {finding.kind: finding.count for finding in report.findings.problems()}


def noted(report: CheckReport) -> dict[str, int]:
    return {finding.kind: finding.count for finding in report.findings.notes()}


def test_the_site_is_sound(site):
    report = site.check()
    assert kinds(report) == {}
    assert noted(report) == {"no index": 1}
    assert (report.records, report.queues, report.tables) == (COUNT, 3, 2)
    assert site.check(quick=True).records == 1


def lose_queue_file(site: Site) -> None:
    os.unlink(site.queue("T1", 8)[0])


def shorten_queue_file(site: Site) -> None:
    os.truncate(site.queue("T1", 8)[0], 60)


def lose_queue(site: Site) -> None:
    for path in (site.root / "consumequeue" / "T1" / "0").iterdir():
        path.unlink()


def lose_log_file(site: Site) -> None:
    os.unlink(site.log(30)[0])


def lengthen_log_file(site: Site) -> None:
    os.truncate(site.log(0)[0], LOG_FILE + 9)


def tear_in_the_middle(site: Site) -> None:
    site.change_log(7, 0, bytes(40))


def record_of_a_wrong_place(site: Site) -> None:
    site.change_log(7, 28, (123).to_bytes(8, "big"))


def crc(site: Site) -> None:
    path, position = site.log(7)
    at = path.read_bytes().index(b"body 7", position)
    patch(path, at, b"BODY")


def topic_with_a_zero(site: Site) -> None:
    path, position = site.log(7)
    patch(path, path.read_bytes().index(b"T1", position) + 1, b"\0")


def tear_at_the_end(site: Site) -> None:
    site.change_log(COUNT - 1, 10, bytes(200))


def cut_the_log(site: Site) -> None:
    site.change_log(COUNT - 3, 0, bytes(600))


def skip_an_offset(site: Site) -> None:
    """The record claims offset 3 where 2 should be: a gap, and then twice the same."""
    site.change_log(6, 20, (3).to_bytes(8, "big"))


def entry_of_no_record(site: Site) -> None:
    site.change_entry("T0", 20, pack(site.offsets[1], 93, 0))


def entry_behind_the_log(site: Site) -> None:
    site.change_entry("T0", 20, pack(site.offsets[-1] + 5000, 93, 0))


def junk_behind_the_queue(site: Site) -> None:
    site.change_entry("T0", 22, b"\1" * 20)


def entry_of_another_record(site: Site) -> None:
    site.change_entry("T0", 4, pack(site.offsets[13], 93, 116))


def entry_of_another_size(site: Site) -> None:
    path, position = site.queue("T0", 4)
    patch(path, position + 8, (94).to_bytes(4, "big"))


def entry_of_another_tag(site: Site) -> None:
    path, position = site.queue("T0", 4)
    patch(path, position + 12, (5).to_bytes(8, "big"))


def hole_in_a_queue(site: Site) -> None:
    site.change_entry("T0", 4, bytes(20))


def offset_beyond(site: Site) -> None:
    site.table("consumerOffset.json", {"offsetTable": {"T0@G": {"0": 21}}})


def delay_beyond(site: Site) -> None:
    queue = site.root / "consumequeue" / "SCHEDULE_TOPIC_XXXX" / "2"
    queue.mkdir(parents=True)
    site.table("delayOffset.json", {"offsetTable": {"3": 1}})


def broken_table(site: Site) -> None:
    site.table("topics.json", "{broken")


def empty_table(site: Site) -> None:
    site.table("topics.json", "")


def broken_twin(site: Site) -> None:
    site.table("topics.json.bak", "[1]")


def checkpoint_ahead(site: Site) -> None:
    site.checkpoint(queue_physical_offset=site.offsets[-1] + 5000)


def confirmed_ahead(site: Site) -> None:
    site.checkpoint(confirm_physical_offset=site.offsets[-1] + 5000)


def checkpoint_between(site: Site) -> None:
    site.checkpoint(queue_physical_offset=site.offsets[9] + 1)


def checkpoint_in_the_future(site: Site) -> None:
    site.checkpoint(record_timestamp=1 << 60)


def short_checkpoint(site: Site) -> None:
    os.truncate(site.root / "checkpoint", 40)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (
            lose_queue_file,
            {"queue file missing or of another length": 1, "missing entry": 8},
        ),
        (
            shorten_queue_file,
            {"queue file missing or of another length": 1, "missing entry": 5},
        ),
        (lose_queue, {"missing entry": 20}),
        (
            lengthen_log_file,
            {"commit-log file missing or of another length": 1, "damaged region": 1},
        ),
        (
            lose_log_file,
            {
                "commit-log file missing or of another length": 1,
                "gap in a queue": 19,
                "entry of a lost record": 19,
            },
        ),
        (
            tear_in_the_middle,
            {"damaged region": 1, "gap in a queue": 1, "entry of a lost record": 1},
        ),
        (
            record_of_a_wrong_place,
            {"damaged region": 1, "gap in a queue": 1, "entry of a lost record": 1},
        ),
        (crc, {"damaged record": 1}),
        (
            tear_at_the_end,
            {"torn end": 1, "entry beyond the log's end": 1, "checkpoint contradicts the log": 2},
        ),
        (
            skip_an_offset,
            {"gap in a queue": 1, "wrong entry": 1, "queue out of order": 1, "dangling entry": 1},
        ),
        (entry_of_no_record, {"dangling entry": 1}),
        (entry_behind_the_log, {"entry beyond the log's end": 1}),
        (junk_behind_the_queue, {"something after a queue's end": 1}),
        (entry_of_another_record, {"wrong entry": 1}),
        (entry_of_another_size, {"wrong entry": 1}),
        (entry_of_another_tag, {"wrong entry": 1}),
        (hole_in_a_queue, {"missing entry": 1}),
        (offset_beyond, {"consumer offset beyond the queue's end": 1}),
        (delay_beyond, {"consumer offset beyond the queue's end": 1}),
        (broken_table, {"table unreadable": 1}),
        (empty_table, {"table unreadable": 1}),
        (broken_twin, {"table unreadable": 1}),
        (checkpoint_ahead, {"checkpoint contradicts the log": 1}),
        (confirmed_ahead, {"checkpoint contradicts the log": 1}),
        (checkpoint_between, {"checkpoint contradicts the log": 1}),
        (checkpoint_in_the_future, {"checkpoint contradicts the log": 1}),
        (short_checkpoint, {"checkpoint unreadable": 1}),
        (
            topic_with_a_zero,
            {"damaged record": 1, "gap in a queue": 1, "entry of a lost record": 1},
        ),
        (
            cut_the_log,
            {"entry beyond the log's end": 3, "checkpoint contradicts the log": 3},
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_damage_is_found(
    site: Site, damage: Callable[[Site], None], expected: dict[str, int]
) -> None:
    damage(site)
    report = site.check()
    assert kinds(report) == expected


def test_after_a_kill_the_same_is_what_recovery_repairs(site: Site) -> None:
    site.abort()
    site.checkpoint(queue_physical_offset=site.offsets[20])
    hole_in_a_queue(site)
    report = site.check()
    # Entry 4 belongs to record 12, in front of the checkpoint: nobody repairs it.
    assert kinds(report) == {"missing entry": 1}
    site.change_entry("T0", 4, pack(site.offsets[12], site.offsets[13] - site.offsets[12], 116))
    site.change_entry("T0", 18, bytes(40))
    tear_at_the_end(site)
    site.change_entry("T1", 20, pack(site.offsets[-1] + 5000, 93, 0))
    site.checkpoint(record_timestamp=1, queue_timestamp=1)
    report = site.check()
    assert kinds(report) == {}
    assert noted(report) == {
        "torn end, which recovery cuts off": 1,
        "entries beyond the log's end, which recovery drops": 2,
        "entries that recovery writes": 2,
        "not shut down cleanly": 1,
        "no index": 1,
    }
    forecast = report.forecast
    assert (forecast.start, forecast.end) == (site.offsets[20], site.offsets[-1])
    assert (forecast.records, forecast.queues) == (COUNT - 21, 1)


def test_damage_in_front_of_good_records_keeps_the_store_closed(site: Site) -> None:
    site.checkpoint(queue_physical_offset=site.offsets[9])
    tear_in_the_middle(site)
    report = site.check()
    # In front of where recovery begins: it does not see it.
    assert report.forecast.refusal == ""
    assert report.forecast.records == COUNT - 9
    site.change_log(30, 4, b"what")
    assert "after it" in site.check().forecast.refusal
    assert site.check().records == COUNT - 2
    site.abort()
    report = site.check()
    assert report.forecast.refusal == ""
    assert report.forecast.end == site.offsets[30]
    lose_log_file(site)
    assert "then comes" in site.check().forecast.refusal


def test_topics_deleted_and_created_again(site: Site) -> None:
    store = site.store()
    store.delete_topic("T0")
    store.delete_topic("T1")
    for _ in range(3):
        store.put(Message("T0", 0, b"anew"))
    store.close()
    site.table("consumerOffset.json", {"offsetTable": {"T0@G": {"0": 3}, "T1@G": {"0": 20}}})
    topics = {name: {} for name in ("T0", "T2")}
    site.table("topics.json", {"topicConfigTable": topics})
    report = site.check()
    assert kinds(report) == {}
    assert noted(report)["queue of a topic that was created again"] == 1
    assert noted(report)["records of a topic that no longer exists"] == 20
    site.table("topics.json", TOPICS)
    assert kinds(site.check()) == {"missing entry": 20}


def test_offsets_of_what_is_gone_are_notes(site: Site) -> None:
    for path in sorted((site.root / "commitlog").iterdir())[:2]:
        path.unlink()
    table = {"offsetTable": {"T0@G": {"0": 1}, "%RETRY%G@G": {"0": 4}, "T9@G": {"0": 0}}}
    site.table("consumerOffset.json", table)
    report = site.check()
    assert kinds(report) == {}
    assert noted(report)["consumer offset before the queue's beginning"] == 1
    assert noted(report)["consumer offset of a queue that is gone"] == 1
    site.table("consumerOffset.json", {"offsetTable": {"T0@G": {"x": "y"}}})
    assert kinds(site.check()) == {"table unreadable": 1}


def test_delays_may_be_set_to_others_than_usual(site: Site) -> None:
    store = site.store()
    store.put(Message("SCHEDULE_TOPIC_XXXX", 2, b"d", b"DELAY\x013\x02"))
    store.close()
    assert kinds(site.check()) == {}
    path = site.root / "consumequeue" / "SCHEDULE_TOPIC_XXXX" / "2" / f"{0:020d}"
    for code, expected in ((2_000_000, {}), (5, {"wrong entry": 1})):
        patch(path, 12, code.to_bytes(8, "big"))
        assert kinds(site.check()) == expected


def test_old_bytes_and_files_made_early_are_not_damage(site: Site) -> None:
    last = sorted((site.root / "commitlog").iterdir())[-1]
    patch(last, LOG_FILE - 50, b"old bytes")
    early = last.with_name(f"{int(last.name) + LOG_FILE:020d}")
    early.write_bytes(bytes(LOG_FILE))
    report = site.check()
    assert kinds(report) == {}
    assert noted(report)["old bytes after the end"] == 1


def test_examples_are_bounded_and_counts_are_not(site: Site) -> None:
    for offset in range(0, 20, 2):
        site.change_entry("T0", offset, pack(1, 2, 3))
    finding = next(site.check().findings.problems())
    assert (finding.kind, finding.count) == ("wrong entry", 10)
    assert "and 9 more of T0 0" in finding.examples[0]


def test_quick_sees_the_end_only(site: Site) -> None:
    hole_in_a_queue(site)
    assert kinds(site.check(quick=True)) == {}
    site.change_entry("T2", 19, bytes(20))
    assert kinds(site.check(quick=True)) == {"missing entry": 1}
    site.checkpoint(queue_physical_offset=0)
    # Without an offset the real broker's times decide: the last file that begins early enough.
    report = site.check(quick=True)
    assert report.start == 0
    site.checkpoint(record_timestamp=9_000_000, queue_timestamp=0)
    report = site.check(quick=True)
    assert report.start == int(sorted((site.root / "commitlog").iterdir())[-1].name)
    assert not report.forecast.complete

"""Consume queues with an extension: tags codes that are addresses of units."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.cleaning import clean, write_all
from trimq.codec.entries.extension_unit import UNIT_SIZE
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.queues import QUEUE_ENTRY, QUEUE_EXT_UNIT
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreDamaged
from trimq.store.queues.plain.extension import QueueExtension

BIG = 1 << 20
LOWEST = -(2**63)
# Room for three units. Four bytes are always left, so 22 are not enough for one more.
FILE = 82
ON = {"enable_consume_queue_ext": True, "mapped_file_size_consume_queue_ext": FILE}
ROOMY = {"mapped_file_size_commit_log": BIG, "mapped_file_size_consume_queue": 2000}


@pytest.fixture
def extended(bench):
    bench.small |= ON
    return bench


def fill(bench, store, count, start=0, topic="T"):
    return [
        store.put(bench.message(b"%d" % number, topic=topic, tag="abc"[number % 3]))
        for number in range(start, start + count)
    ]


def write(store):
    while store.write_derived():
        pass


def queue_entries(bench, topic="T"):
    """Physical offset and stored tags code of every entry in the files."""
    data = b"".join(file.read_bytes() for file in bench.queue_files(topic, 0))
    found = [QUEUE_ENTRY.parse(data[at : at + 20]) for at in range(0, len(data), 20)]
    return [(entry.physical_offset, entry.tags_code) for entry in found if entry.size]


def unit_files(bench, topic="T"):
    return sorted((bench.root / "consumequeue_ext" / topic / "0").iterdir())


def unit_at(bench, address, topic="T"):
    position = address - LOWEST
    base = position - position % FILE
    data = (bench.root / "consumequeue_ext" / topic / "0" / f"{base:020d}").read_bytes()
    assert len(data) == FILE
    return QUEUE_EXT_UNIT.parse(data[position - base :])


def pulled(store, *tags):
    """The bodies that a filtered reader gets."""
    found, offset = [], store.min_offset("T", 0)
    wanted = frozenset(map(string_hash, tags))
    while offset < store.max_offset("T", 0):
        result = store.read("T", 0, offset, 32, BIG, wanted)
        found.append(result.message_count)
        offset = result.next_begin_offset
    return sum(found)


def check(bench, store, count):
    """Every entry points to the unit of its own record, and filters look at that."""
    write(store)
    entries = queue_entries(bench)
    assert len(entries) == count
    for offset, (physical_offset, address) in enumerate(entries):
        unit = unit_at(bench, address)
        code = string_hash("abc"[offset % 3])
        assert (unit.size, unit.bit_map_size, unit.tags_code) == (UNIT_SIZE, 0, code)
        assert unit.store_timestamp == store.store_time("T", 0, offset)
        entry = store.queue_entry("T", 0, offset)
        assert (entry.physical_offset, entry.tags_code) == (physical_offset, code)
    addresses = [address for _, address in entries]
    assert addresses == sorted(set(addresses))
    assert pulled(store, "a", "c") == count - (count + 1) // 3
    assert pulled(store, "none") == 0


def test_units_lie_as_the_real_broker_puts_them(extended):
    store = extended.open()
    fill(extended, store, 7)
    check(extended, store, 7)
    addresses = [address - LOWEST for _, address in queue_entries(extended)]
    assert addresses == [0, 20, 40, 82, 102, 122, 164]
    assert [file.name for file in unit_files(extended)] == [f"{base:020d}" for base in (0, 82, 164)]
    assert unit_files(extended)[0].read_bytes()[60:] == b"\xff\xff" + bytes(20)


def test_entries_in_memory_are_filtered_too(extended):
    store = extended.open(**ROOMY)
    fill(extended, store, 10)
    assert not (extended.root / "consumequeue_ext").exists()
    assert (pulled(store, "a"), pulled(store, "b", "c"), pulled(store, "d")) == (4, 6, 0)


def test_delivery_times_are_in_the_units(extended):
    store = extended.open()
    topic = "SCHEDULE_TOPIC_XXXX"
    one = store.put(extended.message(b"", topic=topic, properties=b"DELAY\x012\x02"))
    write(store)
    entry = store.queue_entry(topic, 0, 0)
    assert entry.tags_code == one.store_timestamp + 5000
    assert queue_entries(extended, topic) == [(0, LOWEST)]
    assert unit_at(extended, LOWEST, topic).tags_code == entry.tags_code


def test_listeners_get_tags_not_addresses(extended):
    store = extended.open()
    heard = []
    store.add_listener(lambda messages: heard.extend(d.tags_code for d in messages))
    fill(extended, store, 2)
    assert heard == [string_hash("a"), string_hash("b")]


@pytest.mark.parametrize("kill", [False, True])
def test_opened_again_it_continues_after_the_last_unit(extended, kill):
    store = extended.open()
    fill(extended, store, 8)
    (extended.kill if kill else extended.close)(store)
    store = extended.open()
    check(extended, store, 8)
    fill(extended, store, 5, start=8)
    check(extended, store, 13)
    # Three units a file, whatever was thrown away meanwhile.
    assert len(unit_files(extended)) == 5


def test_units_are_read_when_new_entries_get_none(extended):
    store = extended.open()
    fill(extended, store, 7)
    extended.close(store)
    store = extended.open(enable_consume_queue_ext=False)
    fill(extended, store, 5, start=7)
    write(store)
    assert (pulled(store, "a"), pulled(store, "none")) == (4, 0)
    assert [address <= -(2**31) - 1 for _, address in queue_entries(extended)] == (
        [True] * 7 + [False] * 5
    )
    extended.close(store)
    # And on again: the last address lies some entries back, in another file.
    store = extended.open()
    fill(extended, store, 3, start=12)
    write(store)
    addresses = [address - LOWEST for _, address in queue_entries(extended)]
    assert addresses[12:] == [184, 204, 246]
    assert (pulled(store, "a"), pulled(store, "none")) == (5, 0)


def test_the_real_brokers_bit_maps_are_passed_over(extended):
    store = extended.open(mapped_file_size_consume_queue_ext=1000)
    fill(extended, store, 1)
    extended.close(store)
    (file,) = unit_files(extended)
    unit = QUEUE_EXT_UNIT.build(
        {
            "size": 28,
            "tags_code": string_hash("a"),
            "store_timestamp": 5,
            "bit_map_size": 8,
            "bit_map": b"\xff" * 8,
        }
    )
    file.write_bytes(unit + bytes(1000 - 28))
    store = extended.open(mapped_file_size_consume_queue_ext=1000)
    fill(extended, store, 1, start=1)
    write(store)
    assert [address - LOWEST for _, address in queue_entries(extended)] == [0, 28]
    assert (pulled(store, "a"), pulled(store, "b"), pulled(store, "c")) == (1, 1, 0)


def test_lost_units_match_and_their_addresses_are_not_given_again(extended):
    store = extended.open()
    fill(extended, store, 4)
    extended.close(store)
    shutil.rmtree(extended.root / "consumequeue_ext")
    store = extended.open()
    assert pulled(store, "none") == 4
    fill(extended, store, 3, start=4)
    write(store)
    assert [address - LOWEST for _, address in queue_entries(extended)][3:] == [82, 164, 184, 204]
    assert (pulled(store, "none"), pulled(store, "a")) == (4, 5)


def test_both_are_rebuilt_from_the_log(extended):
    store = extended.open()
    fill(extended, store, 11)
    extended.close(store)
    before = {path: path.read_bytes() for path in extended.root.rglob("consumequeue*/T/0/*")}
    assert len(before) == 3 + 4
    shutil.rmtree(extended.root / "consumequeue")
    store = extended.open()
    check(extended, store, 11)
    extended.close(store)
    assert {path: path.read_bytes() for path in before} == before


def test_a_queue_far_behind_gets_its_units_back(extended, monkeypatch):
    monkeypatch.setattr("trimq.store.opening.recovery.COLLECTED", 2)
    store = extended.open()
    fill(extended, store, 12)
    write(store)
    store.plan_checkpoint().run()
    fill(extended, store, 7, start=12)
    extended.kill(store)
    for file in extended.queue_files("T", 0)[1:]:
        file.unlink()
    store = extended.open()
    assert extended.report.start > 0
    check(extended, store, 19)


@given(count=st.integers(1, 20), cut=st.integers(0, 3000), checkpoint=st.integers(0, 20))
def test_a_crash_at_any_byte_leaves_entries_and_units_in_step(extended, count, cut, checkpoint):
    with TemporaryDirectory() as folder:
        extended.root = Path(folder)
        store = extended.open()
        for number in range(count):
            fill(extended, store, 1, start=number)
            if number == checkpoint:
                write(store)
                store.plan_checkpoint().run()
        write(store)
        extended.kill(store)
        for file in extended.commit_log_files():
            if int(file.name) >= cut and int(file.name):
                file.unlink()
            elif int(file.name) + 1024 > cut:
                os.truncate(file, cut - int(file.name))
        store = extended.open()
        left = store.max_offset("T", 0)
        if left:
            check(extended, store, left)
        fill(extended, store, 4, start=left)
        check(extended, store, left + 4)
        assert len(unit_files(extended)) == (left + 4 + 2) // 3
        extended.kill(store)


def test_a_deleted_topic_takes_its_units_along(extended):
    store = extended.open()
    fill(extended, store, 4)
    write(store)
    assert store.delete_topic("T")
    assert not (extended.root / "consumequeue_ext" / "T").exists()
    fill(extended, store, 2)
    check(extended, store, 2)
    assert queue_entries(extended)[0][1] == LOWEST


def test_another_file_size_is_refused_by_its_setting(extended):
    store = extended.open()
    fill(extended, store, 4)
    extended.close(store)
    store = extended.open(mapped_file_size_consume_queue_ext=64)
    with pytest.raises(StoreDamaged, match="mappedFileSizeConsumeQueueExt"):
        pulled(store, "a")


def test_units_follow_the_log(extended):
    store = extended.open(delete_when=())
    fill(extended, store, 40)
    write_all(store)
    extended.disk_use = 0.88
    clean(store)
    first = store.min_offset("T", 0)
    assert 3 < first < 40
    write(store)
    assert [int(file.name) for file in unit_files(extended)] == list(
        range((first - 1) // 3 * FILE, 14 * FILE, FILE)
    )
    tags = ["abc"[number % 3] for number in range(first, 40)]
    assert pulled(store, "a", "b") == len([tag for tag in tags if tag in "ab"])
    assert pulled(store, "none") == 0


def test_files_before_the_first_entrys_unit_are_removed(tmp_path):
    extension = QueueExtension(str(tmp_path / "q"), FILE, OpenFiles(8))
    extension.go_behind(None)
    addresses = [extension.put(number, 0) for number in range(10)]
    extension.write_out()
    assert extension.delete_before(addresses[2]) == 0
    # A file that ends exactly where the unit begins stays, as in the real broker.
    assert extension.delete_before(addresses[3]) == 0
    assert extension.delete_before(addresses[7]) == 2
    assert [extension.tags_code(address) for address in addresses] == [None] * 6 + [6, 7, 8, 9]
    # The last one stays whatever comes.
    assert extension.delete_before(addresses[9] + 1000) == 1
    assert extension.tags_code(addresses[9]) == 9

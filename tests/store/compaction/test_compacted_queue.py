"""Appending to compacted queues, pulling from them, and opening what a process left."""

import os

import pytest

from tests.store.compaction.conftest import SIZES, Folder, contents, fill, kept, pulled
from trimq.codec.entries.batch_queue import BATCH_ENTRY_SIZE, END_ENTRY
from trimq.codec.records.record import MAGIC_BLANK, peek
from trimq.store.compaction.pair import Sizes
from trimq.store.errors import StoreError
from trimq.store.queues.reading.pull import ReadStatus


def test_what_is_appended_is_pulled(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, f"k{offset}", b"%d" % offset) for offset in range(30)])
    assert len(queue.pairs) > 2
    assert contents(queue) == {offset: b"%d" % offset for offset in range(30)}
    again = folder.open()
    assert contents(again) == contents(queue)
    assert (again.min_offset, again.max_offset, again.fed) == (0, 30, 30)
    fill(again, [(30, "k", b"later")])
    assert contents(again)[30] == b"later"


def test_a_pull_gets_the_messages_of_one_file(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, "k", b"x") for offset in range(30)])
    first = queue.pairs[0]
    result, records = pulled(queue, 0)
    assert [record.queue_offset for record in records] == list(range(first.last + 1))
    assert result.next_begin_offset == first.last + 1
    assert [one.queue_offset for one in pulled(queue, 2, most=3)[1]] == [2, 3, 4]


def test_records_say_where_they_lie_now(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, "k", b"x" * offset) for offset in range(20)])
    for pair in queue.pairs:
        for entry in pair.entries(0, 100):
            record = pulled(queue, entry.base_offset, most=1)[1][0]
            assert record.physical_offset == entry.physical_offset
            assert pair.base <= entry.physical_offset < pair.base + SIZES.log


def test_offsets_outside(folder: Folder) -> None:
    queue = folder.open()
    assert pulled(queue, 5)[0].status == ReadStatus.NO_MESSAGE_IN_QUEUE
    fill(queue, [(offset, "k", b"x") for offset in range(3, 6)])
    cases = {6: (ReadStatus.OFFSET_OVERFLOW_ONE, 6), 9: (ReadStatus.OFFSET_OVERFLOW_BADLY, 6)}
    for offset, expected in cases.items():
        result, records = pulled(queue, offset)
        assert (result.status, result.next_begin_offset) == expected
        assert not records
    # Whoever is before the beginning begins there.
    assert [one.queue_offset for one in pulled(queue, 0)[1]] == [3, 4, 5]


def test_twofold_and_keyless_records_are_left_out(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(0, "k", b"0"), (1, "", b"no key"), (2, " ", b"blank"), (3, "k", b"3")])
    fill(queue, [(0, "k", b"again"), (3, "k", b"again"), (4, "k", b"4")])
    assert contents(queue) == {0: b"0", 3: b"3", 4: b"4"}


def test_a_full_file_ends_as_rocketmq_ends_it(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, "k", b"x") for offset in range(40)])
    full = queue.pairs[0]
    log, entries = (path.read_bytes() for path in full.paths)
    assert (len(log), len(entries)) == (SIZES.log, SIZES.entries)
    assert peek(log, full.end) == (SIZES.log - full.end, MAGIC_BLANK)
    count = full.last - full.first + 1
    assert entries[count * BATCH_ENTRY_SIZE :][:BATCH_ENTRY_SIZE] == END_ENTRY


def test_an_entry_whose_record_was_lost_goes(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, "k", b"x") for offset in range(4)])
    pair = queue.pairs[-1]
    place = pair.entries(3, 1)[0].physical_offset - pair.base
    with pair.paths[0].open("r+b") as file:
        file.seek(place)
        file.write(bytes(200))
    again = folder.open()
    assert contents(again) == {0: b"x", 1: b"x", 2: b"x"}
    fill(again, [(3, "k", b"new")])
    assert contents(folder.open())[3] == b"new"


def test_a_file_without_its_partner(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, "k", b"x") for offset in range(30)])
    last = queue.pairs[-1]
    os.unlink(last.paths[1])
    # The process may end between creating the two.
    assert contents(folder.open()).keys() == set(range(last.first))
    os.unlink(queue.pairs[0].paths[0])
    with pytest.raises(StoreError, match=r"is missing\. Move .* away"):
        folder.open()


def test_files_of_another_length(folder: Folder) -> None:
    fill(folder.open(), [(0, "k", b"x")])
    folder.sizes = Sizes(4600, 460)
    with pytest.raises(StoreError, match="compactionMappedFileSize"):
        folder.open()


def test_a_record_larger_than_what_is_left_goes_to_the_next_file(folder: Folder) -> None:
    queue = folder.open()
    large = b"x" * 1800
    fill(queue, [(0, "k", large), (1, "k", large), (2, "k", b"small")])
    assert [pair.first for pair in queue.pairs] == [0, 1]
    assert contents(queue) == {0: large, 1: large, 2: b"small"}


@pytest.mark.parametrize(
    ("log", "entries", "expected"),
    [
        (100 << 20, 10 << 20, (10 * 10485746, 10485746)),
        (1000, 460, (2300, 460)),
        (2300, 460, (2760, 460)),
        (2400, 460, (2300, 460)),
        (2700, 500, (2760, 460)),
    ],
)
def test_lengths_are_rounded(log: int, entries: int, expected: tuple[int, int]) -> None:
    assert Sizes.of_settings(log, entries) == expected


def test_a_write_that_fails_counts_for_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = folder.open()
    fill(queue, [(0, "k", b"x")])

    def fail(*_: object) -> None:
        raise OSError(28, "no room")

    with monkeypatch.context() as patch:
        patch.setattr("trimq.store.compaction.pair.write_fully", fail)
        with pytest.raises(OSError, match="no room"):
            queue.append([kept(1, "k")])
    assert queue.max_offset == 1
    queue.append([kept(1, "k"), kept(2, "k")])
    assert contents(folder.open()).keys() == {0, 1, 2}

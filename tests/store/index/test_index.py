"""The message index: its files byte for byte, and what a search finds at any moment."""

from __future__ import annotations

import errno
import struct
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tests.store.index_model import Model, keys_of
from trimq.codec.entries.index import iter_entries, parse_header
from trimq.codec.flags import SysFlag
from trimq.codec.native.hashes import positive
from trimq.store.errors import StoreError
from trimq.store.index import writing as index_writing
from trimq.store.index.keys import key_hash
from trimq.store.index.message_index import file_name
from trimq.store.index.slots import SlotTable
from trimq.store.messages.message import Message
from trimq.store.native.slots import PAGE_SLOTS, SHIFT

SLOTS, ENTRIES = 7, 12
EVER = 1 << 62
words = st.text(st.sampled_from("abAB#é\U0001f600"), max_size=4)
messages = st.tuples(
    st.sampled_from(["T", "Topic2"]),
    st.none() | words,
    st.none() | st.lists(words, max_size=4).map(" ".join),
    st.none() | words,
    st.sampled_from([0, 0, SysFlag.PREPARED, SysFlag.COMMIT, SysFlag.ROLLBACK]),
    st.sampled_from([0, 1, 999, 5000, -3000, 3 * 10**12]),
)
steps = st.lists(messages | st.sampled_from(["derive", "plan", "copy", "run", "fail"]), max_size=40)


def properties(unique: str | None, keys: str | None, tags: str | None) -> bytes:
    pairs = {"UNIQ_KEY": unique, "KEYS": keys, "TAGS": tags}
    return "".join(f"{name}\x01{text}\x02" for name, text in pairs.items() if text).encode()


def keyed(*keys: str, unique: str = "", tags: str = "", topic: str = "T") -> Message:
    return Message(topic, 0, b"body", properties(unique, " ".join(keys), tags))


def find(store, key, topic="T", most=64, begin=0, end=EVER, kind=""):
    search = store.plan_query(topic, key, most, begin, end, kind)
    search.run()
    return search.offsets


def index_files(bench) -> list[Path]:
    folder = bench.root / "index"
    return sorted(folder.iterdir()) if folder.exists() else []


def images(bench) -> list[bytes]:
    return [path.read_bytes() for path in index_files(bench)]


def checkpoint(store) -> None:
    while store.write_derived():
        pass
    store.plan_checkpoint().run()


class Player:
    """Plays steps on a store and keeps the model beside it."""

    def __init__(self, bench, store) -> None:
        self.bench = bench
        self.store = store
        self.model = Model(SLOTS, ENTRIES)
        self.planned = None

    def play(self, step) -> None:
        if step == "derive" and self.planned is None:
            while self.store.write_derived():
                pass
        elif step == "plan" and self.planned is None:
            self.planned = self.store.plan_checkpoint()
        elif step == "copy" and self.planned is not None:
            # The worker thread has come so far: it waits for the disk now.
            if self.planned._index is not None:
                self.planned._index.copy()
        elif step in ("run", "fail") and self.planned is not None:
            planned, self.planned = self.planned, None
            if step == "run":
                planned.run()
        elif isinstance(step, tuple):
            self.put(*step)

    def put(self, topic, unique, keys, tags, sys_flag, later) -> None:
        self.bench.clock.millis = max(self.bench.clock.millis + later, 1)
        packed = properties(unique, keys, tags)
        put = self.store.put(Message(topic, 0, b"", packed, sys_flag=sys_flag))
        self.model.put(topic, packed, sys_flag, put.physical_offset, put.store_timestamp)


@given(steps)
def test_the_files_are_as_the_rules_say(bench, steps):
    with TemporaryDirectory() as folder:
        bench.root = Path(folder)
        player = Player(bench, bench.open())
        for step in steps:
            player.play(step)
        bench.close(player.store)
        assert images(bench) == player.model.images()


@given(steps, st.sampled_from(["a", "b", "Aa", "BB", "é"]), st.sampled_from(["", "T"]))
def test_a_search_finds_all_there_is_at_any_moment(bench, steps, word, kind):
    with TemporaryDirectory() as folder:
        bench.root = Path(folder)
        player = Player(bench, bench.open())
        wanted = key_hash(f"T#T#{word}" if kind else f"T#{word}")
        for step in steps:
            player.play(step)
            expected = [
                entry[1]
                for file in player.model.files
                for entry in file.entries[1:]
                if entry[0] == wanted
            ]
            assert find(player.store, word, kind=kind, begin=-EVER) == expected[-64:]
        bench.kill(player.store)


def test_new_files_begin_when_the_last_is_full(bench):
    store = bench.open()
    for number in range(30):
        store.put(keyed(f"k{number}"))
    bench.close(store)
    headers = [parse_header(image[:40]) for image in images(bench)]
    assert [header.count for header in headers] == [12, 12, 9]
    assert [path.stat().st_size for path in index_files(bench)] == [40 + 4 * 7 + 20 * 12] * 3
    store = bench.open()
    assert all(len(find(store, f"k{number}")) == 1 for number in range(30))
    for number in range(30, 40):
        store.put(keyed(f"k{number}"))
    assert all(len(find(store, f"k{number}")) == 1 for number in range(40))
    bench.close(store)
    assert [parse_header(image[:40]).count for image in images(bench)] == [12, 12, 12, 8]


def test_files_are_named_by_local_time(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert file_name(1_700_000_000_007) == "20231115034320007"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_names_go_up_when_the_clock_goes_back(bench):
    store = bench.open()
    for number in range(40):
        bench.clock.millis = 1_000_000 - number
        store.put(keyed(f"k{number}"))
    checkpoint(store)
    assert len(index_files(bench)) == 4
    assert find(store, "k39") == [store.queue_entry("T", 0, 39).physical_offset]
    bench.close(store)
    store = bench.open()
    assert all(len(find(store, f"k{number}")) == 1 for number in range(40))


def test_what_has_keys(bench):
    store = bench.open()
    both = store.put(keyed("one", "two", unique="U", tags="tag")).physical_offset
    for key in ("one", "two", "U"):
        assert find(store, key) == [both]
    assert find(store, "tag") == []
    assert find(store, "tag", kind="T") == [both]
    assert find(store, "one", kind="K") == find(store, "one", kind="U") == [both]
    assert find(store, "one", topic="Other") == []
    half = store.put(
        Message("T", 0, b"", properties("H", None, None), sys_flag=SysFlag.PREPARED)
    ).physical_offset
    store.put(Message("T", 0, b"", properties("R", None, None), sys_flag=SysFlag.ROLLBACK))
    assert find(store, "H") == [half]
    assert find(store, "R") == []


def test_hashes_collide(bench):
    store = bench.open()
    offsets = [store.put(keyed(key)).physical_offset for key in ("Aa", "BB", "C")]
    assert find(store, "Aa") == find(store, "BB") == offsets[:2]


def test_the_one_hash_without_a_positive_counterpart():
    # hashCode() is -2**31.
    assert key_hash("polygenelubricants") == 0
    assert [positive(value) for value in (0x80000000, 0x80000001, 0xFFFFFFFF)] == [0, 2**31 - 1, 1]


def test_at_most_so_many_the_newest_first(bench):
    store = bench.open(max_msgs_num_batch=5)
    offsets = [store.put(keyed("k")).physical_offset for _ in range(30)]
    assert find(store, "k", most=3) == offsets[-3:]
    assert find(store, "k", most=64) == offsets[-5:]
    assert find(store, "k", most=0) == []


def test_time_counts_in_seconds_from_the_beginning_of_a_file(bench):
    store = bench.open()
    times = []
    offsets = []
    for _ in range(8):
        bench.clock.millis += 1499
        put = store.put(keyed("k"))
        times.append(put.store_timestamp)
        offsets.append(put.physical_offset)
    for begin in range(times[0] - 2000, times[-1] + 2000, 250):
        for end in range(begin, times[-1] + 3000, 500):
            inside = [
                offset
                for at, offset in enumerate(offsets)
                if begin <= times[0] + (times[at] - times[0]) // 1000 * 1000 <= end
            ]
            covered = begin <= times[-1] and end >= times[0]
            assert find(store, "k", begin=begin, end=end) == (inside if covered else [])


def test_what_a_search_says_of_the_index(bench):
    store = bench.open()
    for number in range(20):
        last = store.put(keyed(f"k{number}"))
    search = store.plan_query("T", "k0", 64, 0, EVER)
    search.run()
    assert (search.updated_timestamp, search.updated_offset) == (
        last.store_timestamp,
        last.physical_offset,
    )
    nothing = store.plan_query("T", "none", 64, 0, EVER)
    nothing.run()
    assert (nothing.updated_timestamp, nothing.updated_offset) == (0, 0)


def test_without_an_index(bench):
    store = bench.open(message_index_enable=False)
    store.put(keyed("k"))
    assert find(store, "k") == []
    bench.close(store)
    assert index_files(bench) == []


def test_switched_off_it_still_answers_for_what_it_has(bench):
    store = bench.open()
    store.put(keyed("other"))
    offset = store.put(keyed("k")).physical_offset
    bench.close(store)
    store = bench.open(message_index_enable=False)
    store.put(keyed("k"))
    assert find(store, "k") == [offset]
    bench.kill(store)
    assert find(bench.open(message_index_enable=False), "k") == [offset]


def test_old_files_go_when_their_messages_are_gone(bench):
    store = bench.open()
    offsets = [store.put(keyed(f"k{number}")).physical_offset for number in range(30)]
    index = store._index
    # The first file ends with message 10, the second with message 21.
    assert index.delete_before(offsets[29] + 1) == []
    checkpoint(store)
    assert index.delete_before(offsets[10]) == []
    planned = store.plan_query("T", "k0", 64, 0, EVER)
    deleted = index.delete_before(offsets[10] + 1)
    assert deleted == [str(index_files(bench)[0])]
    checkpoint(store)
    assert len(index_files(bench)) == 2
    planned.run()
    assert planned.offsets == []
    assert find(store, "k0") == []
    assert find(store, "k11") == [offsets[11]]
    # The last file stays, whatever it holds.
    assert index.delete_before(offsets[29] + 1) == [str(index_files(bench)[0])]
    bench.close(store)
    assert len(index_files(bench)) == 1
    store = bench.open()
    assert find(store, "k29") == [offsets[29]]


def test_what_a_failed_write_owes_is_written_later(bench, monkeypatch):
    store = bench.open()
    model = Model(SLOTS, ENTRIES)
    write = index_writing.write_fully
    left = 0

    def failing(fd, chunks, position):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "full")
        write(fd, chunks, position)

    monkeypatch.setattr(index_writing, "write_fully", failing)
    for number in range(40):
        put = store.put(keyed(f"k{number}", "all"))
        model.put("T", properties(None, f"k{number} all", None), 0, *place(put))
        while store.write_derived():
            pass
        left = number % 9
        planned = store.plan_checkpoint()
        between = store.put(keyed("between"))
        model.put("T", properties(None, "between", None), 0, *place(between))
        try:
            planned.run()
        except StoreError:
            assert left < 0
        assert len(find(store, f"k{number}")) == 1
        assert len(find(store, "between")) == min(number + 1, 64)
    left = 1000
    bench.close(store)
    assert images(bench) == model.images()


def test_keys_are_entered_as_ever_once_the_slots_are_copied(bench):
    store = bench.open(max_hash_slot_num=100, max_index_num=100)
    first = store.put(keyed("k")).physical_offset
    while store.write_derived():
        pass
    planned = store.plan_checkpoint()
    (file,) = store._index.files
    assert file._slots.waits
    planned._index.copy()
    second = store.put(keyed("k")).physical_offset
    assert find(store, "k") == [first, second]
    assert not file._slots.waits
    # What came after the copy is not in the file, and a crash leaves no trace of it there.
    planned.run()
    image = index_files(bench)[0].read_bytes()
    assert parse_header(image[:40]).count == 2
    slots = struct.unpack(">100i", image[40:440])
    assert sorted(slots)[-2:] == [0, 1]
    bench.kill(store)
    assert find(bench.open(max_hash_slot_num=100, max_index_num=100), "k") == [first, second]


def place(put):
    return put.physical_offset, put.store_timestamp


def entered(table, hashes, number):
    """The entries that the slots of these keys had before."""
    nothing = [0] * len(hashes)
    entries, free = table.enter(hashes, nothing, nothing, 0, number)
    before = [entry[3] for entry in iter_entries(entries)]
    assert free == before.count(0)
    return before


def test_slots_are_written_by_pages_of_the_file():
    table = SlotTable(3 * PAGE_SLOTS)
    hashes = [0, PAGE_SLOTS - SHIFT - 1, PAGE_SLOTS - SHIFT, 3 * PAGE_SLOTS - 1]
    assert entered(table, hashes, 1) == [0, 0, 0, 0]
    assert table.freeze() == [
        (0, 2 * PAGE_SLOTS - SHIFT),
        (3 * PAGE_SLOTS - SHIFT, 3 * PAGE_SLOTS),
    ]
    assert entered(table, [0, 5], 5) == [1, 0]
    assert (table.values[0], table.entry_of(0), table.entry_of(5)) == (1, 5, 6)
    table.thaw([(3 * PAGE_SLOTS - SHIFT, 3 * PAGE_SLOTS)])
    assert table.freeze() == [
        (0, PAGE_SLOTS - SHIFT),
        (3 * PAGE_SLOTS - SHIFT, 3 * PAGE_SLOTS),
    ]
    assert table.values[0] == 5


def test_files_of_the_usual_size_take_little_room(bench):
    store = bench.open(max_hash_slot_num=5_000_000, max_index_num=20_000_000)
    offsets = [store.put(keyed(f"k{number}")).physical_offset for number in range(50)]
    bench.close(store)
    (path,) = index_files(bench)
    assert path.stat().st_size == 420_000_040
    assert path.stat().st_blocks * 512 < 1_000_000
    store = bench.open(max_hash_slot_num=5_000_000, max_index_num=20_000_000)
    assert [find(store, f"k{number}") for number in range(50)] == [[place] for place in offsets]


def test_the_model_knows_the_keys():
    assert keys_of("T", properties("U", " a  b ", "x")) == ["T#U", "T#a", "T#b", "T#T#x"]

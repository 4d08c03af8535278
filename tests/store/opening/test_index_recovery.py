"""The index after a crash: complete, without duplicates, and with nothing beyond the end of the log."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.store.index.test_index import (
    ENTRIES,
    EVER,
    SLOTS,
    Player,
    checkpoint,
    find,
    images,
    index_files,
    keyed,
    properties,
)
from tests.store.index_model import Model
from tests.store.opening.test_recovery import cut_log
from trimq.codec.entries.index import parse_header
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.index import writing as index_writing
from trimq.store.opening import index_recovery
from trimq.store.upkeep import checkpointing
from trimq.store.upkeep.checkpoint_file import load_checkpoint, save_checkpoint

SECTOR = 40


class Power:
    """Writes of index files since their last sync; a power loss leaves any part of them.

    `ops` is how many more changes reach the kernel before the process dies.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ops = 1 << 30
        self.killed = False
        self.durable: dict[str, bytes] = {}
        self._write = index_writing.write_fully
        self._save = checkpointing.save_checkpoint
        patch.setattr(index_writing, "write_fully", self.write)
        patch.setattr(index_writing, "sync_data", self.sync)
        patch.setattr(checkpointing, "save_checkpoint", self.save)
        # Power goes only when `lose` is called.
        patch.setattr(os, "fdatasync", lambda fd: None)
        patch.setattr(os, "fsync", lambda fd: None)

    def _count(self) -> None:
        self.ops -= 1
        if self.ops < 0:
            raise OSError("killed")

    def write(self, fd, chunks, position):
        self._count()
        path = os.readlink(f"/proc/self/fd/{fd}")
        self.durable.setdefault(path, b"")
        self._write(fd, chunks, position)

    def sync(self, fd):
        self._count()
        path = os.readlink(f"/proc/self/fd/{fd}")
        self.durable[path] = Path(path).read_bytes()

    def save(self, path, saved):
        self._count()
        self._save(path, saved)

    def lose(self, folder: Path, source: random.Random) -> None:
        """Every sector is the old one or the new one."""
        for path in sorted(folder.iterdir() if folder.exists() else []):
            new = path.read_bytes()
            old = self.durable.get(str(path), new).ljust(len(new), b"\0")
            sectors = range(0, len(new), SECTOR)
            kept = [source.choice((old, new))[at : at + SECTOR] for at in sectors]
            path.write_bytes(b"".join(kept))


class Sent(Model):
    """Remembers what was put, and forgets what the log has lost."""

    def __init__(self) -> None:
        super().__init__(SLOTS, ENTRIES)
        self.messages: list[tuple] = []

    def put(self, *message) -> None:
        self.messages.append(message)

    def cut(self, log_end: int) -> None:
        self.messages = [message for message in self.messages if message[3] < log_end]

    def images(self) -> list[bytes]:
        for message in self.messages:
            super().put(*message)
        return super().images()


def play_until_killed(bench, steps, power, ops, model):
    """Open what there is and play; the crash comes with a checkpoint, when `ops` are used up."""
    power.ops = ops
    store = None
    try:
        store = bench.open()
        player = Player(bench, store)
        player.model = model
        model.cut(store.max_physical_offset)
        for step in [*steps, "plan", "run"]:
            player.play(step)
    except StoreError:
        assert power.ops < 0
    power.killed = power.ops < 0
    power.ops = 1 << 30
    bench.end()
    return store


def counted(image: bytes) -> bytes:
    """Behind the last entry, a crash may leave anything."""
    count = parse_header(image[:40]).count
    return image[: 40 + 4 * SLOTS + 20 * count]


def dense_steps(seed):
    """Messages with several keys, and a checkpoint after every few of them."""
    source = random.Random(seed)
    played = []
    for _ in range(2):
        for _ in range(source.randrange(1, 9)):
            keys = " ".join(source.choices("abcdef", k=source.randrange(4)))
            played.append(("T", source.choice("uvw"), keys, source.choice("xy"), 0, 700))
            if source.random() < 0.2:
                played.append("plan")
        played += ["run", "derive", "plan", "run"]
    return played


def crashes(bench, seed):
    """Every moment of a checkpoint at which a crash can come; a new store each time."""
    for ops in range(1000):
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            bench.root = Path(folder)
            power = Power(patch)
            model = Sent()
            store = play_until_killed(bench, dense_steps(seed), power, ops, model)
            killed = power.killed
            yield random.Random(f"{seed} {ops}"), power, store, model
            if not killed:
                return


def test_killed_in_the_middle_of_a_checkpoint(bench, times):
    for seed in range(times):
        for _, power, _, model in crashes(bench, seed):
            play_until_killed(bench, dense_steps(seed + 1), power, 1 << 30, model)
            assert images(bench) == model.images()


def test_power_lost_in_the_middle_of_checkpoints(bench, times):
    """Twice in a row. Some of the log may be gone too, but nothing that was flushed."""
    for seed in range(3 * times):
        for source, power, store, model in crashes(bench, seed):
            lose(bench, source, power, store)
            steps, ops = dense_steps(seed + 1), source.randrange(25)
            lose(bench, source, power, play_until_killed(bench, steps, power, ops, model))
            play_until_killed(bench, dense_steps(seed + 2), power, 1 << 30, model)
            assert [counted(image) for image in images(bench)] == [
                counted(image) for image in model.images()
            ]


def lose(bench, source, power, store):
    power.lose(bench.root / "index", source)
    if store is not None:
        lost = source.choice((0, 100, 300, 3000))
        cut_log(bench, max(store.flushed_offset, store.max_physical_offset - lost))


def fill(store, first, last, **more):
    return [store.put(keyed(f"k{n}", "all", **more)).physical_offset for n in range(first, last)]


def test_only_what_came_after_the_checkpoint_is_added_again(bench, monkeypatch):
    store = bench.open()
    fill(store, 0, 20)
    checkpoint(store)
    before = images(bench)
    fill(store, 20, 23)
    bench.kill(store)
    assert images(bench) == before
    added = []
    monkeypatch.setattr(
        index_recovery.Index, "add", lambda self, message, skip: added.append((message, skip))
    )
    store = bench.open()
    assert [message.queue_offset for message, skip in added if skip == 0] == [20, 21, 22]
    bench.kill(store)


def test_ours_vouches_for_its_files_to_a_real_broker(bench, monkeypatch):
    """After a crash a real broker deletes files that end after the checkpoint's index timestamp."""
    power = Power(monkeypatch)
    for ops in range(30):
        store = bench.open()
        fill(store, 0, 7)
        while store.write_derived():
            pass
        power.ops = ops
        try:
            store.plan_checkpoint().run()
        except StoreError:
            assert power.ops < 0
        power.ops = 1 << 30
        bench.kill(store)
        vouched = load_checkpoint(bench.root / "checkpoint").index_timestamp
        ends = [parse_header(image[:40]) for image in images(bench)]
        beyond = [header for header in ends if header.end_timestamp > vouched]
        # But for one that holds nothing yet.
        assert all(header.count == 1 for header in beyond)


def unvouch(bench, timestamp):
    """As a real broker leaves it: it vouches for full files only."""
    path = bench.root / "checkpoint"
    saved = load_checkpoint(path)
    saved.index_timestamp = timestamp
    save_checkpoint(path, saved)


def damage(path, at=40 + 4 * SLOTS + 20):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(40))


@pytest.mark.parametrize("full", [0, 1, 2])
def test_a_file_that_nothing_vouches_for_is_rebuilt(bench, full):
    store = bench.open()
    model = Model(SLOTS, ENTRIES)
    for number in range(15):
        put = store.put(keyed(f"k{number}", "all"))
        packed = properties(None, f"k{number} all", None)
        model.put("T", packed, 0, put.physical_offset, put.store_timestamp)
    checkpoint(store)
    bench.kill(store)
    paths = index_files(bench)
    assert len(paths) == 3
    unvouch(bench, parse_header(images(bench)[full - 1][:40]).end_timestamp if full else 0)
    for path in paths[full:]:
        damage(path)
    store = bench.open()
    assert all(len(find(store, f"k{number}")) == 1 for number in range(15))
    assert len(find(store, "all")) == 15
    assert not set(paths[full:]) & set(index_files(bench))
    bench.kill(store)
    store = bench.open()
    bench.close(store)
    assert images(bench) == model.images()


def test_a_crash_while_a_file_is_rebuilt(bench, monkeypatch):
    monkeypatch.setattr(index_recovery, "LARGEST_TAIL", 50)
    monkeypatch.setattr(index_recovery, "LOOK_EVERY", 1)
    power = Power(monkeypatch)
    for ops in range(0, 60, 5):
        store = bench.open()
        fill(store, 0, 8)
        while store.write_derived():
            pass
        store.plan_checkpoint().run()
        bench.kill(store)
        total = len(bench_all(bench))
        unvouch(bench, 0)
        power.ops = ops
        try:
            bench.kill(bench.open())
        except StoreError:
            assert power.ops < 0
            bench.end()
        power.ops = 1 << 30
        store = bench.open(max_msgs_num_batch=10_000)
        assert len(find(store, "all", most=10_000)) == total
        bench.kill(store)


def bench_all(bench):
    """Every message of the log."""
    store = bench.open()
    found = bench.records(store)
    bench.kill(store)
    return found


def test_a_clean_stop_of_a_real_broker_makes_its_file_good(bench):
    store = bench.open()
    fill(store, 0, 3)
    bench.close(store)
    unvouch(bench, 0)
    before = images(bench)
    bench.kill(bench.open())
    assert load_checkpoint(bench.root / "checkpoint").index_timestamp > 0
    store = bench.open()
    assert images(bench) == before
    bench.close(store)


def test_a_message_whose_keys_are_only_half_there(bench):
    """A real broker's file was full in the middle of a message; the next one was lost."""
    store = bench.open()
    fill(store, 0, 5)
    last = store.put(keyed("x", "y", unique="u")).physical_offset
    bench.close(store)
    paths = index_files(bench)
    assert [parse_header(image[:40]).count for image in images(bench)] == [12, 3]
    paths[1].unlink()
    store = bench.open()
    assert (find(store, "u"), find(store, "x"), find(store, "y")) == ([last], [last], [last])


def test_a_shortened_log_takes_its_keys_along(bench):
    store = bench.open()
    offsets = fill(store, 0, 12)
    checkpoint(store)
    bench.kill(store)
    cut_log(bench, offsets[4])
    store = bench.open()
    assert bench.report.cut
    assert find(store, "all") == offsets[:4]
    more = fill(store, 4, 9)
    assert find(store, "all") == offsets[:4] + more
    bench.kill(store)
    store = bench.open()
    assert find(store, "all") == offsets[:4] + more


def test_files_of_another_shape_are_refused(bench):
    store = bench.open()
    fill(store, 0, 3)
    bench.close(store)
    with pytest.raises(StoreDamaged, match="maxHashSlotNum and maxIndexNum say 328"):
        bench.open(max_index_num=13)
    bench.close(bench.open())


def test_a_file_that_was_just_being_made(bench):
    store = bench.open()
    fill(store, 0, 3)
    checkpoint(store)
    bench.kill(store)
    (path,) = index_files(bench)
    (path.parent / "99990101000000000").write_bytes(b"")
    store = bench.open()
    assert len(find(store, "all")) == 3
    assert index_files(bench) == [path]


def test_a_file_with_slots_that_are_nonsense_is_made_anew(bench):
    store = bench.open()
    before = fill(store, 0, 3)
    bench.close(store)
    (path,) = index_files(bench)
    with path.open("r+b") as file:
        file.seek(40)
        file.write(struct.pack(">7i", *[-5, 2**31 - 1, 12, 11, -1, 10, 99]))
    store = bench.open()
    assert find(store, "all") == before
    assert (bench.root / "damaged" / f"index_{path.name}").is_file()
    offsets = fill(store, 3, 9)
    assert find(store, "all", begin=0, end=EVER) == before + offsets

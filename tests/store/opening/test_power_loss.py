"""The power goes at any moment, again and again, also while the store is being opened.

What a flush had returned for is there; what came later is there from its start up to some record;
nothing else ever is, and the store opens.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.store.power_loss import Recorder, Recording
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.multi_dispatch import light_places
from trimq.codec.records.properties import find_property
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Appended, AppendedBatch, Message
from trimq.store.upkeep import checkpointing

SCENARIOS = 25
LIVES = 4
# The last one is of type BatchCQ: several messages in a record, queues of their own kind.
TOPICS = ("T", "U", "much-longer-topic", "B")
QUEUE_TYPES = {"B": "BatchCQ"}
LIGHT = (b"%LMQ%a", b"%LMQ%b", b"%LMQ%$T$much-longer")
WORDS = (b"red", b"green", b"blue")
Key = tuple[str, int, int, int]


def inner_batch(topic: str, queue_id: int, bodies: list[bytes]) -> Message:
    flag = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
    properties = b"UNIQ_KEY\x01u\x02INNER_NUM\x01%d\x02" % len(bodies)
    body = join_batch([BatchItem(0, body, b"") for body in bodies])
    return Message(topic, queue_id, body, properties, sys_flag=flag)


def one_by_one(batch: AppendedBatch) -> list[Appended]:
    """Where each message of the batch stands."""
    places: list[Appended] = []
    position = batch.physical_offset
    for number, size in enumerate(batch.sizes):
        places.append(Appended(batch.queue_offset + number, position, size, 0))
        position += size
    return places


class Truth:
    """What was ever written, what has to be there, and what was seen to be lost."""

    def __init__(self) -> None:
        self.written: dict[Key, bytes] = {}
        self.promised: set[Key] = set()
        self.lost: set[Key] = set()

    def check(self, store: MessageStore) -> None:
        """Compare with everything that the store serves."""
        served: dict[Key, bytes] = {}
        for topic in TOPICS:
            for queue_id in store.queues(topic):
                served.update(queue_content(store, topic, queue_id))
        missing = self.promised - served.keys()
        assert not missing, f"{len(missing)} promised messages are gone: {sorted(missing)[:3]}"
        back = self.lost & served.keys()
        assert not back, f"lost messages came back: {sorted(back)[:3]}"
        for key, body in served.items():
            assert self.written[key] == body, key
        self.lost |= self.written.keys() - served.keys()
        self.written = served
        check_index(store, served)
        check_light(store, served)


def check_index(store: MessageStore, served: dict[Key, bytes]) -> None:
    """Every message is found by each of its keys, once; nothing else is."""
    expected: dict[tuple[str, bytes], list[int]] = {}
    for topic, _, _, place in sorted(served, key=lambda key: key[3]):
        data = store.record_at(place)
        assert data is not None
        words = find_property(parse_record(data).properties, b"KEYS") or b""
        for word in words.split():
            expected.setdefault((topic, word), []).append(place)
    for topic in TOPICS:
        for word in WORDS:
            search = store.plan_query(topic, word.decode(), 1 << 20, 0, 1 << 62)
            search.run()
            assert search.offsets == expected.get((topic, word), []), (topic, word)


def check_light(store: MessageStore, served: dict[Key, bytes]) -> None:
    """Light queues have what the records say, and nothing else."""
    expected: dict[tuple[str, int], int] = {}
    for _, _, _, place in served:
        data = store.record_at(place)
        assert data is not None
        expected.update(dict.fromkeys(light_places(parse_record(data).properties), place))
    found: dict[tuple[str, int], int] = {}
    for name in (light.decode() for light in LIGHT):
        for offset in range(store.min_offset(name, 0), store.max_offset(name, 0)):
            entry = store.queue_entry(name, 0, offset)
            assert entry is not None
            found[name, offset] = entry.physical_offset
    assert found == expected


def queue_content(store: MessageStore, topic: str, queue_id: int) -> dict[Key, bytes]:
    found: dict[Key, bytes] = {}
    before = -1
    offset = max(store.min_offset(topic, queue_id), 0)
    while offset < store.max_offset(topic, queue_id):
        entry = store.queue_entry(topic, queue_id, offset)
        assert entry is not None
        assert entry.physical_offset > before
        before = entry.physical_offset
        data = store.record_at(entry.physical_offset)
        assert data is not None
        record = parse_record(data)
        assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, offset)
        assert len(data) == entry.size
        found[topic, queue_id, offset, entry.physical_offset] = record.body + record.properties
        inside = find_property(record.properties, b"INNER_NUM")
        offset += int(inside) if inside else 1
    assert offset == store.max_offset(topic, queue_id)
    return found


class Life:
    """A store from its opening to its end, doing what chance says."""

    def __init__(self, root: Path, chance: random.Random, truth: Truth, counts: Counter[str]):
        self._root = root
        self._chance = chance
        self._truth = truth
        self._counts = counts
        self._recorder = Recorder(root)
        self._recording = self._recorder.recording
        self._unflushed: list[tuple[int, Key]] = []
        # Where records begin.
        self._places: set[int] = set()

    def run(self, steps: int, sync: bool) -> Recording:
        chance = self._chance
        config = StoreConfig(
            root=self._root,
            mapped_file_size_commit_log=chance.choice((4096, 8192)),
            mapped_file_size_consume_queue=20 * chance.choice((30, 40)),
            queue_buffer_bytes=chance.choice((60, 2000)),
            open_files=4,
        )
        config = self._kept(config)
        with self._recorder.running() as recording:
            store = MessageStore(config, lambda: 1)
            store.open(QUEUE_TYPES)
            recording.mark("open")
            self._truth.check(store)
            self._unflushed = [
                (key[3] + 1, key) for key in self._truth.written.keys() - self._truth.promised
            ]
            self._places = {key[3] for key in self._truth.written}
            for _ in range(steps):
                self._step(store, sync)
            if chance.random() < 0.3:
                store.close()
                self._promise(1 << 62)
            else:
                store.abandon()
        return recording

    def _kept(self, config: StoreConfig) -> StoreConfig:
        """File sizes are chosen once in a store's life."""
        sizes = self._root / "sizes"
        self._root.mkdir(exist_ok=True)
        if sizes.exists():
            log, queue = map(int, sizes.read_text().split())
        else:
            log, queue = config.mapped_file_size_commit_log, config.mapped_file_size_consume_queue
            sizes.write_text(f"{log} {queue}")
            self._recorder = Recorder(self._root)
            self._recording = self._recorder.recording
        return StoreConfig(
            root=self._root,
            mapped_file_size_commit_log=log,
            mapped_file_size_consume_queue=queue,
            mapper_file_size_batch_consume_queue=queue // 20 * 46,
            enable_consume_queue_ext=queue == 20 * 40,
            mapped_file_size_consume_queue_ext=1024,
            queue_buffer_bytes=config.queue_buffer_bytes,
            open_files=config.open_files,
            max_hash_slot_num=40,
            max_index_num=60,
            max_msgs_num_batch=1 << 20,
            enable_lmq=True,
            enable_multi_dispatch=True,
        )

    def _step(self, store: MessageStore, sync: bool) -> None:
        kinds = ("send", "flush", "derive", "checkpoint", "cut")
        kind = self._chance.choices(kinds, (20, 4, 6, 2, 1))[0]
        self._counts[kind] += 1
        if kind == "send":
            self._send(store)
        elif kind == "cut":
            self._cut(store)
        elif kind == "derive":
            store.write_derived()
        elif kind == "checkpoint":
            while store.write_derived():
                pass
            store.plan_checkpoint().run()
            self._promise(store.flushed_offset)
        if kind == "flush" or (sync and kind == "send"):
            self._promise(store.flush())

    def _send(self, store: MessageStore) -> None:
        chance = self._chance
        sent: list[tuple[Key, bytes]] = []
        for _ in range(chance.randint(1, 4)):
            topic, queue_id = chance.choice(TOPICS), chance.randrange(3)
            bodies = [self._body() for _ in range(chance.choice((1, 1, 1, 3)))]
            message = Message(topic, queue_id, bodies[0], self._keys())
            if topic in QUEUE_TYPES and len(bodies) > 1:
                message = inner_batch(topic, queue_id, bodies)
                bodies = [message.body]
                where = [store.stage(message)]
            elif len(bodies) == 1:
                if chance.random() < 0.1:
                    message.properties += b"k\x01" + bodies[0].hex().encode() * 3 + b"\x02"
                if chance.random() < 0.5:
                    names = b",".join(chance.sample(LIGHT, chance.randint(1, 3)))
                    message.properties += b"INNER_MULTI_DISPATCH\x01" + names + b"\x02"
                where = [store.stage(message)]
            else:
                items = [BatchItem(0, body, message.properties) for body in bodies]
                message.body = join_batch(items)
                where = one_by_one(store.stage_batch(message))
            for body, at in zip(bodies, where, strict=True):
                key = (topic, queue_id, at.queue_offset, at.physical_offset)
                sent.append((key, body + message.properties))
                self._unflushed.append((at.end, key))
                self._places.add(at.physical_offset)
        # Written before it is known: some of it may survive all the same.
        self._recording.mark(("written", dict(sent)))
        store.write_staged()
        self._counts["messages"] += len(sent)

    def _cut(self, store: MessageStore) -> None:
        """What goes may be there or not until it is done; then it must not come back."""
        if not self._places:
            return
        end = self._chance.choice(sorted(self._places)[-20:])
        self._places = {place for place in self._places if place < end}
        self._unflushed = [one for one in self._unflushed if one[1][3] < end]
        self._recording.mark(("cutting", end))
        # With somebody who reads there, a copy takes the file's place.
        held = store.hold([(end, 8)]) if self._chance.random() < 0.5 else None
        # Within a record or at its end, it is the one before that is the last.
        store.cut(min(end + self._chance.choice((0, 0, 7)), store.max_physical_offset))
        if held is not None:
            held.release()
        self._recording.mark(("cut", end))

    def _keys(self) -> bytes:
        words = self._chance.sample(WORDS, self._chance.randrange(3))
        return b"KEYS\x01" + b" ".join(words) + b"\x02" if words else b""

    def _body(self) -> bytes:
        return self._chance.randbytes(self._chance.choice((8, 20, 60, 200, 450)))

    def _promise(self, offset: int) -> None:
        kept = {key for end, key in self._unflushed if end <= offset}
        self._unflushed = [one for one in self._unflushed if one[0] > offset]
        self._recording.mark(("promised", kept))


def after(truth: Truth, recording: Recording, moment: int) -> Truth:
    """What is known of a life that ended at that moment."""
    marks = recording.marks(moment)
    known = Truth()
    known.written, known.promised = dict(truth.written), set(truth.promised)
    known.lost = set(truth.lost)
    for mark in marks:
        if mark != "open":
            what, content = mark
            if what == "written":
                known.written.update(content)
                # Another message may get the place of a lost one.
                known.lost -= content.keys()
            elif what == "cutting":
                known.promised = {key for key in known.promised if key[3] < content}
            elif what == "cut":
                known.lost |= {key for key in known.written if key[3] >= content}
            else:
                known.promised |= content
    return known


def play(folder: Path, seed: int, sync: bool, counts: Counter[str]) -> None:
    chance = random.Random(seed)
    truth = Truth()
    root = folder / f"{seed}-0"
    if chance.random() < 0.2:
        # Where the halves of an offset are written with different sectors.
        (root / "commitlog").mkdir(parents=True)
        (root / "commitlog" / f"{(1 << 32) - 4096:020d}").write_bytes(bytes(4096))
        (root / "sizes").write_text("4096 600")
    for number in range(LIVES):
        before = after(truth, Recording(Recorder(root)._top), 0)
        recording = Life(root, chance, truth, counts).run(chance.randint(5, 60), sync)
        opened = recording.events.index(("mark", "open"))
        moments = len(recording.events)
        moment = chance.randint(0, moments)
        if chance.random() < 0.3:
            # In the middle of opening.
            moment = chance.randint(0, opened)
        following = folder / f"{seed}-{number + 1}"
        recording.crash(moment, chance, following)
        counts["power losses"] += 1
        truth = after(truth if moment > opened else before, recording, moment)
        shutil.rmtree(root)
        root = following
    Life(root, chance, truth, counts).run(3, sync)
    shutil.rmtree(root)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_power_losses(memory_path, monkeypatch, times, sync):
    counts: Counter[str] = Counter()
    first = random.randrange(1 << 30) if times > 1 else 0
    for seed in range(first, first + SCENARIOS * times):
        monkeypatch.setattr(checkpointing, "SYNCED_ONE_BY_ONE", 256 if seed % 4 else 1)
        try:
            play(memory_path, seed, sync, counts)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    print(f"power loss ({'sync' if sync else 'async'}):", dict(counts))

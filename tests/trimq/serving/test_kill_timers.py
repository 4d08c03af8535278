"""A whole server with timer messages, killed with -9 at any moment.

Every message that was answered is delivered: once, not before its time, and in the order of the sends of its
slot. Messages roll on their way, and what was recalled in time does not come.
"""

import random
import threading
import time
from collections import Counter
from pathlib import Path

from tests.conftest import Kills
from tests.patience import until
from tests.requests import send_header_v2
from tests.trimq.serving.forge import Forge
from tests.trimq.serving.killed import OFTEN_CHECKPOINTED, Server, pull_all
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.record import Record
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import PeerGone, RemotingError

TOPIC = "Timers"
QUEUES = 2
SETTINGS = {
    **OFTEN_CHECKPOINTED,
    "mappedFileSizeCommitLog": 256 * 1024,
    "mappedFileSizeTimerLog": 52 * 500 + 20,
    # Messages for more than four seconds roll.
    "timerRollWindowSlot": 4,
    "timerFlushIntervalMs": 400,
}
# A recall that is answered so long before the time counts.
IN_TIME_MILLIS = 1200
# Recovering, rolling and delivering, on a busy machine.


class Sent:
    """A message that may be delivered: what was asked for, and what was answered."""

    def __init__(self, unique: str, due: int, queue_id: int) -> None:
        self.unique = unique
        self.due = due
        self.queue_id = queue_id
        self.answered = False
        self.recall_asked = False
        self.recalled = False
        # When the recall was answered.
        self.recalled_at = 0


def now_millis() -> int:
    return time.time_ns() // 1_000_000


class Producer(threading.Thread):
    """Sends timer messages one after the other, and recalls some, until the server is gone."""

    def __init__(self, addr: str, name: str, seed: int) -> None:
        super().__init__()
        self._client = BlockingClient(addr, timeout=60)
        self._name = name
        self._chance = random.Random(seed)
        self.sent: list[Sent] = []
        self.failed = ""

    def run(self) -> None:
        try:
            while True:
                self._send_one()
                if self._chance.random() < 0.1:
                    self._recall(self._chance.choice(self.sent))
        except (PeerGone, RemotingError):
            self._client.close()
        except AssertionError as error:
            self.failed = repr(error)

    def _send_one(self) -> None:
        delay = self._chance.choice((1, 300, 1000, 2000, 2500, 3000, 5000, 9000))
        unique = f"{self._name}-{len(self.sent):06d}"
        one = Sent(unique, now_millis() + delay, self._chance.randrange(QUEUES))
        self.sent.append(one)
        self._put(one, unique.encode(), {})
        one.answered = True

    def _recall(self, one: Sent) -> None:
        if one.due - now_millis() < IN_TIME_MILLIS or one.recall_asked:
            return
        one.recall_asked = True
        self._put(one, b"0", {"TIMER_DEL_UNIQKEY": one.unique})
        one.recalled_at = now_millis()
        one.recalled = one.due - one.recalled_at > IN_TIME_MILLIS // 2

    def _put(self, one: Sent, body: bytes, more: dict[str, str]) -> None:
        properties = {"UNIQ_KEY": one.unique, "TIMER_DELIVER_MS": str(one.due), **more}
        header = send_header_v2(
            TOPIC,
            default_topic_queue_nums=QUEUES,
            queue_id=one.queue_id,
            properties=format_properties(properties).decode(),
        )
        answer = self._client.request(RequestCode.SEND_MESSAGE_V2, header, body)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)


def waiting(client: BlockingClient) -> int:
    """On the wheel, or not read yet."""
    answer = client.request(RequestCode.GET_BROKER_RUNTIME_INFO, None)
    table = decode_body(KVTable, bytes(answer.body)).table
    return int(table["timerCongestNum"]) + int(table["timerOffsetBehind"])


def wait_until_all_is_out(client: BlockingClient, last_due: int) -> None:
    """Recalls count downwards, so it may be zero too early; nobody waits after the last time."""
    # Asked from the beginning: a connection that sends nothing for ten seconds is closed (firstByteSeconds).
    until(
        lambda: not waiting(client) and now_millis() >= last_due + 3000,
        lambda: f"{waiting(client)} wait still",
    )


def in_time(one: Sent, downs: list[tuple[int, int]]) -> bool:
    """Whether a server was up between the recall and the message's time, for long enough to read it."""
    return not any(
        one.recalled_at <= killed < one.due < ready + IN_TIME_MILLIS // 2 for killed, ready in downs
    )


def check(
    sent: list[Sent], records: list[Record], counts: Counter[str], downs: list[tuple[int, int]]
) -> None:
    by_key = {one.unique: one for one in sent}
    found: Counter[str] = Counter(record.body.decode() for record in records)
    twice = [
        (
            record.body,
            record.queue_offset,
            record.store_timestamp,
            parse_properties(record.properties),
        )
        for record in records
        if found[record.body.decode()] > 1
    ]
    assert not twice, sorted(twice, key=lambda one: one[:2])[:2]
    order: dict[tuple[str, int, str, str], list[str]] = {}
    for record in records:
        key = record.body.decode()
        one = by_key[key]
        assert record.queue_id == one.queue_id
        assert record.store_timestamp >= one.due, f"{key} is early"
        assert not (one.recalled and in_time(one, downs)), f"{key} was recalled"
        properties = parse_properties(record.properties)
        counts["rolled"] += "TIMER_ROLL_TIMES" in properties
        slot = properties.get("TIMER_OUT_MS", "")
        straight = "TIMER_ROLL_TIMES" not in properties and slot
        if straight and properties["TIMER_ENQUEUE_MS"] != str(2**63 - 1):
            sender = key.rpartition("-")[0]
            order.setdefault((sender, record.queue_id, slot, ""), []).append(key)
    for keys in order.values():
        assert keys == sorted(keys)
    for one in sent:
        if one.answered and not one.recall_asked:
            assert found[one.unique] == 1, f"{one.unique} is lost"
    counts["delivered"] += len(records)
    counts["recalled"] += sum(one.recalled for one in sent)


def started(folder: Path, forge: Forge) -> Server:
    server = Server(folder / "store", folder / "server.log", SETTINGS, forge)
    server.wait_ready()
    return server


def test_kill_9_under_timers(tmp_path: Path, kills: Kills, forge: Forge) -> None:
    chance = random.Random(kills.seed)
    counts: Counter[str] = Counter()
    sent: list[Sent] = []
    log = tmp_path / "server.log"
    server: Server | None = None
    # When one was killed, and when the next one was ready.
    downs: list[tuple[int, int]] = []
    killed = 0
    try:
        for number in range(kills.count):
            server = started(tmp_path, forge)
            downs.append((killed, now_millis()))
            producers = [
                Producer(server.broker_addr, f"{number:05d}-{at}", chance.randrange(1 << 30))
                for at in range(2)
            ]
            for producer in producers:
                producer.start()
            # How long it lives: into the first slots, or into those that are due later.
            server.live(chance.choice((0.2, 0.5, 0.9, 1.3, 2.3)))
            killed = now_millis()
            server.kill()
            counts["kills"] += 1
            for producer in producers:
                producer.join()
                assert not producer.failed, producer.failed
                sent += producer.sent
        server = started(tmp_path, forge)
        downs.append((killed, now_millis()))
        with BlockingClient(server.broker_addr, timeout=60) as client:
            wait_until_all_is_out(client, max(one.due for one in sent))
            records = [one for queue in range(QUEUES) for one in pull_all(client, (TOPIC, queue))]
        server.kill()
        check(sent, records, counts, downs)
    except BaseException as error:
        error.add_note(f"seed {kills.seed}; the server said:\n{log.read_text()[-3000:]}")
        if server is not None:
            # Left running, it would fail the tests that come after this one.
            server.kill()
        raise
    out = [text.split()[0] for text in log.read_text().split("already_out=")[1:]]
    print(
        f"kill -9 under timers, seed {kills.seed}:", dict(counts), "already out at each start:", out
    )

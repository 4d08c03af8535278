"""The real broker alone over a store directory, and TriMQ's store opened on the same one."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any, Protocol

from compat_tests.servers import containers, jvm, real
from compat_tests.servers.processes import HOST
from compat_tests.servers.server import Options
from compat_tests.wire import records
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link
from compat_tests.wire.records import Record
from tests.patience import until
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

TOPIC = "Interop"
DELAYED = "SCHEDULE_TOPIC_XXXX"
QUEUES = 4
LOG_FILE = 256 * 1024
QUEUE_FILE = 20 * 100
SETTINGS = {
    "mappedFileSizeCommitLog": str(LOG_FILE),
    "mappedFileSizeConsumeQueue": str(QUEUE_FILE),
    "messageDelayLevel": "1h 2h",
    "autoCreateTopicEnable": "false",
}
SEND, PULL, CREATE_TOPIC, SEARCH, MAX, MIN = 10, 11, 17, 29, 30, 31
SUCCESS, NO_NEW_MESSAGE = 0, 19

Key = tuple[int, bytes, str]


def send_fields(topic: str, queue_id: int, properties: str, sys_flag: int = 0) -> dict[str, object]:
    return {
        "producerGroup": "P",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": queue_id,
        "sysFlag": sys_flag,
        "bornTimestamp": 1,
        "flag": 0,
        "properties": properties,
        "reconsumeTimes": 0,
    }


def batch_fields(topic: str, number: int, properties: str) -> dict[str, object]:
    """Of the batch of that number, by SEND_BATCH."""
    sent = {
        "a": "P",
        "b": topic,
        "c": "TBW102",
        "d": 4,
        "e": number % QUEUES,
        "f": 0,
        "g": number,
        "h": 0,
    }
    return {**sent, "i": properties, "m": "true"}


class Broker(Protocol):
    """One over a folder of its own, which it has at `store`; it may be started again."""

    store: Path

    @property
    def addr(self) -> str: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


class Asked:
    """A broker that is asked over one connection."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.store = broker.store
        self._link: Link | None = None
        # Behind what was sent last, by topic and queue.
        self._ends: dict[tuple[str, int], int] = {}

    def start(self) -> None:
        self._broker.start()
        self._link = Link(self._broker.addr)
        self.create(TOPIC)

    def create(self, topic: str, **more: object) -> None:
        fields = {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": QUEUES,
            "writeQueueNums": QUEUES,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": "false",
        }
        created = self.ask(CREATE_TOPIC, {**fields, **more})
        assert created.code == SUCCESS, created.remark

    def ask(self, code: int, ext: dict[str, object], body: bytes = b"") -> Frame:
        assert self._link is not None
        texts = {key: str(value) for key, value in ext.items()}
        return self._link.ask(Frame(code, ext=texts, body=body))

    def stop(self, kill: bool = False) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        if kill:
            self._broker.kill()
        else:
            self._broker.stop()

    def send(self, queue_id: int, body: bytes, tag: str) -> tuple[int, str]:
        answer = self.ask(
            SEND,
            send_fields(TOPIC, queue_id, f"TAGS\x01{tag}\x02"),
            body,
        )
        assert answer.code == SUCCESS, answer.remark
        self.remember(TOPIC, answer)
        return int(answer.ext["queueOffset"]), answer.ext["msgId"]

    def remember(self, topic: str, sent: Frame) -> None:
        """An answer to a send whose message goes to its own topic at once: `settle` waits for it."""
        queue = topic, int(sent.ext["queueId"])
        # Of a batch that was taken apart there are several.
        count = sent.ext["msgId"].count(",") + 1
        self._ends[queue] = int(sent.ext["queueOffset"]) + count

    def settle(self) -> None:
        """Until the queues have what was sent: their entries come a moment after the answers.

        On a busy machine a moment is long, and nothing may come for a while: so it is known what must come.
        """
        for (topic, queue_id), end in self._ends.items():
            until(
                lambda queue_id=queue_id, topic=topic, end=end: (
                    self.offset(MAX, queue_id, topic=topic) >= end
                ),
                f"queue {queue_id} of {topic} reaches {end}",
            )
        self._ends.clear()

    def pull(self, queue_id: int, subscription: str = "*", topic: str = TOPIC) -> list[Record]:
        found: list[Record] = []
        offset = 0
        while True:
            answer = self.ask(
                PULL,
                {
                    "consumerGroup": "C",
                    "topic": topic,
                    "queueId": queue_id,
                    "queueOffset": offset,
                    "maxMsgNums": 32,
                    "sysFlag": 4,
                    "commitOffset": 0,
                    "suspendTimeoutMillis": 0,
                    "subscription": subscription,
                    "subVersion": 0,
                    "expressionType": "TAG",
                },
            )
            offset = int(answer.ext["nextBeginOffset"])
            if answer.code == SUCCESS:
                found += records.read_records(answer.body)
            elif answer.code == NO_NEW_MESSAGE:
                return found

    def offset(self, code: int, queue_id: int, **more: object) -> int:
        """GET_MAX_OFFSET, GET_MIN_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET."""
        answer = self.ask(code, {"topic": TOPIC, "queueId": queue_id, **more})
        assert answer.code == SUCCESS, answer.remark
        return int(answer.ext["offset"])


class Real(Asked):
    """The real broker over the shared directory."""

    def __init__(
        self,
        home: Path,
        settings: dict[str, str] | None = None,
        launch: jvm.Launcher | None = None,
    ) -> None:
        # No NameServer is there; a broker starts without one.
        super().__init__(
            real.RealBroker(
                launch or containers.launcher(),
                home,
                f"{HOST}:1",
                Options(settings=settings or SETTINGS),
            )
        )


def open_ours(root: Path, **more: Any) -> MessageStore:
    config = StoreConfig(
        root=root,
        mapped_file_size_commit_log=LOG_FILE,
        mapped_file_size_consume_queue=QUEUE_FILE,
        delay_levels=(3_600_000, 7_200_000),
        **more,
    )
    store = MessageStore(config, lambda: int(time.time() * 1000))
    store.open()
    return store


def kill_ours(store: MessageStore) -> None:
    """Let go of the files as a killed process does: nothing more is written."""
    store.abandon()


def write_ours(store: MessageStore, count: int, seed: int) -> list[list[Key]]:
    """Messages of many sizes, alone and in batches; what is there now, by queue."""
    source = random.Random(seed)
    for number in range(count):
        queue_id = number % QUEUES
        body = source.randbytes(source.randrange(0, 1500))
        message = Message(
            TOPIC,
            queue_id,
            body,
            b"TAGS\x01Tag%d\x02KEYS\x01k%d\x02" % (number % 3, number),
            born_timestamp=number,
            store_host=b"\x7f\x00\x00\x01\x00\x00\x2a\x9f",
        )
        if number % 7 == 0:
            message.sys_flag = SysFlag.BORN_HOST_V6
            message.born_host = bytes(15) + b"\x01" + b"\0\0\0\x09"
        if number % 50 == 0:
            half = Message(TOPIC, queue_id, b"half", sys_flag=SysFlag.PREPARED)
            store.stage(half)
        if number % 20 == 0:
            items = [BatchItem(0, b"item %d" % n, b"TAGS\x01Tag0\x02") for n in range(3)]
            message.body = join_batch(items)
            store.stage_batch(message)
        else:
            store.stage(message)
        if number % 5 == 0:
            store.write_staged()
    store.write_staged()
    return [read_ours(store, queue_id) for queue_id in range(QUEUES)]


def read_ours(
    store: MessageStore, queue_id: int, topic: str = TOPIC, tag_codes: frozenset[int] | None = None
) -> list[Key]:
    found: list[Record] = []
    offset = store.min_offset(topic, queue_id)
    while offset < store.max_offset(topic, queue_id):
        result = store.read(topic, queue_id, offset, 32, 1 << 20, tag_codes)
        assert result.extents or tag_codes is not None
        for buffer in store.load_blocking(result.extents):
            found += records.read_records(bytes(buffer))
        offset = result.next_begin_offset
    return keys(found)


def keys(found: list[Record]) -> list[Key]:
    assert all(record.crc_holds for record in found)
    return [(record.queue_offset, record.body, record.properties) for record in found]

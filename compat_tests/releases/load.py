"""Senders and a consumer that go on while a server is stopped, killed and replaced; they know what they were told."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from compat_tests.store.turns import is_written
from tests.patience import until
from tests.requests import send_header_v2
from tests.trimq.serving.killed import pull, pull_all
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import PeerGone, RemotingError

TOPIC: Final = "Load"
GROUP: Final = "Readers"
QUEUES: Final = 4
SENDERS: Final = 2
PATIENCE_SECONDS: Final = 60
# What a server that is stopping may answer: the sender knows that nothing is stored.
STOPPING: Final = (ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.SYSTEM_BUSY)


@dataclass
class Told:
    """All answers so far, and what may have happened unanswered."""

    # By queue: offset and body of what was answered SEND_OK.
    stored: dict[int, dict[int, bytes]] = field(
        default_factory=lambda: {queue: {} for queue in range(QUEUES)}
    )
    # All that ever went out.
    sent: set[bytes] = field(default_factory=set)
    # By queue, the last offset that was answered, and the highest that was asked for.
    committed: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(QUEUES), 0))
    asked: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(QUEUES), 0))
    consumed: int = 0
    failures: list[str] = field(default_factory=list)


class _Player(threading.Thread):
    """Plays until its server is gone."""

    def __init__(self, addr: str, told: Told) -> None:
        super().__init__(daemon=True)
        self._client = BlockingClient(addr, timeout=PATIENCE_SECONDS)
        self.told = told

    def run(self) -> None:
        try:
            while self.step():
                pass
        except (PeerGone, RemotingError, OSError):
            pass
        except Exception as error:
            self.told.failures.append(repr(error))
        finally:
            self._client.close()

    def step(self) -> bool:
        """Whether to go on."""
        raise NotImplementedError


class Sender(_Player):
    def __init__(self, addr: str, told: Told, name: str) -> None:
        super().__init__(addr, told)
        self._name = name
        self._number = 0

    def step(self) -> bool:
        self._number += 1
        queue = self._number % QUEUES
        body = f"{self._name}-{self._number} ".encode() * (1 + self._number % 20)
        header = send_header_v2(
            TOPIC, producer_group="Senders", default_topic_queue_nums=QUEUES, queue_id=queue
        )
        self.told.sent.add(body)
        answer = self._client.request(RequestCode.SEND_MESSAGE_V2, header, body)
        if answer.code in STOPPING:
            return False
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        offset = int((answer.ext_fields or {})["queueOffset"])
        assert offset not in self.told.stored[queue], (
            f"offset {offset} of queue {queue} is told twice"
        )
        self.told.stored[queue][offset] = body
        return True


class Consumer(_Player):
    """Pulls each queue in turn, and commits behind what it got."""

    def step(self) -> bool:
        for queue in range(QUEUES):
            offset = self.told.asked[queue]
            answer = pull(self._client, (TOPIC, queue), offset)
            if answer.code != ResponseCode.SUCCESS:
                time.sleep(0.02)
                continue
            count, at, data = 0, 0, bytes(answer.body)
            while at < len(data):
                record = parse_record(data, at)
                assert record.queue_offset == offset + count
                count, at = count + 1, at + record.total_size
            self.told.consumed += count
            if not self._commit(queue, offset + count):
                return False
        return True

    def _commit(self, queue: int, offset: int) -> bool:
        self.told.asked[queue] = offset
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=GROUP, topic=TOPIC, queue_id=queue, commit_offset=offset
        )
        answer = self._client.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)
        if answer.code in STOPPING:
            return False
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        self.told.committed[queue] = offset
        return True


class Load:
    """On one server after another; `check` it when the next one runs, before it goes on."""

    def __init__(self) -> None:
        self.told = Told()
        self._players: list[_Player] = []
        self._turn = 0
        self._on_disk: dict[int, int] = {}

    def begin(self, addr: str) -> None:
        self._turn += 1
        names = [f"{self._turn}{'abcdef'[at]}" for at in range(SENDERS)]
        senders = [Sender(addr, self.told, name) for name in names]
        before = self.count()
        for one in senders:
            one.start()
        # Its topic is there now.
        until(lambda: self.count() > before + 20, "the senders have begun")
        consumer, consumed = Consumer(addr, self.told), self.told.consumed
        consumer.start()
        self._players = [*senders, consumer]
        until(lambda: self.told.consumed > consumed, "the consumer has begun")

    def count(self) -> int:
        """Messages that were answered SEND_OK."""
        return sum(map(len, self.told.stored.values()))

    def wait_until_written(self, offsets: Path) -> None:
        """Until what is committed now is in the file: a write may have begun before, the one after it did not."""
        committed = dict(self.told.committed)
        for _ in range(2):
            since = time.time()
            until(partial(self._is_written, offsets, since), f"{offsets.name} is written")
        self._on_disk = committed

    def _is_written(self, offsets: Path, since: float) -> bool:
        assert self.told.failures == []
        assert all(one.is_alive() for one in self._players)
        return is_written(offsets, since)

    def ended(self, killed: bool) -> None:
        """The server is gone: so are they. What a server that was stopped has answered is on the disk."""
        for one in self._players:
            one.join(PATIENCE_SECONDS)
            assert not one.is_alive()
        self._players = []
        assert self.told.failures == []
        if not killed:
            self._on_disk = dict(self.told.committed)

    def check(self, addr: str) -> None:
        """All that was answered is there, at its place; nothing is twice; the group stands where it stood."""
        found: set[bytes] = set()
        with BlockingClient(addr, timeout=PATIENCE_SECONDS) as client:
            for queue in range(QUEUES):
                bodies = [record.body for record in pull_all(client, (TOPIC, queue))]
                for offset, body in self.told.stored[queue].items():
                    assert bodies[offset] == body, f"offset {offset} of queue {queue}"
                assert len(set(bodies)) == len(bodies)
                found |= set(bodies)
                at = self._offset(client, queue)
                assert self._on_disk[queue] <= at <= self.told.asked[queue], f"queue {queue}"
                # From there on.
                self.told.asked[queue] = self.told.committed[queue] = at
        assert found <= self.told.sent

    def _offset(self, client: BlockingClient, queue: int) -> int:
        header = QueryConsumerOffsetRequestHeader(consumer_group=GROUP, topic=TOPIC, queue_id=queue)
        answer = client.request(RequestCode.QUERY_CONSUMER_OFFSET, header)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        return int((answer.ext_fields or {})["offset"])

"""An elastic topic through sockets: it grows under sends, and a group that locks queues reads every key in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import trio

import trimq
from tests.requests import send_header_v2
from trimq.broker.elastic.model import new_topic, plan_scale
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.locks import LockBatchRequestBody, MessageQueue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.client import Client
from trimq.wiring import broker as broker_wiring
from trimq.wiring.common import Common

TOPIC = "Growing"
PARTITIONS, FEW, MANY = 40, 4, 8
KEYS = 30
NAME = "ordered"
SETTINGS = {"brokerName": NAME}
COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4


class Served:
    """What the running broker's parts have in common."""

    common: Common

    @property
    def maps(self) -> Any:
        return self.common.features.elastic.maps

    @property
    def groups(self) -> Any:
        return self.common.features.elastic.groups


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    found, parts = Served(), broker_wiring.broker_parts

    def keep(given: Any, common: Common) -> Any:
        found.common = common
        return parts(given, common)

    monkeypatch.setattr(broker_wiring, "broker_parts", keep)
    return found


class Producer:
    """Each key goes to its own partition, numbered from 0; the queues told are remembered."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.sent: dict[int, int] = defaultdict(int)
        self.queues: set[str] = set()

    async def send_to_all_keys(self) -> None:
        for key in range(KEYS):
            header = send_header_v2(TOPIC, queue_id=key % PARTITIONS, properties="")
            body = b"%d %d" % (key, self.sent[key])
            answer = await self._client.request(RequestCode.SEND_MESSAGE_V2, header, body, 20)
            assert answer.code == ResponseCode.SUCCESS, answer.remark
            self.sent[key] += 1
            self.queues.add(answer.ext_fields["queueId"])


class Consumer:
    """A group with one member that has all queues; a queue's next pull commits what was consumed."""

    def __init__(self, served: Served, group: str) -> None:
        self._served, self.group = served, group
        self.got: dict[int, list[int]] = defaultdict(list)
        self.empty = 0
        self._wanted = 0
        self._in_vain = trio.Event()
        self._all_came = trio.Event()

    async def lock(self, client: Client) -> None:
        queues = {
            MessageQueue(broker_name=NAME, queue_id=queue, topic=TOPIC) for queue in range(MANY)
        }
        body = LockBatchRequestBody(client_id="c", consumer_group=self.group, mq_set=queues)
        answer = await client.request(RequestCode.LOCK_BATCH_MQ, None, encode_body(body), 20)
        assert answer.code == ResponseCode.SUCCESS, answer.remark

    async def consume(self, addr: str, count: int, closed: Collection[int] = ()) -> None:
        """Until so many messages have come altogether; from `closed` queues in vain before any other is read."""
        async with trio.open_nursery() as nursery:
            self._wanted = count - sum(map(len, self.got.values()))
            for queue in closed:
                nursery.start_soon(self._consume_queue, addr, queue)
            if closed:
                await self._in_vain.wait()
            for queue in reversed(range(MANY)):
                if queue not in closed:
                    nursery.start_soon(self._consume_queue, addr, queue)
            await self._all_came.wait()
            nursery.cancel_scope.cancel()

    async def pull(
        self, client: Client, queue: int, offset: int, wait: int = 300
    ) -> tuple[int, int]:
        """Code and next offset; what comes is consumed."""
        header = PullMessageRequestHeader(
            consumer_group=self.group,
            topic=TOPIC,
            queue_id=queue,
            queue_offset=offset,
            max_msg_nums=5,
            sys_flag=SUBSCRIPTION | (SUSPEND if wait else 0) | (COMMIT if offset else 0),
            commit_offset=offset,
            suspend_timeout_millis=wait,
            subscription="*",
            sub_version=0,
        )
        answer = await client.request(RequestCode.PULL_MESSAGE, header, b"", 20)
        data, at = bytes(answer.body or b""), 0
        while at < len(data):
            record = parse_record(data, at)
            at += record.total_size
            self._take(record.queue_id, record.queue_offset, record.body)
        if answer.code == ResponseCode.INVALID_PARAMETER:
            # It is not in the route yet.
            await trio.sleep(0.05)
            return answer.code, offset
        return answer.code, int(answer.ext_fields["nextBeginOffset"])

    async def _consume_queue(self, addr: str, queue: int) -> None:
        async with Client.connect(addr) as client:
            offset = 0
            while True:
                code, offset = await self.pull(client, queue, offset)
                if code == ResponseCode.PULL_NOT_FOUND:
                    self.empty += 1
                    self._in_vain.set()

    def _take(self, queue: int, offset: int, body: bytes) -> None:
        key, number = map(int, body.split())
        # A message of one key is followed by the next number of that key, wherever that lies.
        assert number == len(self.got[key]), (self.group, key, number, queue, offset)
        self.got[key].append(number)
        self._wanted -= 1
        if self._wanted == 0:
            self._all_came.set()
        passed = self._served.groups.passed(self.group, TOPIC)
        for change in self._served.maps.state(TOPIC).changes:
            if offset >= change.starts.get(queue, offset + 1):
                assert change.version in passed


async def _grow(served: Served, producer: Producer) -> None:
    """One change after the other, with messages before, between and behind."""
    for move in plan_scale(served.maps.state(TOPIC), MANY):
        await producer.send_to_all_keys()
        # Queues that nothing has come to leave the route by themselves.
        served.maps.resize(TOPIC, MANY, MANY)
        served.maps.change(TOPIC, move)
    await producer.send_to_all_keys()


async def test_a_topic_grows_and_every_key_stays_in_order(tmp_path: Path, served: Served) -> None:
    async with (
        trimq.serve(tmp_path, settings=SETTINGS) as server,
        Client.connect(server.broker_addr) as client,
    ):
        served.maps.create(TOPIC, new_topic(FEW, PARTITIONS))
        producer, early = Producer(client), Consumer(served, "Early")
        await producer.send_to_all_keys()
        await early.lock(client)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(early.consume, server.broker_addr, 6 * KEYS)
            await _grow(served, producer)
        assert producer.queues == {str(queue) for queue in range(MANY)}
        # A receiver has messages, and nothing of it goes to a group that has read no donor.
        late = Consumer(served, "Late")
        await late.lock(client)
        receivers = served.maps.state(TOPIC).changes[0].starts
        for queue in receivers:
            assert await late.pull(client, queue, 0, wait=0) == (ResponseCode.PULL_NOT_FOUND, 0)
    async with (
        trimq.serve(tmp_path, settings=SETTINGS) as server,
        Client.connect(server.broker_addr) as client,
    ):
        # Before it locks anything again, and although some of its gates are open by then.
        for queue in receivers:
            assert await late.pull(client, queue, 0, wait=0) == (ResponseCode.PULL_NOT_FOUND, 0)
        await late.consume(server.broker_addr, 6 * KEYS, receivers)
        assert late.got == early.got == {key: list(range(6)) for key in range(KEYS)}
        assert late.empty > 0
        assert served.groups.passed("Late", TOPIC) == {1, 2, 3, 4}
        assert served.groups.held_up_by("Late", TOPIC) == []

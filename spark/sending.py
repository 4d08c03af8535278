"""Sending many messages from one task: batches, a few under way at once, tried again when they fail.

Messages with one sharding key go to one queue (Java: SelectMessageQueueByHash) in their order: a queue's
next batch leaves when the one before is stored. All others take the queues in turn. What is
delayed cannot be batched and goes alone. Trying again may store a message twice.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from trimq.admin.cluster import MASTER_ID
from trimq.admin.errors import NotFound
from trimq.admin.sending import NEW_TOPIC_QUEUES
from trimq.admin.topics import DEFAULT_TOPIC
from trimq.codec.batch import BatchItem, join_batch
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.java import string_hash
from trimq.remoting.blocking import BlockingClient
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.options import WriteOptions
from trimq.spark.planning.routes import NoNameServer

# The message is stored, whatever else was to happen.
_STORED: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
# What another try may mend (DefaultMQProducer.retryResponseCodes).
_PASSING: Final = frozenset(
    {
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.NO_PERMISSION,
    }
)
_IN_FLIGHT: Final = 8
_PAUSE: Final = 0.3


class Outgoing:
    """One message: its own flag, body and properties, and what decides about its way."""

    __slots__ = ("alone", "item", "sharding_key", "topic")

    def __init__(self, topic: str, item: BatchItem, sharding_key: str | None, alone: bool) -> None:
        self.topic = topic
        self.item = item
        self.sharding_key = sharding_key
        self.alone = alone


class _Queue:
    """A queue that may be written to, and what is waiting for it."""

    __slots__ = ("addr", "broker_name", "items", "queue_id", "size", "topic")

    def __init__(self, topic: str, broker_name: str, queue_id: int, addr: str) -> None:
        self.topic = topic
        self.broker_name = broker_name
        self.queue_id = queue_id
        self.addr = addr
        self.items: list[BatchItem] = []
        self.size = 0


class _Shipment:
    """Items on their way to a queue."""

    __slots__ = ("client", "items", "opaque", "queue", "tries")

    def __init__(self, queue: _Queue, items: list[BatchItem]) -> None:
        self.queue = queue
        self.items = items
        self.tries = 0
        self.client: BlockingClient | None = None
        self.opaque = 0


class MessageIds:
    """UNIQ_KEYs: 32 hex digits (MessageClientIDSetter), random here but for time and a counter."""

    def __init__(self) -> None:
        self._count = 0xFFFF
        self._start = ""

    def next(self) -> str:
        self._count += 1
        if self._count > 0xFFFF:
            millis = time.time_ns() // 1_000_000 & 0xFFFFFFFF
            self._start = f"{os.urandom(10).hex().upper()}{millis:08X}"
            self._count = 0
        return f"{self._start}{self._count:04X}"


class Sender:
    """Takes messages, sends them, and says how many; for one task."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._queues: dict[str, list[_Queue]] = {}
        self._turn: dict[str, int] = {}
        self._clients: dict[str, BlockingClient] = {}
        self._under_way: deque[_Shipment] = deque()
        self.sent = 0
        self.failed = 0
        self.first_failure = ""

    def send(self, message: Outgoing) -> None:
        """Take a message; SparkSourceError when there is nowhere to send to."""
        queues = self._queues.get(message.topic) or self._route(message.topic)
        if message.sharding_key is not None:
            queue = queues[abs(_remainder(string_hash(message.sharding_key), len(queues)))]
        else:
            queue = queues[self._turn[message.topic] % len(queues)]
        if message.alone:
            self._ship(queue)
            self._start(_Shipment(queue, [message.item]))
            return
        size = len(message.item.body) + len(message.item.properties) + 22
        if queue.items and queue.size + size > self._options.batch_bytes:
            self._ship(queue)
        queue.items.append(message.item)
        queue.size += size
        if len(queue.items) >= self._options.batch_size:
            self._ship(queue)

    def reject(self, reason: str) -> None:
        """Count a row that cannot be sent."""
        self.failed += 1
        self.first_failure = self.first_failure or reason

    def finish(self) -> None:
        """Send the rest and wait for it; SparkSourceError when any row failed."""
        for queues in self._queues.values():
            for queue in queues:
                self._ship(queue)
        while self._under_way:
            self._settle()
        self._check()

    def close(self) -> None:
        """End every connection."""
        for client in self._clients.values():
            client.close()

    def _check(self, stopped: str = "") -> None:
        if self.failed:
            raise SparkSourceError(
                f"{self.failed} rows could not be sent and {self.sent} were{stopped}; the first"
                f" reason: {self.first_failure}"
            )

    def _ship(self, queue: _Queue) -> None:
        if queue.items:
            shipment = _Shipment(queue, queue.items)
            queue.items, queue.size = [], 0
            self._turn[queue.topic] += 1
            self._start(shipment)

    def _start(self, shipment: _Shipment) -> None:
        # One under way for each queue, so that a queue's messages keep their order.
        while len(self._under_way) >= _IN_FLIGHT or any(
            other.queue is shipment.queue for other in self._under_way
        ):
            self._settle()
        self._transmit(shipment)
        self._under_way.append(shipment)

    def _transmit(self, shipment: _Shipment) -> None:
        queue, items = shipment.queue, shipment.items
        many = len(items) > 1
        body = join_batch(items) if many else items[0].body
        header = SendMessageRequestHeaderV2(
            producer_group=self._options.group,
            topic=queue.topic,
            default_topic=DEFAULT_TOPIC,
            default_topic_queue_nums=NEW_TOPIC_QUEUES,
            queue_id=queue.queue_id,
            sys_flag=0,
            born_timestamp=time.time_ns() // 1_000_000,
            flag=0 if many else items[0].flag,
            properties="WAIT\x01true\x02" if many else items[0].properties.decode(),
            reconsume_times=0,
            unit_mode=False,
            batch=many,
            broker_name=queue.broker_name,
        )
        code = RequestCode.SEND_BATCH_MESSAGE if many else RequestCode.SEND_MESSAGE_V2
        keys = self._options.connection.keys
        shipment.client = None
        try:
            client = self._client(queue.addr)
            shipment.opaque = client.start(
                code, header if keys is None else keys.signed(header, body), body
            )
            shipment.client = client
        except TransportError:
            # The same error meets whoever waits for the answer.
            return

    def _settle(self) -> None:
        """Wait for the oldest shipment."""
        shipment = self._under_way.popleft()
        while True:
            failure, passing = self._outcome(shipment)
            if not failure:
                self.sent += len(shipment.items)
                return
            if not passing and len(shipment.items) > 1:
                # One of them may be to blame: each by itself.
                for item in shipment.items:
                    one = _Shipment(shipment.queue, [item])
                    self._transmit(one)
                    self._under_way.appendleft(one)
                    self._settle()
                return
            shipment.tries += 1
            if not passing or shipment.tries > self._options.connection.retries:
                self.failed += len(shipment.items)
                self.first_failure = self.first_failure or failure
                if passing:
                    self._check(" before the task gave up")
                return
            time.sleep(_PAUSE * shipment.tries)
            self._transmit(shipment)

    def _outcome(self, shipment: _Shipment) -> tuple[str, bool]:
        """Why it was not stored (empty: it was), and whether another try may help."""
        addr = shipment.queue.addr
        try:
            client = shipment.client or self._client(addr)
            if shipment.client is None:
                return f"{addr} did not take the messages", True
            answer = client.finish(shipment.opaque)
        except TransportError as error:
            return str(error), True
        if answer.code in _STORED:
            return "", False
        remark = " ".join((answer.remark or "").split())
        failure = f"{addr} refused messages for topic {shipment.queue.topic!r} with code {answer.code}: {remark}"
        return failure, answer.code in _PASSING

    def _client(self, addr: str) -> BlockingClient:
        client = self._clients.get(addr)
        if client is None or client.closed:
            client = self._options.connection.client(addr)
            self._clients[addr] = client
        return client

    def _route(self, topic: str) -> list[_Queue]:
        connection = self._options.connection
        with connection.admin() as admin:
            try:
                route = admin.sending_route(topic)
            except NotFound as error:
                raise SparkSourceError(str(error)) from None
            except TransportError as error:
                raise NoNameServer(connection.name_servers, error) from None
        masters = {one.broker_name: one.broker_addrs.get(MASTER_ID) for one in route.broker_datas}
        found: Sequence[_Queue] = [
            _Queue(topic, data.broker_name, number, addr)
            for data in sorted(route.queue_datas, key=lambda one: one.broker_name)
            if Perm.writable(data.perm) and (addr := masters.get(data.broker_name))
            for number in range(data.write_queue_nums)
        ]
        if not found:
            raise SparkSourceError(f"no broker lets messages be written to topic {topic!r}")
        self._queues[topic] = list(found)
        self._turn[topic] = int.from_bytes(os.urandom(2))
        return self._queues[topic]


def _remainder(value: int, by: int) -> int:
    """As Java's %: with the sign of the value."""
    return value % by if value >= 0 else -(-value % by)

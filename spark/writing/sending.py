"""Sending many messages from one task: batches, a few under way at once, tried again when they fail.

Messages with one sharding key go to one queue (Java: SelectMessageQueueByHash) in their order: a
queue's next batch is sent when the previous one is stored. All others take the queues in turn.
Delayed messages cannot be batched and are sent alone.

If a broker is away, the task waits for it. What was under way when its connection ended is sent
again, and may therefore be stored twice; while the connection holds, a broker that is only slow
gets nothing twice.
"""

from __future__ import annotations

import itertools
import os
import secrets
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import Final

from trimq.admin.errors import Refused
from trimq.admin.messages.sending import NEW_TOPIC_QUEUES
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.java.hashes import string_hash
from trimq.codec.names import AUTO_CREATE_TOPIC
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import KEYS
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError
from trimq.spark.options.values import WriteOptions
from trimq.spark.reading.outages import Away, is_outage, patiently
from trimq.spark.writing.destinations import Destinations, NoDestination, Place
from trimq.spark.writing.outcomes import Tally

# The message is stored, whatever else failed.
_STORED: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
# Refusals that another attempt may overcome (DefaultMQProducer.retryResponseCodes), those of
# outages aside.
_RETRIED: Final = frozenset(
    {ResponseCode.SYSTEM_ERROR, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION}
)
_IN_FLIGHT: Final = 8
_PAUSE: Final = 0.3
_LONGEST_PAUSE: Final = 5.0


class Outgoing:
    """One message: its own flag, body and properties, what decides where it goes, and its row's number."""

    __slots__ = ("alone", "item", "row", "sharding_key", "topic")

    def __init__(
        self, topic: str, item: BatchItem, sharding_key: str | None, alone: bool, row: int
    ) -> None:
        self.topic = topic
        self.item = item
        self.sharding_key = sharding_key
        self.alone = alone
        self.row = row

    def keys(self) -> str | None:
        """Its keys, for a person."""
        return parse_properties(self.item.properties).get(KEYS)


class _Queue:
    """A queue, and what is waiting for it."""

    __slots__ = ("messages", "place", "size")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.messages: list[Outgoing] = []
        self.size = 0


class _Shipment:
    """Messages on their way to a queue; `client` is the connection on which `opaque` was sent, if it was."""

    __slots__ = ("client", "messages", "opaque", "queue")

    def __init__(self, queue: _Queue, messages: list[Outgoing]) -> None:
        self.queue = queue
        self.messages = messages
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
    """Takes messages and sends them, for one task. Counts those that are stored, and those that never will be:

    `bad` are not valid messages, `refused` is what a broker refuses for other reasons.
    """

    def __init__(self, options: WriteOptions, destinations: Destinations | None = None) -> None:
        self._options = options
        self._destinations = destinations or Destinations(options.connection)
        self._queues: dict[str, list[_Queue]] = {}
        self._nowhere: dict[str, str] = {}
        self._turn: dict[str, int] = {}
        self._clients: dict[str, BlockingClient] = {}
        self._under_way: deque[_Shipment] = deque()
        # How a broker refuses a topic's messages, however often it is asked.
        self._lasting: dict[tuple[str, str], int] = {}
        self.stored = 0
        self.bad = Tally()
        self.refused = Tally()

    def send(self, message: Outgoing) -> None:
        """Take a message; SparkSourceError when an outage lasts too long."""
        queues = self._queues.get(message.topic) or self._find(message.topic)
        if not queues:
            self.refused.add(self._nowhere[message.topic], message.row, message.keys())
            return
        if message.sharding_key is not None:
            queue = queues[abs(_remainder(string_hash(message.sharding_key), len(queues)))]
        else:
            queue = queues[self._turn[message.topic] % len(queues)]
        if message.alone:
            self._ship(queue)
            self._start(_Shipment(queue, [message]))
            return
        size = len(message.item.body) + len(message.item.properties) + 22
        if queue.messages and queue.size + size > self._options.batch_bytes:
            self._ship(queue)
        queue.messages.append(message)
        queue.size += size
        if len(queue.messages) >= self._options.batch_size:
            self._ship(queue)

    def finish(self) -> None:
        """Send the rest and wait for it; SparkSourceError when an outage lasts too long."""
        for queues in self._queues.values():
            for queue in queues:
                self._ship(queue)
        while self._under_way:
            self._settle()

    def close(self) -> None:
        """End every connection."""
        for client in self._clients.values():
            client.close()

    def _find(self, topic: str) -> list[_Queue]:
        """The queues of a topic that is new here; none if it accepts no messages."""
        if topic in self._nowhere:
            return []
        try:
            places = self._destinations.places(topic)
        except NoDestination as error:
            self._nowhere[topic] = str(error)
            return []
        self._queues[topic] = [_Queue(place) for place in places]
        self._turn[topic] = secrets.randbits(16)
        return self._queues[topic]

    def _ship(self, queue: _Queue) -> None:
        if queue.messages:
            shipment = _Shipment(queue, queue.messages)
            queue.messages, queue.size = [], 0
            self._turn[queue.place.topic] += 1
            self._start(shipment)

    def _start(self, shipment: _Shipment) -> None:
        # One under way for each queue, so that a queue's messages keep their order.
        while len(self._under_way) >= _IN_FLIGHT or any(
            other.queue is shipment.queue for other in self._under_way
        ):
            self._settle()
        # The code that waits for the answer tries again.
        with suppress(TransportError):
            self._transmit(shipment)
        self._under_way.append(shipment)

    def _transmit(self, shipment: _Shipment) -> None:
        """Send it; TransportError."""
        place, items = shipment.queue.place, [one.item for one in shipment.messages]
        many = len(items) > 1
        body = join_batch(items) if many else items[0].body
        header = SendMessageRequestHeaderV2(
            producer_group=self._options.group,
            topic=place.topic,
            default_topic=AUTO_CREATE_TOPIC,
            default_topic_queue_nums=NEW_TOPIC_QUEUES,
            queue_id=place.queue_id,
            sys_flag=0,
            born_timestamp=time.time_ns() // 1_000_000,
            flag=0 if many else items[0].flag,
            properties="WAIT\x01true\x02" if many else items[0].properties.decode(),
            reconsume_times=0,
            unit_mode=False,
            batch=many,
            broker_name=place.broker_name,
        )
        keys = self._options.connection.keys
        client = self._client(self._destinations.addr(place.broker_name))
        shipment.opaque = client.start(
            _code(shipment), header if keys is None else keys.signed(header, body), body
        )
        shipment.client = client

    def _settle(self) -> None:
        """Wait for the oldest shipment, and count what became of it."""
        shipment = self._under_way.popleft()
        place = shipment.queue.place
        kind = place.broker_name, place.topic
        for tries in itertools.count(1):
            answer = self._answer(shipment)
            if answer.code in _STORED:
                self.stored += len(shipment.messages)
                self._lasting.pop(kind, None)
                return
            retried = answer.code in _RETRIED
            given_up = tries > self._options.connection.retries
            if not retried or given_up or self._lasting.get(kind) == answer.code:
                break
            time.sleep(min(_PAUSE * tries, _LONGEST_PAUSE))
        if retried:
            # Whatever follows is tried once: a job must not spend its time on pauses.
            self._lasting[kind] = answer.code
        elif len(shipment.messages) > 1:
            self._one_by_one(shipment)
            return
        self._refuse(shipment, answer)

    def _one_by_one(self, shipment: _Shipment) -> None:
        """One of them may have caused the failure of all."""
        for message in shipment.messages:
            self._under_way.appendleft(_Shipment(shipment.queue, [message]))
            self._settle()

    def _refuse(self, shipment: _Shipment, answer: RemotingCommand) -> None:
        place = shipment.queue.place
        remark = " ".join((answer.remark or "").split())
        reason = (
            f"broker {place.broker_name!r} refused it for topic {place.topic!r} with code"
            f" {answer.code}: {remark}"
        )
        tally = self.bad if answer.code == ResponseCode.MESSAGE_ILLEGAL else self.refused
        for message in shipment.messages:
            tally.add(reason, message.row, message.keys())

    def _answer(self, shipment: _Shipment) -> RemotingCommand:
        """What the broker says, outages aside; SparkSourceError when one lasts too long."""
        try:
            return self._ask(shipment)
        except (Refused, TransportError) as error:
            if not is_outage(error):
                raise
        # The connection may have ended long ago: only another attempt shows how it is now.
        place = shipment.queue.place
        what = f"broker {place.broker_name!r} does not take messages for topic {place.topic!r}"
        patience = self._options.connection.patience
        return patiently(what, patience, partial(self._ask_again, shipment))

    def _ask(self, shipment: _Shipment) -> RemotingCommand:
        """The answer; sends it (again) unless that is still under way. TransportError, or Refused by a busy broker."""
        if shipment.client is None:
            self._transmit(shipment)
        client = shipment.client
        assert client is not None
        try:
            answer = client.finish(shipment.opaque)
        except TransportError:
            if client.closed:
                shipment.client = None
            raise
        shipment.client = None
        refused = Refused(client.addr, _code(shipment), answer.code, answer.remark)
        if is_outage(refused):
            raise refused
        return answer

    def _ask_again(self, shipment: _Shipment) -> RemotingCommand:
        if self._destinations.look_again(shipment.queue.place.broker_name):
            shipment.client = None
        try:
            return self._ask(shipment)
        except TransportError as error:
            raise Away(f"it is away: {error}") from None

    def _client(self, addr: str) -> BlockingClient:
        client = self._clients.get(addr)
        if client is None or client.closed:
            client = self._options.connection.client(addr)
            self._clients[addr] = client
        return client


def _code(shipment: _Shipment) -> RequestCode:
    many = len(shipment.messages) > 1
    return RequestCode.SEND_BATCH_MESSAGE if many else RequestCode.SEND_MESSAGE_V2


def _remainder(value: int, by: int) -> int:
    """As Java's %: with the sign of the value."""
    return value % by if value >= 0 else -(-value % by)

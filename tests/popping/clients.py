"""Clients of a POP run, each a thread with a connection, that note in a journal what they were answered.

They speak to any broker: TriMQ or the real one.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from tests.popping.batches import Held, entry_of, together
from tests.popping.journal import Acked, Changed, Journal, Popped, Sent
from tests.requests import send_header_v2, topic_header
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from trimq.codec.bodies.pop import BatchAckMessageRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.lite import PopLiteMessageRequestHeader
from trimq.codec.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
)
from trimq.codec.names import pop_retry_topic
from trimq.codec.pop.handle import parse_handle
from trimq.codec.records.fields import size_at
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import PeerGone, RemotingError

TOPIC, LITE_TOPIC, LIGHT = "Pops", "LitePops", ("one", "two")
GROUP, ORDERED_GROUP, LITE_GROUP = "G", "Ordered", "Lite"
QUEUES = 2
INVISIBLE = 2500
# An answer that came so long before the message's time counts.
IN_TIME = 300
_NOTHING = (
    ResponseCode.SUCCESS,
    ResponseCode.POLLING_TIMEOUT,
    ResponseCode.POLLING_FULL,
    # The topic and its readers come with the first messages.
    ResponseCode.TOPIC_NOT_EXIST,
)
_batches = itertools.count()


def now_millis() -> int:
    return time.time_ns() // 1_000_000


class Client(threading.Thread):
    """Does one thing after the other until the broker is gone."""

    def __init__(self, addr: str, name: str, seed: int, journal: Journal) -> None:
        super().__init__(name=name)
        self._client = BlockingClient(addr, timeout=60)
        self._chance = random.Random(seed)
        self._journal = journal
        self.failed = ""

    def run(self) -> None:
        try:
            while True:
                self.step()
        except (PeerGone, RemotingError, OSError):
            pass
        except AssertionError as error:
            self.failed = repr(error)
        finally:
            self.close()

    def close(self) -> None:
        self._client.close()

    def step(self) -> None:
        raise NotImplementedError

    def ask(self, code: RequestCode, header: Header | None, body: bytes = b"") -> RemotingCommand:
        answer = self._client.request(code, header, body)
        assert answer.code in _NOTHING, (code, answer.code, answer.remark)
        return answer


class Producer(Client):
    """To a topic of queues and to lite topics, one message after the other."""

    sent = 0

    def step(self) -> None:
        key = f"{self.name}-{self.sent:05d}"
        is_lite = self.sent % 4 == 0
        self.sent += 1
        name, queue_id = self._chance.choice(LIGHT), self._chance.randrange(QUEUES)
        properties = {"UNIQ_KEY": key, **({"__LITE_TOPIC": name} if is_lite else {})}
        header = send_header_v2(
            LITE_TOPIC if is_lite else TOPIC,
            default_topic_queue_nums=QUEUES,
            queue_id=queue_id,
            properties=format_properties(properties).decode(),
        )
        self.ask(RequestCode.SEND_MESSAGE_V2, header, key.encode())
        place = name if is_lite else f"{TOPIC}/{queue_id}"
        self._journal.note(Sent(key, place, header.topic))
        time.sleep(0.003)


class Consumer(Client):
    """Of a plain group: acknowledges some, changes times, keeps some for later, and forgets the rest."""

    group = GROUP
    takes_all = False
    # In seconds, before a pop: what has come meanwhile has one checkpoint.
    pauses: tuple[float, ...] = (0.0, 0.0, 0.02, 0.05)
    last = 0.0
    _kept: tuple[Held, ...] = ()

    def size(self, *usual: int) -> int:
        """How many messages to ask for."""
        return 32 if self.takes_all else self._chance.choice(usual)

    def patience(self, usual: int) -> int:
        """How long a pop may wait, in milliseconds."""
        return 20 if self.takes_all else usual

    def step(self) -> None:
        if not self.takes_all:
            time.sleep(self._chance.choice(self.pauses))
        held = self.pop()
        if held:
            self.last = time.monotonic()
        held += self._kept
        self._kept = ()
        self._chance.shuffle(held)
        while held:
            act = self._chance.random()
            if self.takes_all or act < 0.35:
                self.ack(held.pop())
            elif act < 0.5:
                renewed = self.change(held.pop())
                held += [renewed] if renewed is not None else []
            elif act < 0.75:
                some = self._chance.randint(1, len(held))
                self.ack_together(held[:some])
                del held[:some]
            elif act < 0.85:
                self._kept += (held.pop(),)
            else:
                held.pop()

    def pop(self) -> list[Held]:
        header = PopMessageRequestHeader(
            consumer_group=self.group,
            topic=TOPIC,
            queue_id=-1,
            max_msg_nums=self.size(1, 4, 16),
            invisible_time=INVISIBLE,
            poll_time=self.patience(500),
            born_time=now_millis(),
            init_mode=0,
            exp_type="TAG",
            exp="*",
        )
        return self._held(self.ask(RequestCode.POP_MESSAGE, header), self._plain)

    def _held(
        self,
        answer: RemotingCommand,
        make: Callable[[Record, RemotingCommand], Held],
        attempt: str = "",
    ) -> list[Held]:
        data, at, found = bytes(answer.body), 0, []
        batch, events = next(_batches), []
        if answer.code != ResponseCode.SUCCESS:
            return []
        while at < len(data):
            size = size_at(data[at : at + 4])
            record = parse_record(data[at : at + size])
            one = make(record, answer)
            known = parse_handle(one.handle)
            place = one.lite or f"{TOPIC}/{one.queue_id}"
            events.append(
                Popped(
                    self.group,
                    one.key,
                    place,
                    one.offset,
                    known.pop_time,
                    known.due,
                    batch,
                    attempt,
                    record.reconsume_times,
                )
            )
            found.append(one)
            at += size
        self._journal.note(*events)
        return found

    def _plain(self, record: Record, answer: RemotingCommand) -> Held:
        fields, queue_id, offset = answer.ext_fields, record.queue_id, record.queue_offset
        handle = parse_properties(record.properties).get("POP_CK", "")
        if not handle:
            parts = [part.split(" ") for part in fields["startOffsetInfo"].split(";")]
            first = next(at for kind, queue, at in parts if (kind, queue) == ("0", str(queue_id)))
            handle = (
                f"{first} {fields['popTime']} {fields['invisibleTime']} {fields['reviveQid']}"
                f" 0 broker-a {queue_id} {offset}"
            )
        is_retry = parse_handle(handle).retry != "0"
        topic = pop_retry_topic(TOPIC, self.group) if is_retry else TOPIC
        return Held(record.body.decode(), topic, queue_id, offset, handle)

    def ack(self, one: Held) -> None:
        header = AckMessageRequestHeader(
            consumer_group=self.group,
            topic=one.topic,
            queue_id=one.queue_id,
            extra_info=one.handle,
            offset=one.offset,
            lite_topic=one.lite,
        )
        self._acking([one], RequestCode.ACK_MESSAGE, header)

    def ack_together(self, some: list[Held]) -> None:
        """A record for each checkpoint, or for each message."""
        checkpoints = together(some)
        records = checkpoints if self._chance.random() < 0.7 else [[one] for one in some]
        if len(checkpoints) > 1:
            self._journal.count(f"batches of several checkpoints by {self.group}")
        if any(len(record) > 1 for record in records):
            self._journal.count(f"batches with several bits in a record by {self.group}")
        entries = [entry_of(self.group, TOPIC, record) for record in records]
        body = encode_body(BatchAckMessageRequestBody(acks=entries, broker_name="broker-a"))
        self._acking(some, RequestCode.BATCH_ACK_MESSAGE, None, body)

    def _acking(
        self, some: list[Held], code: RequestCode, header: Header | None, body: bytes = b""
    ) -> None:
        """Without an answer either outcome is right, so that is noted first."""
        at = now_millis()
        self._journal.note(
            *(Acked(self.group, one.key, one.popped, at, counts=False) for one in some)
        )
        self.ask(code, header, body)
        now = now_millis()
        in_time = [one for one in some if now < one.due - IN_TIME]
        self._journal.note(
            *(Acked(self.group, one.key, one.popped, now, counts=True) for one in in_time)
        )

    def change(self, one: Held) -> Held | None:
        """The message with its new handle; None if nobody can say what that is good for."""
        at = now_millis()
        if at > one.due - IN_TIME:
            return None
        suspend = self._chance.random() < 0.5
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=self.group,
            topic=one.topic,
            queue_id=one.queue_id,
            extra_info=one.handle,
            offset=one.offset,
            invisible_time=self._chance.choice((0, 100, 1500, 4000)),
            lite_topic=one.lite,
            suspend=suspend,
        )
        asked = Changed(self.group, one.key, one.popped, None, at, suspend=suspend)
        self._journal.note(asked)
        fields = self.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header).ext_fields
        popped, invisible = int(fields["popTime"]), int(fields["invisibleTime"])
        if now_millis() > one.due - IN_TIME:
            return None
        self._journal.note(replace(asked, until=popped + invisible, renewed=popped))
        if not popped:
            # It is done with.
            return None
        known = parse_handle(one.handle)
        first = known.first if known.is_orderly else one.offset
        handle = (
            f"{first} {popped} {invisible} {fields['reviveQid']} {known.retry} broker-a"
            f" {one.queue_id} {one.offset}"
        )
        return replace(one, handle=handle)


class LiteConsumer(Consumer):
    """Of a lite group; no batch ack is sent for lite topics."""

    group = LITE_GROUP

    def subscribe(self) -> None:
        entry = LiteSubscriptionDTO(
            action="PARTIAL_ADD",  # type: ignore[arg-type]
            client_id=self.name,
            group=self.group,
            topic=LITE_TOPIC,
            lite_topic_set=list(LIGHT),
        )
        body = encode_body(LiteSubscriptionCtlRequestBody(subscription_set=[entry]))
        self.ask(RequestCode.LITE_SUBSCRIPTION_CTL, None, body)

    def run(self) -> None:
        try:
            self.subscribe()
        except (PeerGone, RemotingError, OSError):
            self.close()
            return
        super().run()

    def pop(self) -> list[Held]:
        header = PopLiteMessageRequestHeader(
            client_id=self.name,
            consumer_group=self.group,
            topic=LITE_TOPIC,
            max_msg_num=self.size(1, 4),
            invisible_time=INVISIBLE,
            poll_time=self.patience(500),
            born_time=now_millis(),
        )
        return self._held(self.ask(RequestCode.POP_LITE_MESSAGE, header), self._light)

    def ack_together(self, some: list[Held]) -> None:
        for one in some:
            self.ack(one)

    def _light(self, record: Record, answer: RemotingCommand) -> Held:
        fields, properties = answer.ext_fields, parse_properties(record.properties)
        offset = int(properties["INNER_MULTI_QUEUE_OFFSET"])
        times = f"{fields['popTime']} {fields['invisibleTime']} {fields['reviveQid']}"
        handle = f"0 {times} 0 broker-a 0 {offset}"
        name = properties["__LITE_TOPIC"]
        return Held(record.body.decode(), LITE_TOPIC, 0, offset, handle, name)


def prepare(addr: str) -> None:
    """The topics and groups of a run."""
    client = BlockingClient(addr, timeout=60)
    try:
        for topic, attributes in ((TOPIC, ""), (LITE_TOPIC, "+message.type=LITE")):
            header = topic_header(topic, QUEUES, attributes=attributes or None)
            answer = client.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
            assert answer.code == ResponseCode.SUCCESS, answer.remark
        bound = {"+lite.bind.topic": LITE_TOPIC}
        for group, held in ((GROUP, {}), (ORDERED_GROUP, {}), (LITE_GROUP, bound)):
            config = SubscriptionGroupConfig(group_name=group, attributes=held)
            body = encode_body(config)
            answer = client.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
            assert answer.code == ResponseCode.SUCCESS, answer.remark
    finally:
        client.close()

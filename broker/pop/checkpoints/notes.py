"""Staging what POP notes: checkpoints and acknowledgements, which wait on the timer wheel until they are due.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.base.clock import Clock
from trimq.broker.produce.puts.rules import PutRules
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.stats.traffic import Traffic
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.pop import PopCheckPoint
from trimq.codec.java.hashes import string_hash
from trimq.codec.java.numbers import parse_int
from trimq.codec.names import revive_topic
from trimq.codec.pop.revive_records import (
    ACK,
    BATCH_ACK,
    CHECKPOINT,
    EARLIER,
    Popped,
    ack_body,
    ack_key,
    batch_ack_body,
    checkpoint_body,
    checkpoint_key,
)
from trimq.codec.records.property_keys import TAGS, TIMER_DELIVER_MS, UNIQ_KEY
from trimq.store.messages.message import Message

# In the flag of a record, which 5.5.0 leaves 0 here: a checkpoint that a changed time made.
MOVES_NOTHING: Final = 1
# Seconds until a message that could not be read is tried again (ckRewriteIntervalsInSeconds).
_MINUTES: Final = [60, 120, 180, 240, 300, 360, 420, 480, 540, 600]
_AGAIN: Final = [10, 20, 30, *_MINUTES, 1200, 1800, 3600, 7200]
# What counts as the number of times if the text is none: Byte.MAX_VALUE.
_UNREADABLE: Final = 127
_HASHES: Final = {tag: string_hash(tag) for tag in (CHECKPOINT, ACK, BATCH_ACK)}


class Notes:
    """`cluster`: its name is part of the revive topic's. What stages says where the log ends behind it."""

    def __init__(
        self, staging: Staging, rules: PutRules, cluster: str, clock: Clock, traffic: Traffic
    ) -> None:
        self._staging = staging
        self._traffic = traffic
        self._rules = rules
        self._clock = clock
        self.topic = revive_topic(cluster)
        # Staged since the start.
        self.checkpoints = 0
        self.acks = 0

    @property
    def broker_name(self) -> str:
        """The present one."""
        return self._staging.broker_name

    def checkpoint(
        self, popped: Popped, distances: list[int], invisible: int, revive_queue: int
    ) -> int:
        """Of messages that are hidden for `invisible` milliseconds. StoreError, PutRefused."""
        body = checkpoint_body(popped, distances, invisible)
        message = self._checkpoint(popped, body, invisible, revive_queue)
        end = self._stage(message, checkpoints=1, acks=0)
        self._traffic.popped(popped.group, popped.topic)
        return end

    def ack(self, popped: Popped, offset: int, due: int, revive_queue: int) -> int:
        """Of one message. StoreError, PutRefused."""
        end = self._stage(self._ack(popped, offset, due, revive_queue), checkpoints=0, acks=1)
        self._traffic.acknowledged(popped.group, popped.topic, 1)
        return end

    def ack_batch(self, popped: Popped, offsets: list[int], due: int, revive_queue: int) -> int:
        """Of several. StoreError, PutRefused."""
        body = batch_ack_body(popped, offsets)
        message = self._message(body, ack_key(popped), BATCH_ACK, due, revive_queue)
        end = self._stage(message, checkpoints=0, acks=1)
        self._traffic.acknowledged(popped.group, popped.topic, len(offsets))
        return end

    def ack_due(self, popped: Popped, offsets: list[int], due: int, revive_queue: int) -> int:
        """Of several messages whose time is up, so that it needs no wheel, whether there is one or not. StoreError,
        PutRefused.
        """
        message, properties = self._begin(
            batch_ack_body(popped, offsets), ack_key(popped), BATCH_ACK, due, revive_queue
        )
        message.properties = properties.encode()
        self._rules.apply_ready(message)
        return self._stage(message, checkpoints=0, acks=1)

    def change(
        self,
        popped: Popped,
        invisible: int,
        suspend: bool,
        old: Popped,
        due: int,
        revive_queue: int,
    ) -> int:
        """A checkpoint of one message, and an acknowledgement of that message for its old one, which is due then.

        Both or, with StoreError or PutRefused, none. The group's offset does not move with them.
        """
        body = checkpoint_body(popped, [0], invisible, suspend)
        point = self._checkpoint(popped, body, invisible, revive_queue)
        point.flag = MOVES_NOTHING
        both = [point, self._ack(old, popped.first, due, revive_queue)]
        end = self._staging.store.stage_all(both)[1].end
        self.checkpoints += 1
        self.acks += 1
        self._traffic.popped(popped.group, popped.topic)
        self._traffic.acknowledged(popped.group, popped.topic, 1)
        return end

    def checkpoint_again(self, point: PopCheckPoint, offset: int, revive_queue: int) -> int:
        """Of a message that could not be put back now, and is tried again later (rePutCK). StoreError, PutRefused.

        A millisecond younger than the one it stands for, whose acknowledgement is not its own.
        """
        times = _times(point)
        delay = 1000 * _AGAIN[min(times, len(_AGAIN) - 1)]
        late = self._clock.millis() - point.due
        if late >= delay:
            # It has been due for long: it waits from now on, or it would be read again at once.
            delay += late
        again = PopCheckPoint(
            bn=point.bn,
            c=point.c,
            d=[0],
            it=point.it + delay - 1,
            n=1,
            pt=point.pt + 1,
            q=point.q,
            revive_time=point.due + delay,
            rp=str(times + 1),
            so=offset,
            sp=point.sp,
            t=point.t,
        )
        assert again.c is not None
        assert again.t is not None
        popped = Popped(again.c, again.t, again.q, offset, again.pt, again.bn)
        message = self._checkpoint(popped, encode_body(again), again.it, revive_queue)
        message.flag = MOVES_NOTHING
        return self._stage(message, checkpoints=1, acks=0)

    def _checkpoint(
        self, popped: Popped, body: bytes, invisible: int, revive_queue: int
    ) -> Message:
        due = popped.pop_time + invisible - EARLIER
        return self._message(body, checkpoint_key(popped), CHECKPOINT, due, revive_queue)

    def _ack(self, popped: Popped, offset: int, due: int, revive_queue: int) -> Message:
        body = ack_body(popped, offset)
        return self._message(body, ack_key(popped, offset), ACK, due, revive_queue)

    def _message(self, body: bytes, key: str, tag: str, due: int, revive_queue: int) -> Message:
        """Ready to be staged. PutRefused."""
        message, properties = self._begin(body, key, tag, due, revive_queue)
        self._rules.apply_due(message, properties, due, message.born_timestamp)
        return message

    def _begin(
        self, body: bytes, key: str, tag: str, due: int, revive_queue: int
    ) -> tuple[Message, str]:
        """A message, and its properties."""
        message = self._staging.own(self.topic, body, b"", self._clock.millis())
        message.queue_id = revive_queue
        message.tag_hash = _HASHES[tag]
        return (
            message,
            f"{UNIQ_KEY}\x01{key}\x02{TAGS}\x01{tag}\x02{TIMER_DELIVER_MS}\x01{due}\x02",
        )

    def _stage(self, message: Message, checkpoints: int, acks: int) -> int:
        end = self._staging.store.stage(message).end
        self.checkpoints += checkpoints
        self.acks += acks
        return end

    def durable_at(self, end: int) -> int:
        """Up to where the client waits for the disk; -1 if it does not."""
        return end if self._staging.waits else -1


def is_last_try(point: PopCheckPoint) -> bool:
    """Whether it has been written anew as often as there are pauses to wait for (rePutCK)."""
    return _times(point) >= len(_AGAIN)


def _times(point: PopCheckPoint) -> int:
    """How often it has been written anew (parseRePutTimes)."""
    if point.rp is None:
        return 0
    times = parse_int(point.rp)
    return _UNREADABLE if times is None else max(times, 0)

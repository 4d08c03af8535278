"""Staging what POP notes: checkpoints and acknowledgements, which wait on the timer wheel until they are due."""

from typing import Final

from trimq.base.clock import Clock
from trimq.broker.produce.puts import PutRules
from trimq.broker.produce.staging import Staging
from trimq.codec.bodies.base import Body, encode_body
from trimq.codec.bodies.pop import AckMsg, PopCheckPoint
from trimq.codec.names import revive_topic
from trimq.codec.pop.notes import ack_properties, checkpoint_properties

# In the flag of a record, which 5.5.0 leaves 0 here: a checkpoint that a changed time made.
MOVES_NOTHING: Final = 1


class Notes:
    """`cluster`: its name is part of the revive topic's."""

    def __init__(self, staging: Staging, rules: PutRules, cluster: str, clock: Clock) -> None:
        self._staging = staging
        self._rules = rules
        self._clock = clock
        self.topic = revive_topic(cluster)
        self.broker_name = staging.broker_name
        # Staged since the start.
        self.checkpoints = 0
        self.acks = 0

    def checkpoint(self, point: PopCheckPoint, revive_queue: int, moves: bool = True) -> int:
        """Stage it; where the log ends behind it. StoreError, PutRefused.

        `moves`: whether the group's offset moves with it.
        """
        point.revive_time = point.due
        self.checkpoints += 1
        flag = 0 if moves else MOVES_NOTHING
        return self._stage(point, checkpoint_properties(point), revive_queue, flag)

    def ack(self, ack: AckMsg, due: int, revive_queue: int) -> int:
        """Stage it; where the log ends behind it. StoreError, PutRefused."""
        self.acks += 1
        return self._stage(ack, ack_properties(ack, due), revive_queue)

    def _stage(
        self, note: Body, properties: dict[str, str], revive_queue: int, flag: int = 0
    ) -> int:
        now = self._clock.millis()
        message = self._staging.own(self.topic, encode_body(note), b"", now)
        message.queue_id = revive_queue
        message.flag = flag
        self._rules.apply(message, properties, None)
        return self._staging.store.stage(message).end

    def durable_at(self, end: int) -> int:
        """Up to where the client waits for the disk; -1 if it does not."""
        return end if self._staging.waits else -1

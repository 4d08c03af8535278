"""What connected clients say: which queues they have, and what they want to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo, by_queue
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import GetConsumerRunningInfoRequestHeader
from trimq.spark.offsets.snapshot.answers import Consumed
from trimq.spark.offsets.snapshot.pace import PacedAdmin
from trimq.spark.offsets.snapshot.table import times


@dataclass(slots=True)
class Members:
    """What is known about a group's clients; `holders` by broker, queue id and topic."""

    holders: dict[tuple[str, int, str], tuple[str, int]] = field(default_factory=dict)
    wishes: list[frozenset[tuple[str, str | None, str | None]]] = field(default_factory=list)

    def add(self, client_id: str, info: ConsumerRunningInfo) -> None:
        """One more client's answer."""
        for queue, held in by_queue(info.mq_table).items():
            key = (queue.broker_name, queue.queue_id, queue.topic)
            self.holders[key] = (client_id, held.last_consume_timestamp)
        for queue, popped in by_queue(info.mq_pop_table).items():
            key = (queue.broker_name, queue.queue_id, queue.topic)
            self.holders.setdefault(key, (client_id, popped.last_pop_timestamp))
        wanted = info.subscription_set
        self.wishes.append(
            frozenset((one.topic, one.expression_type, one.sub_string) for one in wanted)
        )


def running_info(admin: PacedAdmin, addr: str, group: str, client_id: str) -> ConsumerRunningInfo:
    """A client's answer, through a broker that it is connected to. AdminError, CodecError, TransportError."""
    header = GetConsumerRunningInfoRequestHeader(consumer_group=group, client_id=client_id)
    body = admin.body(addr, RequestCode.GET_CONSUMER_RUNNING_INFO, header)
    return decode_body(ConsumerRunningInfo, body)


def holder_columns(broker: str, found: Consumed, members: Members | None) -> dict[str, Any]:
    """Columns of a snapshot: who has each of a broker's queues."""
    if members is None:
        return {}
    nobody = (None, 0)
    pairs = zip(found.queue_id.to_pylist(), found.topic.to_pylist(), strict=True)
    held = [members.holders.get((broker, *pair), nobody) for pair in pairs]
    return {
        "client": [client for client, _ in held],
        "lastConsumedAt": times(pa.array([at for _, at in held], pa.int64())),
        "subscriptionsDiffer": len(set(members.wishes)) > 1 if members.wishes else None,
    }

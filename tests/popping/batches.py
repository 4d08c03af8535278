"""Messages that were handed out, and entries of BATCH_ACK_MESSAGE for several of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from trimq.codec.bodies.pop import BatchAck
from trimq.codec.pop.handle import parse_handle


@dataclass(frozen=True)
class Held:
    """A message that was handed out, with what an ack needs."""

    key: str
    topic: str
    queue_id: int
    offset: int
    handle: str
    lite: str | None = None

    @property
    def due(self) -> int:
        return parse_handle(self.handle).due

    @property
    def popped(self) -> int:
        return parse_handle(self.handle).pop_time

    @property
    def checkpoint(self) -> tuple[str, int, int, int]:
        """What is the same for messages of one checkpoint."""
        known = parse_handle(self.handle)
        return known.retry, self.queue_id, known.first, known.pop_time


def together(some: Iterable[Held]) -> list[list[Held]]:
    """By their checkpoints."""
    found: dict[tuple[str, int, int, int], list[Held]] = {}
    for one in some:
        found.setdefault(one.checkpoint, []).append(one)
    return list(found.values())


def entry_of(group: str, topic: str, some: list[Held]) -> BatchAck:
    """Of messages of one checkpoint: a bit for each of them."""
    known = parse_handle(some[0].handle)
    wanted = sum(1 << (one.offset - known.first) for one in some)
    return BatchAck(
        b=b64encode(wanted.to_bytes((wanted.bit_length() + 7) // 8, "little")).decode(),
        c=group,
        it=known.invisible,
        pt=known.pop_time,
        q=some[0].queue_id,
        r=known.retry,
        rq=known.revive_queue,
        so=known.first,
        t=topic,
    )

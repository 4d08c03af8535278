"""Checkpoints and acknowledgements of POP among a store's records, in words: what was popped, until when, and by whom.

They wait in the wheel's topic until they are due, and come to the revive topic then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import PopCheckPoint, decode_ack
from trimq.codec.errors import CodecError
from trimq.codec.names import REVIVE_TOPIC_PREFIX, TIMER_TOPIC
from trimq.codec.pop.revive_records import ACK, BATCH_ACK, CHECKPOINT
from trimq.codec.records.property_keys import REAL_TOPIC, TAGS


def pop_note(topic: str, properties: Mapping[str, str], body: bytes) -> dict[str, Any] | None:
    """What a record notes; None for other records, and for those whose body nobody can read.

    Times are milliseconds since 1970; `offsets` are those of the messages, `first_offset` and `popped` name the
    checkpoint that an acknowledgement is for.
    """
    place = properties.get(REAL_TOPIC, "") if topic == TIMER_TOPIC else topic
    if not place.startswith(REVIVE_TOPIC_PREFIX):
        return None
    read = _READERS.get(properties.get(TAGS, ""))
    try:
        return None if read is None else read(body)
    except CodecError:
        return None


def _checkpoint(body: bytes) -> dict[str, Any]:
    point = decode_body(PopCheckPoint, body)
    return {
        "kind": "checkpoint",
        "group": point.c,
        "topic": point.t,
        "queue_id": point.q,
        "first_offset": point.so,
        "offsets": point.offsets(),
        "acknowledged": [one for one in point.offsets() if one not in point.open_offsets()],
        "popped": point.pt,
        "hidden_until": point.due,
        "suspended": point.sp,
        "written_anew": point.rp,
    }


def _ack(body: bytes) -> dict[str, Any]:
    ack = decode_ack(body)
    return {
        "kind": "acknowledgement",
        "group": ack.c,
        "topic": ack.t,
        "queue_id": ack.q,
        "first_offset": ack.so,
        "offsets": [ack.ao] if ack.aol is None else ack.aol,
        "popped": ack.pt,
    }


_READERS: Final = {CHECKPOINT: _checkpoint, ACK: _ack, BATCH_ACK: _ack}

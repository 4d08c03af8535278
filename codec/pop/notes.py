"""What POP notes in the revive topic: keys and properties of its records (PopMessageProcessor, AckMessageProcessor)."""

from typing import Final

from trimq.codec.bodies.pop import AckMsg, PopCheckPoint
from trimq.codec.records.property_keys import TAGS, TIMER_DELIVER_MS, UNIQ_KEY

CHECKPOINT: Final = "ck"
ACK: Final = "ack"
BATCH_ACK: Final = "bAck"
# PopAckConstants.ackTimeInterval: a checkpoint is delivered that much earlier than its acknowledgements.
EARLIER: Final = 1000


def checkpoint_properties(point: PopCheckPoint) -> dict[str, str]:
    key = f"{point.t}@{point.q}@{point.so}@{point.c}@{point.pt}@{point.bn}@{CHECKPOINT}"
    return {UNIQ_KEY: key, TAGS: CHECKPOINT, TIMER_DELIVER_MS: str(point.due - EARLIER)}


def ack_properties(ack: AckMsg, due: int) -> dict[str, str]:
    """Also of a batch: 5.5.0 replaces its key by that of an ack of the offset -1."""
    key = f"{ack.t}@{ack.q}@{ack.ao}@{ack.c}@{ack.pt}@{ack.bn}@{ACK}"
    tag = ACK if ack.aol is None else BATCH_ACK
    return {UNIQ_KEY: key, TAGS: tag, TIMER_DELIVER_MS: str(due)}


def bits(data: bytes, most: int) -> list[int]:
    """The numbers of the bits that are set, lowest first, below `most` (java.util.BitSet.valueOf)."""
    found = []
    for index, byte in enumerate(data[: (most + 7) // 8]):
        found += [index * 8 + bit for bit in range(8) if byte >> bit & 1]
    return [number for number in found if number < most]

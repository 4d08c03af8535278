"""Several acknowledgements in one request, by the batches that they were popped in (batchAckMessageAsync)."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.receipt import Receipt
from trimq.proxy.statuses import ProxyError

# A batch has 32 messages or fewer; whoever writes its own handles does not make a long bit set.
_MOST: Final = 1024


def batches_of(receipts: list[Receipt], group: str, topic: str) -> bytes:
    """The body of BATCH_ACK_MESSAGE; ProxyError for a message that cannot be of its batch."""
    batches: dict[tuple[str, int, int, int], BatchAck] = {}
    bits: dict[tuple[str, int, int, int], int] = {}
    for receipt in receipts:
        handle = receipt.handle
        at = receipt.offset - handle.first
        if not 0 <= at < _MOST:
            raise ProxyError(Code.INTERNAL_SERVER_ERROR, f"bitIndex out of range: {at}")
        key = (handle.retry, receipt.queue_id, handle.first, handle.pop_time)
        if key not in batches:
            batches[key] = BatchAck(
                c=group,
                t=topic,
                r=handle.retry,
                so=handle.first,
                q=receipt.queue_id,
                rq=handle.revive_queue,
                pt=handle.pop_time,
                it=handle.invisible,
            )
        bits[key] = bits.get(key, 0) | 1 << at
    for key, batch in batches.items():
        value = bits[key]
        batch.b = b64encode(value.to_bytes((value.bit_length() + 7) // 8, "little")).decode()
    body = BatchAckMessageRequestBody(
        broker_name=receipts[0].broker_name, acks=list(batches.values())
    )
    return encode_body(body)

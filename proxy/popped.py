"""What a pop brought: messages, each with the handle that it is acknowledged with (processPopResponse).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.errors import CodecError
from trimq.codec.headers.lite import PopLiteMessageResponseHeader
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.codec.java.numbers import parse_int, parse_long
from trimq.codec.pop.handle import Handle, format_handle, retry_version
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record
from trimq.proxy import properties as names
from trimq.proxy.incoming import Popped, records_of
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.statuses import ProxyError


def popped_of(
    body: bytes, header: PopMessageResponseHeader, topic: str, broker_name: str, is_ordered: bool
) -> list[Popped]:
    """Of POP_MESSAGE; CodecError when header and records do not fit."""
    starts = _segments(header.start_offset_info)
    counts = _segments(header.order_count_info) if is_ordered else {}
    found: list[Popped] = []
    for record in records_of(body):
        properties = parse_properties(record.properties)
        handle = _own(properties)
        attempts = record.reconsume_times
        if not handle:
            version = retry_version(record.topic)
            queue = f"{version} {record.queue_id}"
            # Old brokers do not say where the batch begins: it is with its first message.
            start = starts.setdefault(queue, record.queue_offset)
            handle = _handle(header, start, version, broker_name, record)
            count = counts.get(f"{version} qo{record.queue_id}%{record.queue_offset}")
            count = counts.get(queue, 0) if count is None else count
            attempts = count if count > 0 else attempts
        properties.setdefault(names.FIRST_POP, str(header.pop_time))
        properties[names.POP_CK] = handle = f"{handle} {record.physical_offset}"
        found.append(Popped(record, properties, handle, attempts, topic))
    return found


def lite_popped_of(
    body: bytes, header: PopLiteMessageResponseHeader, topic: str, broker_name: str
) -> list[Popped]:
    """Of POP_LITE_MESSAGE: each lies in its lite topic's queue, at the offset that its property says."""
    records = records_of(body)
    counts = _lite_counts(header.order_count_info, len(records))
    found: list[Popped] = []
    for record, count in zip(records, counts, strict=True):
        properties = parse_properties(record.properties)
        queues = _split(properties.get(names.DISPATCH))
        offsets = _split(properties.get(names.DISPATCH_OFFSETS))
        offset = parse_long(offsets[0]) if len(queues) == len(offsets) == 1 else None
        if offset is None:
            handle = _own(properties)
            if handle:
                properties[names.POP_CK] = handle = f"{handle} {record.physical_offset}"
            found.append(Popped(record, properties, handle, record.reconsume_times, topic))
            continue
        made = Handle(
            0, header.pop_time, header.invisible_time, header.revive_qid, "0", broker_name
        )
        properties.setdefault(names.FIRST_POP, str(header.pop_time))
        handle = f"{format_handle(made, 0, offset)} {record.physical_offset}"
        properties[names.POP_CK] = handle
        found.append(Popped(record, properties, handle, count, topic, offset))
    return found


def _own(properties: dict[str, str]) -> str:
    """The handle that a message has already; empty for none, or for something else that its producer wrote there."""
    handle = properties.get(names.POP_CK, "")
    try:
        if handle:
            parse_receipt(handle)
    except ProxyError:
        return ""
    return handle


def _handle(
    header: PopMessageResponseHeader, start: int, version: str, broker_name: str, record: Record
) -> str:
    made = Handle(
        start, header.pop_time, header.invisible_time, header.revive_qid, version, broker_name
    )
    return format_handle(made, record.queue_id, record.queue_offset)


def _segments(text: str | None) -> dict[str, int]:
    """`0 3 17;1 0 5` by topic kind and queue."""
    segments: dict[str, int] = {}
    for segment in (text or "").split(";"):
        if segment:
            key, _, value = segment.rpartition(" ")
            number = parse_long(value)
            if number is None:
                raise CodecError(f"not a place in a queue: {segment[:60]!r}")
            segments[key] = number
    return segments


def _lite_counts(text: str | None, wanted: int) -> list[int]:
    """How often each was consumed before; none of them ever was when that is not said for each."""
    counts = [parse_int(part) or 0 for part in text.split(";")] if text else []
    return counts if len(counts) == wanted else [0] * wanted


def _split(text: str | None) -> list[str]:
    return [part for part in (text or "").split(",") if part]

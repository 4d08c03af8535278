"""Records as brokers store them."""

from trimq.codec.records.addresses import pack_host
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import encode_record


def record(
    topic: str, properties: dict[str, str], queue_offset: int = 0, log_offset: int = 0
) -> bytes:
    host = pack_host("127.0.0.1:10911")
    return encode_record(
        topic.encode(),
        0,
        0,
        queue_offset,
        log_offset,
        0,
        1_700_000_000_000,
        host,
        1_700_000_000_001,
        host,
        0,
        0,
        b"body",
        format_properties(properties),
    )

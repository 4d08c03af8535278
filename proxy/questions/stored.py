"""A message that nobody popped, as a client is asked about it."""

from trimq.base.clock import Clock
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record
from trimq.proxy.incoming import Popped, message_of
from trimq.proxy.protos.definition_pb2 import Message


def stored_message(record: Record, clock: Clock) -> Message:
    """Without a handle: it cannot be acknowledged."""
    properties = parse_properties(record.properties)
    return message_of(Popped(record, properties, "", record.reconsume_times, record.topic), clock)

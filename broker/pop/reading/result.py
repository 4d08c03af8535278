"""What a pop has found so far: messages, where they lie, and how many are left.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Sequence

from trimq.broker.pop.reading.checks import Wanted
from trimq.broker.pop.reading.selection import Place
from trimq.codec.headers.fast_pop import PopHeader
from trimq.codec.java.tables import hash_order
from trimq.codec.names import is_light
from trimq.codec.pop.handle import Handle, format_handle, retry_version
from trimq.codec.pop.offset_info import OffsetInfo
from trimq.codec.records.fields import queue_offset_at, size_at
from trimq.codec.records.multi_dispatch import light_places
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.property_keys import POP_CK
from trimq.codec.records.record import encode_record, parse_record
from trimq.remoting.contract import Buffer, Peer

# Of the hash table that Java reads properties into (MessageDecoder.string2messageProperties): its order shows.
_BUCKETS = 128


class PopResult:
    """One look at the queues for one request."""

    __slots__ = (
        "bodies",
        "count",
        "durable_at",
        "header",
        "left",
        "moved",
        "news",
        "peer",
        "places",
        "pop_time",
        "rest",
        "revive_queue",
        "wanted",
    )

    def __init__(
        self,
        header: PopHeader,
        peer: Peer,
        wanted: Wanted,
        left: list[Place],
        pop_time: int,
        revive_queue: int,
        news: int,
    ) -> None:
        self.header = header
        self.peer = peer
        self.wanted = wanted
        # Queues to be read, in their order.
        self.left = left
        self.pop_time = pop_time
        self.revive_queue = revive_queue
        # How much there was when it began.
        self.news = news
        self.places = OffsetInfo()
        self.bodies: list[Buffer] = []
        self.count = 0
        # How many messages the queues have beyond those found.
        self.rest = 0
        # It passed over messages that it does not want, and there are more behind them.
        self.moved = False
        self.durable_at = -1

    @property
    def room(self) -> int:
        return self.header.max_msg_nums - self.count

    def handle(self, first: int, topic: str, broker_name: str) -> Handle:
        """Of the messages of one queue; `first`: the offset that was asked for."""
        return Handle(
            first,
            self.pop_time,
            self.header.invisible_time,
            self.revive_queue,
            retry_version(topic),
            broker_name,
        )

    def add(self, place: Place, first: int, pieces: Sequence[Buffer], offsets: list[int]) -> None:
        """`pieces` of one or more records each; the messages' offsets."""
        self.places.add(retry_version(place.topic), place.queue_id, first, offsets)
        self.bodies.extend(pieces)
        self.count += len(offsets)


def records_in(pieces: Sequence[bytes | bytearray]) -> list[bytes]:
    """The records, of which each piece has one or more, one after the other."""
    found: list[bytes] = []
    for piece in pieces:
        at = 0
        while at < len(piece):
            size = size_at(bytes(piece[at : at + 4]))
            found.append(bytes(piece[at : at + size]))
            at += size
    return found


def offsets_in(topic: str, records: Sequence[bytes]) -> list[int]:
    """The records' offsets in the topic's queue; in a light queue they are others than in their own."""
    if not is_light(topic):
        return [queue_offset_at(record) for record in records]
    offsets: list[int] = []
    for data in records:
        record = parse_record(data, check_crc=False)
        places = {} if record.topic == topic else dict(light_places(record.properties))
        offsets.append(places.get(topic, record.queue_offset))
    return offsets


def as_asked(data: bytes, topic: str, handle: Handle) -> bytes:
    """A retry message under the topic that was asked for, with its handle (PopMessageProcessor.popMsgFromQueue)."""
    record = parse_record(data, check_crc=False)
    properties = parse_properties(record.properties)
    properties.setdefault(POP_CK, format_handle(handle, record.queue_id, record.queue_offset))
    order = hash_order(properties, capacity=_BUCKETS)
    return encode_record(
        topic.encode(),
        record.queue_id,
        record.flag,
        record.queue_offset,
        record.physical_offset,
        record.sys_flag,
        record.born_timestamp,
        record.born_host,
        record.store_timestamp,
        record.store_host,
        record.reconsume_times,
        record.prepared_transaction_offset,
        record.body,
        format_properties({key: properties[key] for key in order}),
    )

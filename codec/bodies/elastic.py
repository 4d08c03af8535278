"""Records of the system topic `rmq_sys_ELASTIC_MAP`: what elastic topics are and who has passed what.

Each has a kind and a format version; members that a reader does not know are passed over.
"""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64, decode_file, encode_body
from trimq.codec.errors import CodecError

FORMAT = 1


class ElasticChange(Body, kw_only=True):
    """A change that happened: donors' ends, receivers' starts (queue -> offset), how many LPs it `moved`.

    `told`: groups without an offset in a receiver, which begin at its start. `at`: when, in milliseconds since 1970.
    """

    at: Int64 = 0
    ends: dict[Int32, Int64] = msgspec.field(default_factory=dict)
    moved: Int32 = 0
    starts: dict[Int32, Int64] = msgspec.field(default_factory=dict)
    told: list[str] = msgspec.field(default_factory=list)
    version: Int32 = 0


class ElasticState(Body, kw_only=True):
    """A topic's whole state after a change: `queues[lp]` is the physical queue.

    `old_queues`: how many write queues it had before it became elastic; 0: none, or not known.
    """

    changes: list[ElasticChange] = msgspec.field(default_factory=list)
    format: Int32 = FORMAT
    kind: str = "state"
    old_queues: Int32 = 0
    queues: list[Int32] = msgspec.field(default_factory=list)
    topic: str = ""
    version: Int32 = 0


class GatedGroup(Body, kw_only=True):
    """A group that has locked a queue of the topic: its reads are gated from here on."""

    format: Int32 = FORMAT
    group: str = ""
    kind: str = "gated"
    topic: str = ""


class GroupPasses(Body, kw_only=True):
    """All versions that a group has passed and that are not forgotten; a reset leaves fewer."""

    format: Int32 = FORMAT
    group: str = ""
    kind: str = "passes"
    topic: str = ""
    versions: list[Int32] = msgspec.field(default_factory=list)


class GroupReset(Body, kw_only=True):
    """Where an operator has moved a group, or that a consumer has heard of it (queue -> offset).

    `moved`: by this very record. `pending`: all of which no consumer has heard yet. `settling`: queues whose owners
    may still have what they fetched before.
    """

    format: Int32 = FORMAT
    group: str = ""
    kind: str = "reset"
    moved: dict[Int32, Int64] = msgspec.field(default_factory=dict)
    pending: dict[Int32, Int64] = msgspec.field(default_factory=dict)
    settling: list[Int32] = msgspec.field(default_factory=list)
    topic: str = ""


class ElasticDeletion(Body, kw_only=True):
    """The state of a topic, or of one group in it, or of a group everywhere, is gone."""

    format: Int32 = FORMAT
    group: str | None = None
    kind: str = "deleted"
    topic: str | None = None


ElasticRecord = ElasticState | GatedGroup | GroupPasses | GroupReset | ElasticDeletion


class _Head(Body, kw_only=True):
    format: Int32 = 0
    group: str | None = None
    kind: str = ""
    topic: str | None = None


def encode_record(record: ElasticRecord) -> bytes:
    """The body of its message.

    States and passes are long and many: they are strict JSON, which costs a twentieth both ways.
    """
    if isinstance(record, ElasticState | GroupPasses):
        return msgspec.json.encode(record)
    return encode_body(record)


def encode_short(record: ElasticRecord) -> bytes:
    """The same with bare keys, some bytes less: as every record was written before."""
    return encode_body(record)


def decode_record(data: bytes) -> ElasticRecord:
    """CodecError: broken, of a kind or of a format that this version does not know."""
    head = decode_file(_Head, data)
    if head.format > FORMAT:
        raise CodecError(f"elastic record of format {head.format}: only up to {FORMAT} is known")
    if head.kind != "deleted" and not head.topic:
        raise CodecError(f"elastic record {head.kind!r} names no topic")
    if head.kind in ("gated", "passes", "reset") and not head.group:
        raise CodecError(f"elastic record {head.kind!r} names no group")
    if head.kind == "state":
        return decode_file(ElasticState, data)
    if head.kind == "gated":
        return decode_file(GatedGroup, data)
    if head.kind == "passes":
        return decode_file(GroupPasses, data)
    if head.kind == "reset":
        return decode_file(GroupReset, data)
    if head.kind == "deleted":
        return decode_file(ElasticDeletion, data)
    raise CodecError(f"elastic record of an unknown kind: {head.kind}")

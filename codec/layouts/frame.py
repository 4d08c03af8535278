"""The remoting frame and its binary header (RemotingCommand, RocketMQSerializable)."""

from typing import Final

from construct import (
    GreedyBytes,
    GreedyRange,
    Int8ub,
    Int16sb,
    Int16ub,
    Int24ub,
    Int32sb,
    Int32ub,
    PascalString,
    Prefixed,
    Struct,
    Switch,
    this,
)

EXT_FIELD: Final = Struct(
    "key" / PascalString(Int16ub, "utf8"),
    "value" / PascalString(Int32ub, "utf8"),
)

ROCKETMQ_HEADER: Final = Struct(
    "code" / Int16sb,
    "language" / Int8ub,
    "version" / Int16sb,
    "opaque" / Int32sb,
    "flag" / Int32sb,
    "remark" / PascalString(Int32ub, "utf8"),
    "ext_fields" / Prefixed(Int32ub, GreedyRange(EXT_FIELD)),
)

# A JSON object: code, extFields, flag, language, opaque, remark, serializeTypeCurrentRPC, version.
JSON_HEADER: Final = GreedyBytes

FRAME: Final = Prefixed(
    Int32ub,
    Struct(
        "coding" / Int8ub,
        "header" / Prefixed(Int24ub, Switch(this.coding, {0: JSON_HEADER, 1: ROCKETMQ_HEADER})),
        "body" / GreedyBytes,
    ),
)

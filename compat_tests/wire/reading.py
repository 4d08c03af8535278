"""What is recorded of a reply: all that a client could look at, in plain JSON values."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from compat_tests.wire import fastjson, records
from compat_tests.wire.frames import Frame

# Java keeps these in hash sets: their order on the wire means nothing.
UNORDERED: Final = frozenset(
    [
        "topicList",
        "consumerIdList",
        "lockOKMQSet",
        "queueDatas",
        "brokerDatas",
        "groupList",
        "tagsSet",
        "codeSet",
    ]
)
TEXT_LIMIT: Final = 200

Reader = Callable[[bytes], Any]


def reply(frame: Frame, reader: Reader) -> dict[str, Any]:
    """The recorded form of a reply. Its header coding is left out: clients take either."""
    seen: dict[str, Any] = {"code": frame.code, "remark": frame.remark, "ext": dict(frame.ext)}
    if frame.body:
        seen["body"] = reader(frame.body)
    return seen


def pushed(frame: Frame, reader: Reader) -> dict[str, Any]:
    """The recorded form of a request that the server sent."""
    return {"request": frame.code, "oneway": frame.is_oneway} | reply(frame, reader)


def as_json(body: bytes) -> Any:
    """A JSON body: its value and what a picky parser would see of its form."""
    text = body.decode()
    return {
        "value": sort_sets(fastjson.loads(text)),
        "strict": fastjson.is_strict(text),
        "compact": "\n" not in text and "\t" not in text,
    }


def sort_sets(value: Any, key: str = "") -> Any:
    """The same value with the members of unordered collections in one order."""
    if isinstance(value, dict):
        return {name: sort_sets(member, name) for name, member in value.items()}
    if isinstance(value, list):
        members = [sort_sets(member) for member in value]
        is_set = key in UNORDERED or key.endswith("Set")
        return sorted(members, key=fastjson.canonical) if is_set else members
    return value


def as_text(body: bytes) -> Any:
    return body.decode()


def as_records(body: bytes) -> Any:
    """Message records, field by field."""
    return [one_record(record) for record in records.read_records(body)]


def one_record(record: records.Record) -> dict[str, Any]:
    return {
        "version": {records.MAGIC_V1: 1, records.MAGIC_V2: 2}.get(record.magic, record.magic),
        "crcHolds": record.crc_holds,
        "queueId": record.queue_id,
        "flag": record.flag,
        "queueOffset": record.queue_offset,
        "physicalOffset": f"position {record.physical_offset}",
        "sysFlag": record.sys_flag,
        "bornTimestamp": record.born_timestamp,
        "bornHost": record.born_host,
        "storeTimestamp": record.store_timestamp,
        "storeHost": record.store_host,
        "reconsumeTimes": record.reconsume_times,
        "preparedOffset": record.prepared_offset,
        "body": payload(record.body),
        "topic": record.topic,
        "properties": records.read_properties(record.properties),
        "endsWithSeparator": record.properties.endswith("\x02"),
    }


def payload(body: bytes) -> Any:
    """A short text as it is, anything else by length and checksum."""
    if len(body) <= TEXT_LIMIT:
        return body.decode(errors="backslashreplace")
    return {"length": len(body), "crc": zlib.crc32(body)}

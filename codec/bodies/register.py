"""What a broker registers with a NameServer (RegisterBrokerBody), as JSON or in a compact form.

The compact form is deflated: the data version as JSON, the topics as words joined by blanks,
the filter servers as JSON and, since 5.0, the static topics as JSON; each with its length.
"""

import struct
import zlib
from typing import Final

import msgspec

from trimq.codec.bodies.base import Body, decode_body, encode_body
from trimq.codec.bodies.topics import (
    DataVersion,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicQueueMappingInfo,
)
from trimq.codec.enums import TOPIC_FILTER_TYPES
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson
from trimq.codec.java.numbers import parse_int

# MQVersion V5_0_0: from then on static topics follow.
_WITH_STATIC_TOPICS: Final = 413
# An inflated body; a million topics take less.
_INFLATED_LIMIT: Final = 1 << 26
# Limits of topics, and of static ones, in a body: reading one takes some microseconds.
_MOST_TOPICS: Final = 1 << 18
_INT: Final = struct.Struct(">i")


class RegisterBrokerBody(Body, kw_only=True):
    """REGISTER_BROKER."""

    filter_server_list: list[str] = msgspec.field(default_factory=list)
    topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper = msgspec.field(
        default_factory=TopicConfigAndMappingSerializeWrapper
    )


def encode_register(body: RegisterBrokerBody, compressed: bool) -> bytes:
    if not compressed:
        return encode_body(body)
    wrapper = body.topic_config_serialize_wrapper
    infos = wrapper.topic_queue_mapping_info_map.values()
    return zlib.compress(
        b"".join(
            (
                _sized(encode_body(wrapper.data_version)),
                _INT.pack(len(wrapper.topic_config_table)),
                *(_sized(_topic_words(topic)) for topic in wrapper.topic_config_table.values()),
                _sized(fastjson.dumps(body.filter_server_list)),
                _INT.pack(len(infos)),
                *(_sized(encode_body(info)) for info in infos),
            )
        )
    )


def decode_register(data: bytes, compressed: bool, broker_version: int) -> RegisterBrokerBody:
    """`broker_version` is the one in the command: it says how far the compact form goes."""
    if not compressed:
        return decode_body(RegisterBrokerBody, data)
    reader = _Reader(_inflate(data))
    wrapper = TopicConfigAndMappingSerializeWrapper(
        data_version=decode_body(DataVersion, reader.sized())
    )
    for _ in range(reader.count()):
        topic = _parse_topic_words(reader.sized())
        wrapper.topic_config_table[topic.topic_name] = topic
    body = RegisterBrokerBody(
        filter_server_list=fastjson.loads_as(list[str], reader.sized()),
        topic_config_serialize_wrapper=wrapper,
    )
    if broker_version >= _WITH_STATIC_TOPICS:
        for _ in range(reader.count()):
            info = decode_body(TopicQueueMappingInfo, reader.sized())
            if info.topic is None:
                raise CodecError("a static topic without a name in a register body")
            wrapper.topic_queue_mapping_info_map[info.topic] = info
    return body


class _Reader:
    """Parses an inflated body."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        if self._at + 4 > len(self._data):
            raise CodecError(f"the register body breaks off at byte {self._at}")
        value: int = _INT.unpack_from(self._data, self._at)[0]
        self._at += 4
        return value

    def count(self) -> int:
        count = self.number()
        if count > _MOST_TOPICS:
            raise CodecError(
                f"{count} topics in a register body are beyond the {_MOST_TOPICS} allowed"
            )
        return count

    def sized(self) -> bytes:
        length = self.number()
        start = self._at
        if not 0 <= length <= len(self._data) - start:
            raise CodecError(f"length {length} at byte {start - 4} is beyond the register body")
        self._at = start + length
        return self._data[start : self._at]


def _sized(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        inflated = inflater.decompress(data, _INFLATED_LIMIT)
    except zlib.error as error:
        raise CodecError(f"the compressed register body is broken: {error}") from None
    if not inflater.eof:
        raise CodecError(f"the register body breaks off or is beyond {_INFLATED_LIMIT} bytes")
    return inflated


def _topic_words(topic: TopicConfig) -> bytes:
    """TopicConfig.encode: topicSysFlag and order do not travel in this form."""
    attributes = fastjson.dumps(topic.attributes).decode()
    return (
        f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums}"
        f" {topic.perm} {topic.topic_filter_type} {attributes}"
    ).encode()


def _int(text: str) -> int:
    number = parse_int(text)
    if number is None:
        raise ValueError(text)
    return number


def _parse_topic_words(data: bytes) -> TopicConfig:
    words = data.decode("utf-8", "replace").split(" ", 5)
    try:
        name, reads, writes, perm, filter_type = words[:5]
        topic = TopicConfig(
            topic_name=name,
            read_queue_nums=_int(reads),
            write_queue_nums=_int(writes),
            perm=_int(perm),
            topic_filter_type=TOPIC_FILTER_TYPES[filter_type],
        )
    except (ValueError, KeyError):
        raise CodecError(f"no topic in a register body: {data[:60]!r}") from None
    if len(words) > 5 and words[5]:
        topic.attributes = fastjson.loads_as(dict[str, str], words[5])
    return topic

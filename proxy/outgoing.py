"""A message of a client as a broker takes it: its properties, and what bounds them (SendMessageActivity).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from trimq.base.clock import Clock
from trimq.codec.flags import SysFlag
from trimq.proxy import properties as names
from trimq.proxy.checks import check_lite_topic, check_tag, has_control, is_blank
from trimq.proxy.config import ProxyConfig
from trimq.proxy.protos.definition_pb2 import Code, Encoding, Message, MessageType, SystemProperties
from trimq.proxy.statuses import ProxyError

# Timestamps.isValid: from year 1 to 9999.
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def sys_flag_of(message: Message) -> int:
    """How its body is packed, and whether it is half of a transaction."""
    system = message.system_properties
    flag = 0
    if system.body_encoding == Encoding.GZIP:
        flag |= SysFlag.COMPRESSED
    if system.message_type == MessageType.TRANSACTION:
        flag |= SysFlag.PREPARED
    return flag


def message_type_of(properties: dict[str, str]) -> str:
    """NORMAL, FIFO, ..., as a topic's `message.type` names it (TopicMessageType.parseFromMessageProperty)."""
    if properties.get(names.PREPARED, "").lower() == "true":
        return "TRANSACTION"
    delays = (
        names.DELAY_LEVEL,
        names.TIMER_DELIVER_MS,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELAY_MS,
    )
    if any(name in properties for name in delays):
        return "DELAY"
    if names.MESSAGE_GROUP in properties:
        return "FIFO"
    if names.PRIORITY in properties:
        return "PRIORITY"
    if names.LITE_TOPIC in properties:
        return "LITE"
    return "NORMAL"


class Outgoing:
    """Builds what is sent."""

    def __init__(self, config: ProxyConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._levels = delay_levels(config.message_delay_level)

    def properties(self, message: Message, remote_addr: str) -> dict[str, str]:
        """All that the message becomes beside its body; ProxyError for what is beyond a bound."""
        self._check_body(message.body)
        properties = dict(message.user_properties)
        size = self._check_user(properties)
        system = message.system_properties
        check_tag(system.tag)
        # Also when there is none: readers skip it then.
        properties[names.TAGS] = system.tag
        size += len(system.tag.encode())
        for key in system.keys:
            _check_key(key)
            size += len(key.encode())
        if system.keys:
            properties[names.KEYS] = " ".join(system.keys)
        if size > self._config.max_user_property_size:
            raise ProxyError(
                Code.MESSAGE_PROPERTIES_TOO_LARGE,
                "the total size of user property is too large,"
                f" max is {self._config.max_user_property_size}",
            )
        if is_blank(system.message_id):
            raise ProxyError(Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
        properties[names.UNIQUE_KEY] = system.message_id
        self._add_kind(system, properties)
        properties[names.RECONSUME_TIME] = str(system.delivery_attempt)
        # A transaction's producer is found by the topic.
        properties[names.PRODUCER_GROUP] = message.topic.name
        self._add_groups(system, properties)
        if system.trace_context:
            properties[names.TRACE_CONTEXT] = system.trace_context
        born_host = remote_addr if is_blank(system.born_host) else system.born_host
        if born_host:
            properties[names.BORN_HOST] = born_host
        born = system.born_timestamp
        if _is_valid(born):
            properties[names.BORN_TIMESTAMP] = str(born.ToMilliseconds())
        return properties

    def _add_kind(self, system: SystemProperties, properties: dict[str, str]) -> None:
        if system.message_type == MessageType.TRANSACTION:
            properties[names.PREPARED] = "true"
            if system.HasField("orphaned_transaction_recovery_duration"):
                seconds = system.orphaned_transaction_recovery_duration.seconds
                most = self._config.max_transaction_recovery_second
                if 0 < most < seconds:
                    raise ProxyError(
                        Code.BAD_REQUEST,
                        f"the max transaction recovery time of message is too large, max is {most}",
                    )
                properties[names.CHECK_IMMUNITY] = str(seconds)
        if system.HasField("delivery_timestamp"):
            due = _millis_of(system.delivery_timestamp)
            most = self._config.max_delay_time_mills
            if 0 < most < due - self._clock.millis():
                raise ProxyError(
                    Code.ILLEGAL_DELIVERY_TIME,
                    f"the max delay time of message is too large, max is {most}",
                )
            if self._config.use_delay_level:
                level = delay_level(self._levels, due - self._clock.millis())
                properties[names.DELAY_LEVEL] = str(level)
            properties[names.TIMER_DELIVER_MS] = str(due)
        if system.HasField("priority"):
            if system.priority < 0:
                raise ProxyError(
                    Code.INTERNAL_SERVER_ERROR,
                    "The priority must be greater than or equal to 0. IllegalArgumentException",
                )
            properties[names.PRIORITY] = str(system.priority)

    def _add_groups(self, system: SystemProperties, properties: dict[str, str]) -> None:
        group = system.message_group
        if group:
            if is_blank(group):
                raise ProxyError(
                    Code.ILLEGAL_MESSAGE_GROUP,
                    "message group cannot be the char sequence of whitespace",
                )
            most = self._config.max_message_group_size
            if 0 < most <= len(group.encode()):
                raise ProxyError(
                    Code.ILLEGAL_MESSAGE_GROUP, f"message group exceed the max size {most}"
                )
            # Without a bound nothing else is looked at, there as here.
            if most > 0 and has_control(group):
                raise ProxyError(
                    Code.ILLEGAL_MESSAGE_GROUP, "message group cannot contain control character"
                )
            properties[names.MESSAGE_GROUP] = group
        if system.lite_topic:
            check_lite_topic(system.lite_topic, self._config.max_lite_topic_size)
            properties[names.LITE_TOPIC] = system.lite_topic

    def _check_body(self, body: bytes) -> None:
        if self._config.enable_message_body_empty_check and not body:
            raise ProxyError(Code.MESSAGE_BODY_EMPTY, "message body cannot be empty")
        most = self._config.max_message_size
        if 0 < most < len(body):
            raise ProxyError(
                Code.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {most}"
            )

    def _check_user(self, properties: dict[str, str]) -> int:
        """How many bytes they take."""
        most = self._config.user_property_max_num
        if len(properties) > most:
            raise ProxyError(
                Code.MESSAGE_PROPERTIES_TOO_LARGE, f"too many user properties, max is {most}"
            )
        size = 0
        for key, value in properties.items():
            if key in names.RESERVED:
                raise ProxyError(
                    Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"property is used by system: {key}"
                )
            for text, what in ((key, "key"), (value, "value")):
                if has_control(text):
                    raise ProxyError(
                        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
                        f"the {what} of property cannot contain control character",
                    )
            size += len(key.encode()) + len(value.encode())
        return size


def _check_key(key: str) -> None:
    if not key:
        return
    if is_blank(key):
        raise ProxyError(Code.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace")
    if has_control(key):
        raise ProxyError(Code.ILLEGAL_MESSAGE_KEY, "key cannot contain control character")


def delay_levels(text: str) -> list[int]:
    """`1s 5s 10s 30s 1m`: the milliseconds of each level, the first of which is level 1."""
    return [int(level[:-1]) * _UNITS[level[-1]] for level in text.split()]


def delay_level(levels: list[int], millis: int) -> int:
    """The shortest level that is longer than that, or the longest (ProxyConfig.computeDelayLevel)."""
    ordered = sorted(enumerate(levels, start=1), key=lambda level: level[1])
    return next((level for level, delay in ordered if delay > millis), ordered[-1][0])


def _is_valid(time: Timestamp) -> bool:
    return _FIRST_SECOND <= time.seconds <= _LAST_SECOND and 0 <= time.nanos < 1_000_000_000


def _millis_of(time: Timestamp) -> int:
    if not _is_valid(time):
        raise ProxyError(
            Code.INTERNAL_SERVER_ERROR,
            "Timestamp is not valid. See proto definition for valid values."
            f" Seconds ({time.seconds}) must be in range [-62,135,596,800, +253,402,300,799]."
            f" Nanos ({time.nanos}) must be in range [0, +999,999,999].. IllegalArgumentException",
        )
    return time.ToMilliseconds()

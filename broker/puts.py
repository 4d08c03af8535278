"""What stands between a finished message and the store: the checks and turns of a put.

PutMessageHook's four hooks in their order (HookUtils.checkBeforePutMessage, checkInnerBatch,
handleScheduleMessage; the quota of light queues has no meaning here), then how a refusal is named.
Everything that is put passes here: sends, messages sent back, later transactions and POP.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

from trimq.broker.delay_levels import queue_of_level
from trimq.broker.topic_names import RETRY_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.numbers import parse_int
from trimq.codec.properties import format_properties
from trimq.codec.property_keys import (
    DELAY,
    INNER_NUM,
    REAL_QID,
    REAL_TOPIC,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
)
from trimq.store.config import StoreConfig
from trimq.store.errors import (
    DiskFull,
    MessageTooLarge,
    PropertiesLookTorn,
    PropertiesTooLong,
    StoreError,
    StoreNotWritable,
)
from trimq.store.inner_batch import MOST_MESSAGES
from trimq.store.message import Message

LONGEST_TOPIC: Final = 127
LONGEST_RETRY_TOPIC: Final = 255
_TIMER_KEYS: Final = (TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS)


class PutStatus(Enum):
    """PutMessageStatus, as far as a refusal here needs it."""

    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    WHEEL_TIMER_NOT_ENABLE = "WHEEL_TIMER_NOT_ENABLE"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


class PutRefused(Exception):
    """The message may not be stored."""

    def __init__(self, status: PutStatus, reason: str) -> None:
        super().__init__(f"{status.value}: {reason}")
        self.status = status


class PutRules:
    """Checks a message before it is put, and turns a delayed one to its level's queue.

    `check_writable` raises StoreNotWritable when no message at all is taken; that comes first.
    """

    def __init__(self, levels: tuple[int, ...], check_writable: Callable[[], object]) -> None:
        self._max_level = len(levels)
        self._check_writable = check_writable

    def apply(
        self, message: Message, properties: dict[str, str], attributes: Mapping[str, str] | None
    ) -> None:
        """PutRefused, or the message is ready: its topic, queue and property block are final.

        `properties` is the message's block taken apart; `attributes` are those of its topic.
        """
        self._check_writable()
        check_topic_length(message.topic)
        check_inner_batch(message.sys_flag, properties, attributes)
        transaction = message.sys_flag & SysFlag.TRANSACTION_MASK
        if transaction in (SysFlag.NOT_TRANSACTION, SysFlag.COMMIT):
            self._schedule(message, properties)
        message.properties = format_properties(properties)

    def _schedule(self, message: Message, properties: dict[str, str]) -> None:
        level = delay_level(properties)
        if level > 0:
            for key in _TIMER_KEYS:
                properties.pop(key, None)
            # The real broker caps the level it stores as well.
            level = min(level, self._max_level)
            properties[DELAY] = str(level)
            properties[REAL_TOPIC] = message.topic
            properties[REAL_QID] = str(message.queue_id)
            message.topic = SCHEDULE_TOPIC
            message.queue_id = queue_of_level(level)
        elif (
            message.topic != TIMER_TOPIC
            and TIMER_OUT_MS not in properties
            and any(key in properties for key in _TIMER_KEYS)
        ):
            # The answer of a broker with timerWheelEnable=false: there is no timer wheel yet.
            raise PutRefused(PutStatus.WHEEL_TIMER_NOT_ENABLE, "no timer wheel")


def delay_level(properties: Mapping[str, str]) -> int:
    """The DELAY property (Message.getDelayTimeLevel); CodecError when it is no number.

    The real broker fails on one, so its sender gets SYSTEM_ERROR without further fields.
    """
    text = properties.get(DELAY)
    if text is None:
        return 0
    level = parse_int(text)
    if level is None:
        raise CodecError(f"the delay level (property DELAY) is no whole number: {text[:40]!r}")
    return level


def check_topic_length(topic: str) -> None:
    """Topics that have passed TopicValidator can still be too long to store: %DLQ%."""
    length = len(topic.encode())
    limit = LONGEST_RETRY_TOPIC if topic.startswith(RETRY_PREFIX) else LONGEST_TOPIC
    if length > limit:
        raise PutRefused(PutStatus.MESSAGE_ILLEGAL, f"a topic of {length} bytes")


def check_inner_batch(
    sys_flag: int, properties: Mapping[str, str], attributes: Mapping[str, str] | None
) -> None:
    """A batch kept in one record needs flag and property, and a topic of that queue type.

    CodecError when nobody could count it.
    """
    if sys_flag & SysFlag.INNER_BATCH:
        if not attributes or attributes.get("queue.type") != "BatchCQ":
            raise PutRefused(PutStatus.MESSAGE_ILLEGAL, "inner batch on a topic without BatchCQ")
        count = parse_int(properties.get(INNER_NUM, "1"))
        if count is None or count > MOST_MESSAGES:
            # The real broker fails on one, so its sender gets SYSTEM_ERROR without further fields.
            raise CodecError(
                f"the count of messages (property INNER_NUM) is no number up to {MOST_MESSAGES}"
            )
    elif INNER_NUM in properties:
        raise PutRefused(PutStatus.MESSAGE_ILLEGAL, "INNER_NUM on a message that is no batch")


def put_status(error: PutRefused | StoreError) -> PutStatus:
    """How the real broker calls what went wrong."""
    if isinstance(error, PutRefused):
        return error.status
    if isinstance(error, MessageTooLarge | PropertiesLookTorn):
        return PutStatus.MESSAGE_ILLEGAL
    if isinstance(error, PropertiesTooLong):
        return PutStatus.PROPERTIES_SIZE_EXCEEDED
    if isinstance(error, StoreNotWritable | DiskFull):
        return PutStatus.SERVICE_NOT_AVAILABLE
    return PutStatus.UNKNOWN_ERROR


def put_answer(
    error: PutRefused | StoreError, config: StoreConfig, disk_use: Callable[[Path], float]
) -> tuple[int, str]:
    """Code and remark for the producer (SendMessageProcessor.handlePutMessageResult)."""
    status = put_status(error)
    if status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
        return ResponseCode.MESSAGE_ILLEGAL, (
            "the message is illegal, maybe msg body or properties length not matched. msg body "
            f"length limit {config.max_message_size}B, msg properties length limit 32KB."
        )
    if status is PutStatus.SERVICE_NOT_AVAILABLE:
        return ResponseCode.SERVICE_NOT_AVAILABLE, (
            "service not available now. It may be caused by one of the following reasons: the "
            f"broker's disk is full [{disk_usage(config, disk_use)}], messages are put to the slave, "
            "message store has been shut down, etc."
        )
    if status is PutStatus.WHEEL_TIMER_NOT_ENABLE:
        return ResponseCode.SYSTEM_ERROR, (
            "accurate timer message is not enabled, timerWheelEnable is false"
        )
    return ResponseCode.SYSTEM_ERROR, status.value


def disk_usage(config: StoreConfig, disk_use: Callable[[Path], float]) -> str:
    """How full the disks of commit log, consume queues and index are (diskUtil)."""
    commit_log = min(map(disk_use, config.commit_logs))
    consume_queue = disk_use(config.consume_queue)
    index = disk_use(config.root / "index")
    return f"CL: {commit_log:5.2f} CQ: {consume_queue:5.2f} INDEX: {index:5.2f}"

"""What stands between a finished message and the store: the checks and redirections of a put.

PutMessageHook's four hooks in their order (HookUtils.checkBeforePutMessage, checkInnerBatch,
handleScheduleMessage, handleLmqQuota), then how a refusal is named.
Everything that is put passes here: sends, messages sent back, later transactions and POP.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

from trimq.broker.delivery.level_queues import queue_of_level
from trimq.broker.timers.schedule_rule import LONGEST_TO_WAIT, TIMER_KEYS, TimerRule, TimerVerdict
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.java.numbers import parse_int
from trimq.codec.names import RETRY_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC
from trimq.codec.records.properties import format_properties
from trimq.codec.records.property_keys import (
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_NUM,
    REAL_QID,
    REAL_TOPIC,
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
    TooManyLightQueues,
)
from trimq.store.messages.inner_batch import MOST_MESSAGES
from trimq.store.messages.message import Message

LONGEST_TOPIC: Final = 127
LONGEST_RETRY_TOPIC: Final = 255
_REFUSED: Final = (
    TimerVerdict.MSG_ILLEGAL,
    TimerVerdict.FLOW_CONTROL,
    TimerVerdict.NOT_ENABLE,
)


class PutStatus(Enum):
    """PutMessageStatus, as far as a refusal here needs it."""

    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    WHEEL_TIMER_MSG_ILLEGAL = "WHEEL_TIMER_MSG_ILLEGAL"
    WHEEL_TIMER_FLOW_CONTROL = "WHEEL_TIMER_FLOW_CONTROL"
    WHEEL_TIMER_NOT_ENABLE = "WHEEL_TIMER_NOT_ENABLE"
    LMQ_CONSUME_QUEUE_NUM_EXCEEDED = "LMQ_CONSUME_QUEUE_NUM_EXCEEDED"
    # Ours: RocketMQ stores it, and deletes it with its topic or leaves it behind.
    TOPIC_LEAVES = "TOPIC_LEAVES"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


class PutRefused(Exception):
    """The message may not be stored."""

    def __init__(self, status: PutStatus, reason: str) -> None:
        super().__init__(f"{status.value}: {reason}")
        self.status = status


class PutRules:
    """Checks a message before it is put, and redirects a delayed one to its level's queue or the wheel.

    `check_writable` raises StoreNotWritable when no message is accepted at all; that is checked
    first. `check_light` raises StoreError or PutRefused for a message that names light queues which cannot have it.
    """

    def __init__(
        self,
        levels: tuple[int, ...],
        check_writable: Callable[[], object],
        timers: TimerRule,
        check_light: Callable[[Message], object] | None = None,
    ) -> None:
        self._max_level = len(levels)
        self._check_writable = check_writable
        self._check_light = check_light
        self._timers = timers

    def apply(
        self, message: Message, properties: dict[str, str], attributes: Mapping[str, str] | None
    ) -> None:
        """PutRefused, or the message is ready: its topic, queue and property block are final.

        `properties` is the message's parsed block; `attributes` are those of its topic.
        """
        self._check_writable()
        check_topic_length(message.topic)
        check_inner_batch(message.sys_flag, properties, attributes)
        waits = False
        transaction = message.sys_flag & SysFlag.TRANSACTION_MASK
        if transaction in (SysFlag.NOT_TRANSACTION, SysFlag.COMMIT):
            waits = self._schedule(message, properties)
        message.properties = format_properties(properties)
        if waits:
            check_deliverable(message)

    def apply_due(self, message: Message, properties: str, deliver_ms: int, now: int) -> None:
        """The same for a message of the broker's own that is to be delivered at a time.

        `properties`: its block, with TIMER_DELIVER_MS; nothing else in it decides anything.
        """
        self._check_writable()
        check_topic_length(message.topic)
        verdict = self._timers.judge(deliver_ms, now)
        if verdict is TimerVerdict.WAITS:
            out_ms = self._timers.slot_of(deliver_ms)
            waits = (
                f"{TIMER_OUT_MS}\x01{out_ms}\x02{REAL_TOPIC}\x01{message.topic}\x02"
                f"{REAL_QID}\x01{message.queue_id}\x02"
            )
            message.properties = (properties + waits).encode()
            message.out_ms = out_ms
            message.real_topic = message.topic
            message.topic = TIMER_TOPIC
            message.queue_id = 0
            check_deliverable(message)
        elif verdict is TimerVerdict.ORDINARY:
            message.properties = properties.encode()
        else:
            raise PutRefused(PutStatus(verdict.value), "a timer message")

    def apply_ready(self, message: Message) -> None:
        """`apply` for a message whose property block is final: no inner batch, and no key that asks for anything."""
        self._check_writable()
        check_topic_length(message.topic)

    def check_light(self, message: Message, properties: Mapping[str, str]) -> None:
        """StoreError or PutRefused for a message that is ready and names light queues which cannot have it
        (handleLmqQuota).

        For those of producers, committed ones too: what the broker itself puts again is stored in any case.
        """
        if self._check_light is not None and INNER_MULTI_DISPATCH in properties:
            self._check_light(message)

    def _schedule(self, message: Message, properties: dict[str, str]) -> bool:
        """Whether the message goes to the wheel."""
        level = delay_level(properties)
        if level <= 0:
            verdict = self._timers.apply(message, properties)
            if verdict in _REFUSED:
                raise PutRefused(PutStatus(verdict.value), "a timer message")
            return verdict is TimerVerdict.WAITS
        for key in TIMER_KEYS:
            properties.pop(key, None)
        # The real broker caps the level it stores as well.
        level = min(level, self._max_level)
        properties[DELAY] = str(level)
        properties[REAL_TOPIC] = message.topic
        properties[REAL_QID] = str(message.queue_id)
        message.topic = SCHEDULE_TOPIC
        message.queue_id = queue_of_level(level)
        return False


def delay_level(properties: Mapping[str, str]) -> int:
    """The DELAY property (Message.getDelayTimeLevel); CodecError when it is not a number.

    The real broker fails on one, so its sender gets SYSTEM_ERROR without further fields.
    """
    text = properties.get(DELAY)
    if text is None:
        return 0
    level = parse_int(text)
    if level is None:
        raise CodecError(f"the delay level (property DELAY) is not a whole number: {text[:40]!r}")
    return level


def check_deliverable(message: Message) -> None:
    """PutRefused for a message that could wait, but not be delivered; its property block is final."""
    size = len(message.properties)
    if size > LONGEST_TO_WAIT:
        # The real broker takes it, fails at its delivery, and then at everybody's.
        raise PutRefused(
            PutStatus.PROPERTIES_SIZE_EXCEEDED,
            f"properties of {size} bytes would be too long when delivered",
        )


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

    CodecError when its messages could not be counted.
    """
    if sys_flag & SysFlag.INNER_BATCH:
        if not attributes or attributes.get("queue.type") != "BatchCQ":
            raise PutRefused(PutStatus.MESSAGE_ILLEGAL, "inner batch on a topic without BatchCQ")
        count = parse_int(properties.get(INNER_NUM, "1"))
        if count is None or count > MOST_MESSAGES:
            # The real broker fails on one, so its sender gets SYSTEM_ERROR without further fields.
            raise CodecError(
                f"the count of messages (property INNER_NUM) is not a number up to {MOST_MESSAGES}"
            )
    elif INNER_NUM in properties:
        raise PutRefused(PutStatus.MESSAGE_ILLEGAL, "INNER_NUM on a message that is not a batch")


def put_status(error: PutRefused | StoreError) -> PutStatus:
    """The real broker's name for what went wrong."""
    if isinstance(error, PutRefused):
        return error.status
    if isinstance(error, MessageTooLarge | PropertiesLookTorn):
        return PutStatus.MESSAGE_ILLEGAL
    if isinstance(error, TooManyLightQueues):
        return PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
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
    if status is PutStatus.WHEEL_TIMER_MSG_ILLEGAL:
        return ResponseCode.MESSAGE_ILLEGAL, (
            "timer message illegal, the delay time should not be bigger than the max delay "
            f"{config.timer_max_delay_sec * 1000}ms; or if set del msg, the delay time should be "
            "bigger than the current time"
        )
    if status is PutStatus.WHEEL_TIMER_FLOW_CONTROL:
        limit = config.timer_congest_num_each_slot
        return ResponseCode.SYSTEM_ERROR, (
            f"timer message is under flow control, max num limit is {limit * 2} or the current "
            f"value is greater than {limit} and less than {limit * 2}, trigger random flow control"
        )
    if status is PutStatus.WHEEL_TIMER_NOT_ENABLE:
        return ResponseCode.SYSTEM_ERROR, (
            "accurate timer message is not enabled, timerWheelEnable is false"
        )
    if status is PutStatus.TOPIC_LEAVES:
        return ResponseCode.TOPIC_NOT_EXIST, "the topic is being deleted"
    if status is PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED:
        return ResponseCode.LMQ_QUOTA_EXCEEDED, f"[{status.value}]lmq consume queue num exceeded."
    return ResponseCode.SYSTEM_ERROR, status.value


def disk_usage(config: StoreConfig, disk_use: Callable[[Path], float]) -> str:
    """How full the disks of commit log, consume queues and index are (diskUtil)."""
    commit_log = min(map(disk_use, config.commit_logs))
    consume_queue = disk_use(config.consume_queue)
    index = disk_use(config.root / "index")
    return f"CL: {commit_log:5.2f} CQ: {consume_queue:5.2f} INDEX: {index:5.2f}"

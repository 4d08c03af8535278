"""The properties a message is stored with: what the producer gave and what the broker adds.

Rules of AbstractSendMessageProcessor.buildMsgContext, clearReservedProperties and
SendMessageProcessor.sendMessage: MSG_REGION, TRACE_ON and CLUSTER are the broker's own whatever was
sent, POP_CK is removed, UNIQ_KEY is added if it is missing. WAIT and all others stay.

Most messages carry none of the keys that need a decision. Their block is only appended to; it is
parsed only for the others.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.produce.sends.unique_ids import UniqueIds
from trimq.broker.tables.attributes import is_compacted
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.names import lite_queue
from trimq.codec.native import ordinary_properties, sent_properties
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.property_keys import (
    CLUSTER,
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_NUM,
    KEYS,
    LITE_TOPIC,
    MSG_REGION,
    POP_CK,
    PRIORITY,
    REAL_QID,
    REAL_TOPIC,
    SHARDING_KEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    TRACE_ON,
    TRAN_MSG,
    TRANSACTION_ID,
    UNIQ_KEY,
    WAIT,
)
from trimq.remoting.contract import RemotingError

# A message with one of them is examined closely.
_DECIDING_TEXTS: Final = (
    MSG_REGION,
    TRACE_ON,
    CLUSTER,
    POP_CK,
    DELAY,
    TIMER_DELAY_SEC,
    TIMER_DELAY_MS,
    TIMER_DELIVER_MS,
    PRIORITY,
    LITE_TOPIC,
    INNER_MULTI_DISPATCH,
    INNER_NUM,
)
_DECIDING: Final = tuple(key.encode() for key in (*_DECIDING_TEXTS, TRAN_MSG))
# And these in a half message, which gets some of them.
_DECIDING_IN_HALF: Final = tuple(
    key.encode() for key in (*_DECIDING_TEXTS, TIMER_OUT_MS, TRANSACTION_ID, REAL_TOPIC, REAL_QID)
)
_OF_HALF: Final = tuple(key.encode() for key in (TRAN_MSG, UNIQ_KEY, WAIT))
_NONE: Final[tuple[bytes, ...]] = ()
_TRUE: Final = b"true"


class SendProperties:
    """Knows what this broker adds."""

    def __init__(self, config: BrokerConfig, unique_ids: UniqueIds, clock: Clock) -> None:
        self._config = config
        self._unique_ids = unique_ids
        self._clock = clock
        self.reread()

    def reread(self) -> None:
        """Settings that are part of every message; called again when one was changed."""
        config = self._config
        trace_on = "true" if config.trace_on else "false"
        self.reply_fields = {MSG_REGION: config.region_id, TRACE_ON: trace_on}
        self._added = {**self.reply_fields, CLUSTER: config.broker_cluster_name}
        self._added_block = format_properties(self._added)

    def plain(self, text: str) -> tuple[bytes, str, int] | None:
        """The block of a message that needs no decision, its UNIQ_KEY, and its tag's hash (0: no tag).

        None: parse it and use `completed`.
        """
        found = sent_properties(text, self._added_block, _DECIDING)
        if found is None:
            return None
        block, unique, tag_hash = found
        if unique is None:
            unique = self._unique_ids.next(self._clock.millis())
            block += f"{UNIQ_KEY}\x01{unique}\x02".encode() + self._added_block
        return block, unique, tag_hash

    def half(self, text: str, topic: str, queue_id: int) -> tuple[bytes, str, bool] | None:
        """The block of an ordinary half message for that queue, its UNIQ_KEY, and whether its producer waits.

        Just what `completed` and `make_half` give. None: it is none, or needs a decision.
        """
        found = ordinary_properties(text, _NONE, _DECIDING_IN_HALF, _OF_HALF)
        if found is None:
            return None
        block, (mark, key, wait) = found
        if mark != _TRUE or key is None:
            return None
        unique = key.decode()
        place = f"{TRANSACTION_ID}\x01{unique}\x02{REAL_TOPIC}\x01{topic}\x02{REAL_QID}\x01{queue_id}\x02"
        return (
            block + self._added_block + place.encode(),
            unique,
            wait is None or wait.lower() == _TRUE,
        )

    def completed(self, properties: dict[str, str]) -> dict[str, str]:
        """The same for parsed properties: changed in place and returned."""
        properties.pop(POP_CK, None)
        properties.update(self._added)
        if UNIQ_KEY not in properties:
            properties[UNIQ_KEY] = self._unique_ids.next(self._clock.millis())
        return properties

    def outer(self, text: str) -> dict[str, str]:
        """The properties of a batch as a whole: only checked, its items are stored as sent."""
        properties = parse_properties(text)
        properties.pop(POP_CK, None)
        properties.update(self._added)
        return properties


def choose_by_priority(properties: dict[str, str], queue_id: int, config: TopicConfig) -> int:
    """The queue that a priority asks for; on a message of another kind the property is dropped."""
    text = properties.get(PRIORITY)
    if text is None:
        return queue_id
    # NumberUtils.toInt: a text that is not a number counts as -1 and stays as it is.
    if not text.isdecimal() or int(text) >= 2**31:
        return queue_id
    if is_plain_kind(properties):
        return min(int(text), config.write_queue_nums - 1)
    del properties[PRIORITY]
    return queue_id


def is_plain_kind(properties: dict[str, str]) -> bool:
    """Neither a transaction's, nor delayed, nor ordered (TopicMessageType)."""
    if is_prepared(properties):
        return False
    return not any(
        key in properties
        for key in (DELAY, TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS, SHARDING_KEY)
    )


def is_prepared(properties: dict[str, str]) -> bool:
    """Whether this is the half message of a transaction."""
    return properties.get(TRAN_MSG, "").lower() == "true"


def add_lite_queue(properties: dict[str, str], topic: str) -> None:
    """A lite topic's message is for the light queue named after it as well (LiteUtil.toLmqName)."""
    lite_topic = properties.get(LITE_TOPIC)
    if lite_topic:
        properties[INNER_MULTI_DISPATCH] = lite_queue(topic, lite_topic)


def check_compaction_key(properties: dict[str, str], config: TopicConfig) -> None:
    """A topic that keeps the last message of each key needs a key."""
    if is_compacted(config.attributes) and not properties.get(KEYS, "").strip():
        raise RemotingError(ResponseCode.MESSAGE_ILLEGAL, "Required message key is missing")

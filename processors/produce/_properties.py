"""The properties a message is stored with: what the producer gave and what the broker adds.

Rules of AbstractSendMessageProcessor.buildMsgContext, clearReservedProperties and
SendMessageProcessor.sendMessage: MSG_REGION, TRACE_ON and CLUSTER are the broker's own whatever was
sent, POP_CK is taken away, UNIQ_KEY is added where it is missing. WAIT and all others stay.

Most messages carry none of the keys that need a decision. Their block is only appended to; it is
taken apart for the others alone.
"""

from typing import Final

from trimq.broker.attributes import is_compacted
from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.unique_ids import UniqueIds
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.properties import parse_properties
from trimq.codec.property_keys import (
    CLUSTER,
    DELAY,
    INNER_MULTI_DISPATCH,
    KEYS,
    LITE_TOPIC,
    MSG_REGION,
    POP_CK,
    PRIORITY,
    SHARDING_KEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TRACE_ON,
    TRAN_MSG,
    UNIQ_KEY,
)
from trimq.remoting.contract import RemotingError

_UNIQ_KEY_START: Final = f"{UNIQ_KEY}\x01"


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
        self._added_block = "".join(f"{key}\x01{value}\x02" for key, value in self._added.items())

    def needs_a_look(self, text: str) -> bool:
        """Whether a key may be among them that decides something, or an entry that is none.

        A false alarm costs only time: the searches take 0.7 us, taking a block apart and putting
        it together again 4 us.
        """
        return (
            text.count("\x01") != text.count("\x02")
            or "\x01\x02" in text
            or "\x02\x01" in text
            or text.startswith("\x01")
            or "DELAY" in text
            or "TIMER_DELIVER_MS" in text
            or "TRAN_MSG" in text
            or "MSG_REGION" in text
            or "TRACE_ON" in text
            or "CLUSTER" in text
            or "POP_CK" in text
            or "INNER_NUM" in text
            or "__LITE_TOPIC" in text
            or "_SYS_MSG_PRIORITY_" in text
        )

    def appended(self, text: str) -> tuple[bytes, str]:
        """The block of a message that needs no look, and its UNIQ_KEY."""
        at = text.find(_UNIQ_KEY_START)
        if at == 0 or (at > 0 and text[at - 1] == "\x02"):
            begin = at + len(_UNIQ_KEY_START)
            unique = text[begin : text.find("\x02", begin)]
            if unique:
                return (text + self._added_block).encode(), unique
        elif at > 0:
            properties = self.completed(parse_properties(text))
            return _joined(properties), properties[UNIQ_KEY]
        unique = self._unique_ids.next(self._clock.millis())
        return f"{text}{_UNIQ_KEY_START}{unique}\x02{self._added_block}".encode(), unique

    def completed(self, properties: dict[str, str]) -> dict[str, str]:
        """The same for properties taken apart: changed in place and returned."""
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
    # NumberUtils.toInt: what is no number counts as -1 and stays as it is.
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
        properties[INNER_MULTI_DISPATCH] = f"%LMQ%${topic}${lite_topic}"


def check_compaction_key(properties: dict[str, str], config: TopicConfig) -> None:
    """A topic that keeps the last message of each key needs a key."""
    if is_compacted(config.attributes) and not properties.get(KEYS, "").strip():
        raise RemotingError(ResponseCode.MESSAGE_ILLEGAL, "Required message key is missing")


def _joined(properties: dict[str, str]) -> bytes:
    return "".join(f"{key}\x01{value}\x02" for key, value in properties.items()).encode()

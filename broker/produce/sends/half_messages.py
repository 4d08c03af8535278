"""A send becomes a half message: stored for nobody, until its transaction ends.

Rules of TransactionalMessageBridge.parseHalfMessageInner. What is refused besides: a message of a
transaction that is to be delayed as well. The real broker would lose it without a word, because the
delay overwrites where it belongs.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.broker.produce.puts.rules import delay_level
from trimq.broker.timers.schedule_rule import TIMER_KEYS
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.codec.records.property_keys import (
    DELAY,
    REAL_QID,
    REAL_TOPIC,
    TRANSACTION_ID,
    UNIQ_KEY,
)
from trimq.remoting.contract import RemotingError
from trimq.store.messages.message import Message


def check_not_delayed(properties: dict[str, str]) -> None:
    """RemotingError, MESSAGE_ILLEGAL: it asks for a delay."""
    asks: list[str] = [key for key in TIMER_KEYS if key in properties]
    if delay_level(properties) > 0:
        asks.append(DELAY)
    if asks:
        raise RemotingError(
            ResponseCode.MESSAGE_ILLEGAL,
            f"a message of a transaction cannot be delayed: send it without {' and '.join(asks)}, or "
            "without a transaction",
        )


def make_half(message: Message, properties: dict[str, str]) -> None:
    """The message goes to the queue of half messages, and its properties say where it belongs."""
    properties[TRANSACTION_ID] = properties[UNIQ_KEY]
    properties[REAL_TOPIC] = message.topic
    properties[REAL_QID] = str(message.queue_id)
    move_half(message)


def move_half(message: Message) -> None:
    """The message goes to the queue of half messages."""
    message.sys_flag &= ~SysFlag.TRANSACTION_MASK
    message.topic = TRANS_HALF_TOPIC
    message.queue_id = 0

"""What was sent: the messages of a topic, and waiting for them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from trimq.hand.durations import seconds
from trimq.hand.looks import messages, names
from trimq.hand.looks.answers import Sent
from trimq.hand.looks.waiting import until
from trimq.hand.operation import HandError, Operation, Words

if TYPE_CHECKING:
    from trimq.hand.hand import Hand


class SentWords(Words):
    topic: str
    most: int = 1000


class WaitForWords(Words):
    topic: str
    count: int = 1
    timeout: float | str = 10.0


def operations(hand: Hand) -> list[Operation[Any]]:
    return [
        Operation(
            "looks/sent",
            SentWords,
            partial(_sent, hand),
            "The messages of a topic in the order in which they were stored: the last `most` of them.",
        ),
        Operation(
            "looks/wait_for",
            WaitForWords,
            partial(_wait_for, hand),
            "Wait until a topic has at least `count` messages, those included that were there before; answers them"
            " all. `timeout` is real time, whatever the server's clock says.",
        ),
    ]


async def _sent(hand: Hand, words: SentWords) -> Sent:
    if words.most < 1:
        raise HandError(f"`most` is a number from 1 on, not {words.most}")
    names.check_topic(hand.broker, words.topic)
    return await sent(hand, words.topic, words.most)


async def sent(hand: Hand, topic: str, most: int) -> Sent:
    """A topic that does not exist has none."""
    store = hand.context.store
    found = await messages.last(store, topic, most)
    return Sent(topic=topic, count=messages.count(store, topic), messages=found)


async def _wait_for(hand: Hand, words: WaitForWords) -> Sent:
    if words.count < 1:
        raise HandError(f"`count` is a number from 1 on, not {words.count}")
    timeout = seconds(words.timeout)

    def there() -> bool:
        # While it is restored, there is none.
        return hand.is_attached and _count(hand, words.topic) >= words.count

    if await until(there, timeout):
        return await sent(hand, words.topic, max(words.count, 1000))
    raise HandError(
        f"waited {timeout:g} s for {counted(words.count)} of topic {words.topic}; "
        + await _instead(hand, words.topic)
    )


def _count(hand: Hand, topic: str) -> int:
    return messages.count(hand.context.store, topic)


async def _instead(hand: Hand, topic: str) -> str:
    why = names.no_topic(hand.broker, topic)
    if why is not None:
        return why
    found = await sent(hand, topic, 100)
    if not found.count:
        return "it is empty"
    verb = "is" if found.count == 1 else "are"
    return f"there {verb} {found.count}: {messages.described(found.messages)}"


def counted(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"

"""Peeking: how many messages an answer has."""

from typing import Any

from trimq.processors.pop.peek_message import PeekMessage
from trimq.store.messages.message import Message


def test_no_more_than_32_in_all(pops: Any) -> None:
    pops.broker.topics.create_in_send("U", "TBW102", "1.2.3.4:5", 2, 0)
    for number in range(40):
        pops.broker.store.put(Message("U", number % 2, b"body", b""))
    asked = {"consumerGroup": "G", "topic": "U", "queueId": -1, "maxMsgNums": 64}
    assert len(pops.records(pops.ask(PeekMessage, **asked))) == 32

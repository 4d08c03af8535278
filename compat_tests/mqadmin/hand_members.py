"""Consumers made by hand: heartbeats, and answers to who asks for their running info."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compat_tests.wire import frames
from compat_tests.wire.asks import consumer, heartbeat, subscription
from compat_tests.wire.frames import RESPONSE_FLAG, Frame
from compat_tests.wire.link import Closed, Link, NoReply

_RUNNING_INFO: Final = 307
_TICK: Final = 0.1


@dataclass(slots=True)
class Wishes:
    """What a member says: expressions by topic, how it consumes; which queues it has, and when it last
    consumed (milliseconds since 1970).
    """

    topics: dict[str, str]
    queues: Sequence[tuple[str, int]] = ()
    version: int = 1
    how: dict[str, str] = field(default_factory=dict)
    consumed: int = 0


class HandMember:
    """One member of a group on a connection of its own; answers until it is closed."""

    def __init__(self, broker_addr: str, broker_name: str, group: str, name: str) -> None:
        self._link = Link(broker_addr)
        self._broker_name = broker_name
        self._group = group
        self._name = name
        self._info = b""
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def join(self, wishes: Wishes) -> Frame:
        """Say it once, and from then on answer what the broker asks."""
        said = [
            subscription(topic, expression, wishes.version)
            for topic, expression in wishes.topics.items()
        ]
        data = consumer(self._group, *said, **wishes.how)
        self._info = json.dumps(self._running_info(wishes, data)).encode()
        answer = self._link.ask(heartbeat(data, client=self._name))
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()
        return answer

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._link.close()

    def _running_info(self, wishes: Wishes, data: dict[str, Any]) -> dict[str, Any]:
        queues = [
            {"brokerName": self._broker_name, "queueId": number, "topic": topic}
            for topic, number in wishes.queues
        ]
        return {
            "mqPopTable": {},
            "mqTable": {
                json.dumps(queue): {"commitOffset": 0, "lastConsumeTimestamp": wishes.consumed}
                for queue in queues
            },
            "properties": {
                "PROP_CONSUMER_START_TIMESTAMP": "1700000000000",
                "PROP_CONSUME_TYPE": data["consumeType"],
                "consumeFromWhere": data["consumeFromWhere"],
                "messageModel": data["messageModel"],
            },
            "statusTable": {},
            "subscriptionSet": data["subscriptionDataSet"],
        }

    def _answer(self) -> None:
        while not self._closing.is_set():
            try:
                asked = self._link.pushed(_TICK)
            except NoReply:
                continue
            except Closed:
                return
            if asked.code == _RUNNING_INFO:
                answer = Frame(code=0, opaque=asked.opaque, flag=RESPONSE_FLAG, body=self._info)
                self._link.write(frames.encode(answer))

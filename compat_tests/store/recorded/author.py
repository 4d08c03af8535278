"""Fills a store through the real broker, as clients do."""

from __future__ import annotations

import time
from typing import Any, Final

from compat_tests.store.recorded.asking import wait_for_end
from compat_tests.wire.asks import commit_offset, create_topic, send, send_back, send_batch
from compat_tests.wire.cases.transactions import COMMIT, end, half
from compat_tests.wire.frames import Frame
from compat_tests.wire.records import property_text
from compat_tests.wire.stage import Stage

BORN: Final = 1_700_000_000_000
GROUP: Final = "Readers"
PRODUCER: Final = "Writers"


class Author:
    """Knows which topics there are and where their queues end."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.queues: dict[str, int] = {}
        self.ends: dict[tuple[str, int], int] = {}
        # In the log, of all that was sent.
        self.places: list[int] = []
        # What is ended later, by names that recipes choose.
        self.kept: dict[str, Frame] = {}

    def create(self, topic: str, queues: int, **more: object) -> None:
        self.stage.must(create_topic(topic, queues, **more))
        self.queues[topic] = queues

    def send(
        self,
        topic: str,
        queue_id: int,
        body: bytes,
        properties: dict[str, str],
        on: str = "broker",
        **more: object,
    ) -> Frame:
        """To its queue at once."""
        # So that searches by time have something to tell apart.
        time.sleep(0.002)
        sent = self.stage.must(sending(topic, queue_id, body, properties, **more), on)
        self._remember(topic, sent)
        return sent

    def send_later(
        self, topic: str, queue_id: int, body: bytes, properties: dict[str, str]
    ) -> Frame:
        """With properties that say when."""
        return self.stage.must(sending(topic, queue_id, body, properties))

    def send_batch(
        self, topic: str, queue_id: int, body: bytes, properties: dict[str, str]
    ) -> Frame:
        time.sleep(0.002)
        sent = self.stage.must(sending_batch(topic, queue_id, body, properties))
        self._remember(topic, sent)
        return sent

    def half(self, topic: str, queue_id: int, body: bytes, properties: dict[str, str]) -> Frame:
        more = {**properties, "PGROUP": PRODUCER}
        fields: dict[str, Any] = {"topic": topic, "queueId": queue_id, "producerGroup": PRODUCER}
        return self.stage.must(half(body, more=more, **fields))

    def end(self, topic: str, sent: Frame, how: int = COMMIT) -> Frame:
        """Of a half; a committed one is in its queue when this returns."""
        ended = end_of_half(topic, sent, how)
        self.stage.must(ended)
        return ended

    def send_back(self, topic: str, sent: Frame, level: int) -> None:
        at = int(sent.ext["msgId"][-16:], 16)
        self.stage.must(send_back(at, group=GROUP, originTopic=topic, delayLevel=level))

    def commit(self, topic: str, queue_id: int, offset: int, group: str = GROUP) -> None:
        fields = {"topic": topic, "queueId": queue_id, "consumerGroup": group}
        self.stage.must(commit_offset(offset, **fields))

    def expect(self, topic: str, queue_id: int, count: int) -> None:
        """Messages that come to a queue by themselves: `settle` waits for them, too."""
        end = self.ends.get((topic, queue_id), 0) + count
        self.ends[topic, queue_id] = end

    def wait_for(self, topic: str, queue_id: int, more: int) -> None:
        """Until a queue has so many messages more than before."""
        wait_for_end(self.stage, topic, queue_id, self.ends[topic, queue_id] + more)

    def settle(self) -> None:
        """Until every queue has what was sent."""
        for (topic, queue_id), reached in self.ends.items():
            wait_for_end(self.stage, topic, queue_id, reached)

    def _remember(self, topic: str, sent: Frame) -> None:
        ids = sent.ext["msgId"].split(",")
        count = len(ids)
        self.places.append(int(ids[0][-16:], 16))
        self.ends[topic, int(sent.ext["queueId"])] = int(sent.ext["queueOffset"]) + count


def _fields(topic: str, queue_id: int, properties: dict[str, str]) -> dict[str, Any]:
    return {
        "topic": topic,
        "queueId": queue_id,
        "producerGroup": PRODUCER,
        "bornTimestamp": BORN,
        "properties": property_text(properties),
    }


def sending(
    topic: str, queue_id: int, body: bytes, properties: dict[str, str], **more: Any
) -> Frame:
    return send(body, **_fields(topic, queue_id, properties), **more)


def sending_batch(topic: str, queue_id: int, body: bytes, properties: dict[str, str]) -> Frame:
    return send_batch(body, **_fields(topic, queue_id, properties))


def end_of_half(topic: str, sent: Frame, how: int = COMMIT) -> Frame:
    return end(sent, how, topic=topic, producerGroup=PRODUCER)

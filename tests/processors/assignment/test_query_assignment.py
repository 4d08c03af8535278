"""Asking for queues: what a request has to say."""

import json
from typing import Any

import pytest
import trio

from tests.identities import named
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.processors.assignment.query_assignment import QueryAssignment
from trimq.remoting.contract import RemotingError

ASKED = {"topic": "T", "consumerGroup": "G", "clientId": "c", "messageModel": "CLUSTERING"}


class Routes:
    """Topic T has one queue."""

    async def readable_queues(self, topic: str) -> list[MessageQueue] | None:
        return [MessageQueue(broker_name="b", queue_id=0, topic="T")] if topic == "T" else None


def ask(broker: Any, **fields: str | None) -> Any:
    routes: Any = Routes()
    processor = QueryAssignment(broker.config, named("b"), routes, broker.modes, broker.consumers)
    body = {key: value for key, value in {**ASKED, **fields}.items() if value is not None}
    later = processor.handle(broker.request(400, None, json.dumps(body).encode()))
    return json.loads(trio.run(later.answer, later.request).body)


@pytest.mark.parametrize("field", ["topic", "consumerGroup", "messageModel"])
def test_what_a_request_has_to_say(broker: Any, field: str) -> None:
    broker.topics.update(TopicConfig(topic_name="T"))
    with pytest.raises(RemotingError, match=f"the request has no {field}") as refused:
        ask(broker, **{field: None})
    assert refused.value.code == ResponseCode.SYSTEM_ERROR


def test_whoever_reads_all_queues_needs_no_group(broker: Any) -> None:
    found = ask(broker, consumerGroup=None, messageModel="BROADCASTING")
    assert [one["messageQueue"]["queueId"] for one in found["messageQueueAssignments"]] == [0]
    assert ask(broker, consumerGroup=None, topic="U") == {}

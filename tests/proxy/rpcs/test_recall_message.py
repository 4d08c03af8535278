"""RecallMessage: what the broker is asked, and the sentences of those that cannot be recalled."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.proxy.fake_cluster import B, FakeLinks, answer, caller
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.messages import RecallMessageResponseHeader
from trimq.codec.records.recall_handle import build_recall_handle
from trimq.proxy.config import ProxyConfig
from trimq.proxy.message_types import MessageTypes
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Code, Resource
from trimq.proxy.protos.service_pb2 import RecallMessageRequest, RecallMessageResponse
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.recall_message import RecallMessage
from trimq.proxy.statuses import ProxyError

HANDLE = build_recall_handle("T", "b", "1700000060000", "m0")
JAVA = "org.apache.rocketmq.proxy.common.ProxyException: "


class Recalls:
    def __init__(self, nursery: Any) -> None:
        self.links = FakeLinks()
        self.links.types["T"] = "DELAY"
        self.links.answers[RequestCode.RECALL_MESSAGE] = lambda _: answer(
            header=RecallMessageResponseHeader(msg_id="m0")
        )
        routes = Routes(self.links, ["n:1"], 20, nursery)
        metadata = Metadata(self.links, routes, "DefaultCluster", 20)
        types = MessageTypes(ProxyConfig(), metadata)
        self._call = RecallMessage(self.links, routes, types)

    async def recall(self, handle: str = HANDLE, topic: str = "T") -> RecallMessageResponse:
        request = RecallMessageRequest(topic=Resource(name=topic), recall_handle=handle)
        return await self._call(caller(), request)

    async def refused(self, *words: str) -> tuple[Code, str]:
        with pytest.raises(ProxyError) as raised:
            await self.recall(*words)
        return raised.value.code, raised.value.text


async def test_what_its_broker_is_asked(nursery: Any) -> None:
    recalls = Recalls(nursery)
    response = await recalls.recall()
    assert (response.status.code, response.message_id) == (Code.OK, "m0")
    (asked,) = recalls.links.of(RequestCode.RECALL_MESSAGE)
    assert asked.addr == B
    assert asked.fields == {"topic": "T", "recallHandle": HANDLE, "bname": "b"}


async def test_a_topic_of_another_type(nursery: Any) -> None:
    recalls = Recalls(nursery)
    recalls.links.types["T"] = "NORMAL"
    assert await recalls.refused() == (
        Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
        f"{JAVA}TopicMessageType validate failed, the expected type is NORMAL, but actual type is DELAY",
    )


@pytest.mark.parametrize("handle", ["", "!", base64.urlsafe_b64encode(b"v2 T b 1 m").decode()])
async def test_no_handles(nursery: Any, handle: str) -> None:
    recalls = Recalls(nursery)
    text = f"{JAVA}recall handle is invalid"
    assert await recalls.refused(handle) == (Code.INTERNAL_SERVER_ERROR, text)
    assert not recalls.links.of(RequestCode.RECALL_MESSAGE)


async def test_a_broker_that_nobody_knows(nursery: Any) -> None:
    handle = build_recall_handle("T", "z", "1", "m0")
    assert await Recalls(nursery).refused(handle) == (
        Code.BAD_REQUEST,
        f"{JAVA}cannot find broker z",
    )


@pytest.mark.parametrize(
    ("code", "remark", "told"),
    [
        (ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid", 50001),
        (ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden", 50001),
        (ResponseCode.SYSTEM_BUSY, "too many", 42900),
    ],
)
async def test_too_late_and_the_like(nursery: Any, code: int, remark: str, told: int) -> None:
    recalls = Recalls(nursery)
    recalls.links.answers[RequestCode.RECALL_MESSAGE] = lambda _: answer(code, remark)
    assert await recalls.refused() == (told, remark)

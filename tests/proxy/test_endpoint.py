"""Calls that are refused leave a trace for who looks for the cause."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.proxy.consuming import Consuming
from tests.proxy.fake_broker import FakeOut
from tests.proxy.fake_cluster import caller
from trimq.proxy.endpoint import unary
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import (
    QueryRouteRequest,
    QueryRouteResponse,
    ReceiveMessageRequest,
)
from trimq.proxy.statuses import OK, ProxyError, status


def traced(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.DEBUG]


async def answered(answer: Any, client_id: str = "c1") -> Any:
    async def handle(caller: Caller, asked: QueryRouteRequest) -> QueryRouteResponse:
        if isinstance(answer, Exception):
            raise answer
        return QueryRouteResponse(status=answer)

    method = unary(QueryRouteRequest, QueryRouteResponse, handle)
    assert method.unary is not None
    return await method.unary(caller(client_id), QueryRouteRequest())


@pytest.mark.parametrize(
    ("answer", "client_id", "trace"),
    [
        (ProxyError(Code.TOPIC_NOT_FOUND, "none\nof  it"), "c1", "code=TOPIC_NOT_FOUND text=none of it"),
        (status(Code.FORBIDDEN, "no"), "c1", "code=FORBIDDEN text=no"),
        (OK, "", "code=CLIENT_ID_REQUIRED text=client id cannot be empty"),
    ],
)  # fmt: skip
async def test_a_refused_call(
    caplog: pytest.LogCaptureFixture, answer: Any, client_id: str, trace: str
) -> None:
    caplog.set_level(logging.DEBUG, "trimq.proxy")
    await answered(answer, client_id)
    expected = f"call refused: call=QueryRoute client={client_id} peer=10.0.0.1:50000 {trace}"
    assert traced(caplog) == [expected]


async def test_what_is_served_leaves_none(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "trimq.proxy")
    assert (await answered(OK)).status.code == Code.OK
    assert traced(caplog) == []


async def test_usually_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "trimq.proxy")
    await answered(ProxyError(Code.TOPIC_NOT_FOUND, "none"))
    assert caplog.records == []


@pytest.mark.parametrize(
    ("client_id", "code"), [("", "CLIENT_ID_REQUIRED"), ("unheard", "INTERNAL_SERVER_ERROR")]
)
async def test_receiving(
    caplog: pytest.LogCaptureFixture, nursery: Any, client_id: str, code: str
) -> None:
    caplog.set_level(logging.DEBUG, "trimq.proxy")
    consuming = Consuming(nursery)
    await consuming.receive_message(caller(client_id), ReceiveMessageRequest(), FakeOut())
    (trace,) = traced(caplog)
    assert f"call=ReceiveMessage client={client_id} " in trace
    assert f" code={code} " in trace
    nursery.cancel_scope.cancel()

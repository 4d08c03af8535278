"""Whatever fails in the background: the server goes on, says so and counts it."""

import logging
import re
import urllib.request
from pathlib import Path

import pytest
import trio

import trimq
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.services import background as services
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.namesrv.routes import RouteTable
from trimq.process import supervision
from trimq.remoting.clients.client import Client
from trimq.remoting.serving import server as remoting_server
from trimq.store.message_store import MessageStore


def _fails(*_arguments: object) -> None:
    raise OverflowError("int too large to convert to float")


class _Fault:
    """Fails whenever called; `happened` after this many times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.happened = trio.Event()

    def __call__(self, *_arguments: object) -> None:
        self.left -= 1
        if not self.left:
            self.happened.set()
        _fails()


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Consumers, "_forget_compensated"),
        (MessageStore, "take_derived"),
        (RouteTable, "drop_silent"),
    ],
)
async def test_a_service_that_fails_does_not_end_the_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    owner: type,
    name: str,
) -> None:
    monkeypatch.setattr(services, "SCAN_SECONDS", 0.01)
    monkeypatch.setattr(supervision, "FIRST_PAUSE_SECONDS", 0.01)
    settings = {"scanNotActiveBrokerInterval": "100", "flushIntervalConsumeQueue": "10"}
    with monkeypatch.context() as broken, trio.fail_after(120):
        async with trimq.serve(tmp_path, settings=settings) as server:
            fault = _Fault(2)
            broken.setattr(owner, name, fault)
            await fault.happened.wait()
            async with Client.connect(server.broker_addr) as client:
                answer = await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
            assert answer.code == ResponseCode.SUCCESS
            broken.undo()
    assert "service failed" in caplog.text


async def test_a_greeting_that_fails_is_one_connection_s_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with trimq.serve(tmp_path) as server:
        with monkeypatch.context() as broken, caplog.at_level(logging.ERROR):
            broken.setattr(remoting_server, "first_byte", _fails)
            stream = await trio.open_tcp_stream(*_split(server.broker_addr))
            async with stream:
                await stream.send_all(b"\0")
                assert await stream.receive_some() == b""
        assert "connection failed" in caplog.text
        async with Client.connect(server.broker_addr) as client:
            answer = await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
        assert answer.code == ResponseCode.SUCCESS


async def test_metrics_tell_of_failures_and_long_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "SCAN_SECONDS", 0.01)
    with monkeypatch.context() as broken:
        broken.setattr(Consumers, "scan_expired", _fails)
        async with trimq.serve(tmp_path, settings={"metricsListen": "127.0.0.1:0"}) as server:
            assert server.metrics_addr is not None
            text = ""
            while "trimq_service_failures" not in text:
                text = await trio.to_thread.run_sync(_scrape, server.metrics_addr)
    # It is tried again each second or so: on a busy machine it may have failed more than once.
    assert re.search(r'trimq_service_failures_total\{service="scan consumers"\} [1-9]\d*\.0', text)
    longest = re.search(r"^trimq_loop_longest_step_seconds (\S+)$", text, re.MULTILINE)
    assert longest is not None
    assert float(longest[1]) > 0
    assert "trimq_loop_long_steps_total" in text


def _scrape(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics") as answer:
        return str(answer.read().decode())


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)

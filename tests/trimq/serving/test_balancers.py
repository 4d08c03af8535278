"""Broker and NameServer behind a balancer that says whose connections it forwards."""

from pathlib import Path

import pytest
import trio

import trimq
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.settings.parsing import SettingsError, build
from trimq.settings.process import ServerConfig

LINE = b"PROXY TCP4 192.0.2.1 192.0.2.9 56324 10911\r\n"


async def test_both_servers_believe_balancers_that_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="trimq.remoting")
    settings = {"proxyProtocolFrom": "192.0.2.0/24,127.0.0.1"}
    request = encode_command(RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO, 1))
    async with trimq.serve(tmp_path, settings=settings) as server:
        for addr in (server.namesrv_addr, server.broker_addr):
            host, port = addr.split(":")
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                await stream.send_all(LINE + request)
                assert await stream.receive_some()
    opened = [
        r for r in caplog.messages if "connection opened" in r and "peer=192.0.2.1:56324" in r
    ]
    assert len(opened) == 2


def test_what_is_not_a_network_refuses_the_start() -> None:
    with pytest.raises(SettingsError, match=r"proxyProtocolFrom=10\.0\.0\.1/8: .*host bits"):
        build(ServerConfig, {"proxyProtocolFrom": "10.0.0.1/8"})

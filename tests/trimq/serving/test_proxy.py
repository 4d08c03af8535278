"""The proxy as it is opened: what its configuration bounds, and how it ends."""

import pytest
import trio

from tests.patience import until_in_trio
from tests.proxy.grpc.peer import Peer, framed
from trimq.proxy.config import ProxyConfig
from trimq.proxy.endpoint import SERVICE
from trimq.serving.proxy import bounds_of, open_proxy
from trimq.settings.endpoints import Endpoint
from trimq.settings.proxy import ProxyPlan

NOBODY = "127.0.0.1:1"


def test_what_the_configuration_bounds() -> None:
    config = ProxyConfig(
        grpc_max_inbound_message_size=1000,
        grpc_client_idle_time_mills=5000,
        grpc_max_concurrent_calls_per_connection=7,
    )
    bounds = bounds_of(config)
    assert (bounds.message_bytes, bounds.idle_seconds, bounds.http2.streams) == (1000, 5.0, 7)
    # RocketMQ's default is no bound.
    assert bounds_of(ProxyConfig()).http2.streams == 1000


async def test_it_is_there_until_the_block_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "trimq.proxy")
    plan = ProxyPlan(Endpoint("127.0.0.1", 0), (NOBODY,), ProxyConfig())
    async with open_proxy(plan) as bound:
        assert f"listening: on=proxy address={bound}" in caplog.text
        stream = await trio.open_tcp_stream(bound.host, bound.port)
        peer = Peer(stream)
        heard = await peer.answer(await peer.ask(f"{SERVICE}QueryRoute", framed(b"")))
        assert heard.status == "0"
    # A connection without a call ends at once.
    assert await peer.end() == 0
    await stream.aclose()


async def test_it_looks_at_its_name_servers_before_anybody_asks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plan = ProxyPlan(Endpoint("127.0.0.1", 0), (NOBODY,), ProxyConfig())
    async with open_proxy(plan):
        await until_in_trio(
            lambda: f"NameServer lost, trying again: namesrv={NOBODY}" in caplog.text
        )

"""A fault's answer is that of a broker which really is in such a state; compat_tests compare that with the original."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.requests import pull_header, send_header
from tests.trimq.hand.faulty import Faulty, code, faulty
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand

Ask = Callable[[Faulty], Awaitable[RemotingCommand]]


async def send(it: Faulty) -> RemotingCommand:
    return await it.send()


async def send_to_nowhere(it: Faulty) -> RemotingCommand:
    return await it.client.request(RequestCode.SEND_MESSAGE, send_header("Nowhere"), b"body")


def pull(topic: str, group: str) -> Ask:
    header = pull_header(group, topic, 0, most=1)

    async def ask(it: Faulty) -> RemotingCommand:
        return await it.client.request(RequestCode.PULL_MESSAGE, header)

    return ask


@pytest.mark.parametrize(
    ("settings", "ask", "said"),
    [
        ({"brokerPermission": "4"}, send, "NO_PERMISSION"),
        ({"brokerPermission": "2"}, pull("T", "G"), "NO_PERMISSION"),
        ({"autoCreateTopicEnable": "false"}, send_to_nowhere, "TOPIC_NOT_EXIST"),
        ({"autoCreateTopicEnable": "false"}, pull("Nowhere", "G"), "TOPIC_NOT_EXIST"),
        (
            {"autoCreateSubscriptionGroup": "false"},
            pull("T", "Nobody"),
            "SUBSCRIPTION_GROUP_NOT_EXIST",
        ),
        ({"brokerRole": "SLAVE", "brokerId": "1"}, send, "SYSTEM_BUSY"),
        ({"maxMessageSize": "1"}, send, "MESSAGE_ILLEGAL"),
    ],
)
async def test_settings(tmp_path: Path, settings: dict[str, str], ask: Ask, said: str) -> None:
    async with faulty(tmp_path, settings) as it:
        # Of sends, the broker's permission counts where a topic has an order.
        it.hand.broker.common.messaging.topics.table.set_ordered({"T": "b:4"})
        real = await ask(it)
        assert code(real) == said
        await it.ask("fail", requests=["sends", "pulls"], code=said)
        fault = await ask(it)
    assert (fault.code, fault.remark, fault.ext_fields) == (
        real.code,
        real.remark,
        real.ext_fields,
    )


async def test_a_full_disk(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("full_disk")
        real = await it.send()
        await it.ask("fail_next", sends=1, code="SERVICE_NOT_AVAILABLE")
        fault = await it.send()
    assert (fault.code, fault.remark, fault.ext_fields) == (
        real.code,
        real.remark,
        real.ext_fields,
    )


async def test_a_message_that_is_not_flushed_in_time(tmp_path: Path) -> None:
    """What stands beside it says where the message is."""
    async with faulty(tmp_path) as it:
        stored = await it.send()
        await it.ask("fail_next", sends=1, code="FLUSH_DISK_TIMEOUT")
        fault = await it.send()
    assert set(fault.ext_fields or {}) == set(stored.ext_fields or {})

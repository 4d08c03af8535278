"""A new broker on an old NameServer (apache/rocketmq 5536, 1251).

Tried: our broker on a NameServer of 4.2.0. It asked a courtesy question first, which that one left unanswered, and
was never registered, while its ready line said nothing of it. Right, as RocketMQ 5.5.0 does it: registered at once.
"""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

import trimq
from tests.broker.cluster.test_registration import Broker
from tests.field.old_peers import VERSIONS, OldNameServer, old_name_server
from trimq.broker.cluster.registration import ACCEPT_SECONDS
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand

MEMBERS = RequestCode.GET_BROKER_MEMBER_GROUP
ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
REGISTER = RequestCode.REGISTER_BROKER
SENTENCE = "two brokers have the same name and id"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compatible", [True, False])
async def test_registered_at_once(
    tmp_path: Path, version: str, compatible: bool, patient_clock: Any
) -> None:
    broker = Broker(tmp_path, compatible_with_old_name_srv=compatible)
    async with old_name_server(version) as server:
        began = trio.current_time()
        async with broker.registered(server.addr) as registration:
            assert registration.registered_with() == [server.addr]
            assert await registration.accepted() == []
            # No silence was waited for.
            assert trio.current_time() - began < 1
            # With the first answer, whatever becomes of the question for rivals.
            assert set(server.heard) <= {ROUTE if compatible else MEMBERS, REGISTER}
            await trio.sleep(125)
            # Five times, over one connection; what it did not answer is not asked again.
            assert server.heard.count(REGISTER) == 5
            if not compatible:
                is_mute = MEMBERS in server.silent
                assert server.heard.count(MEMBERS) == (1 if is_mute else 5)
                assert ROUTE not in server.heard
            else:
                assert MEMBERS not in server.heard


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_old_one_and_a_new_one(tmp_path: Path, version: str, patient_clock: Any) -> None:
    async with (
        old_name_server(version) as old,
        old_name_server("5.1.4") as new,
        Broker(tmp_path).registered(old.addr, new.addr) as registration,
    ):
        assert registration.registered_with() == [old.addr, new.addr]


@pytest.mark.parametrize("version", VERSIONS)
async def test_new_topics_and_versions_of_tables(
    tmp_path: Path, version: str, patient_clock: Any
) -> None:
    """What only newer ones know is asked once; without it, the old way."""
    settings = {"force_register": False, "enable_single_topic_register": True}
    broker = Broker(tmp_path, **settings)
    async with old_name_server(version) as server, broker.registered(server.addr) as registration:
        for name in ("T", "U"):
            broker.topics.create_if_absent(TopicConfig(topic_name=name))
            assert await registration.settled(20)
        alone = RequestCode.REGISTER_TOPIC_IN_NAMESRV
        if alone in server.silent:
            assert server.heard.count(alone) == 1
            assert server.heard.count(REGISTER) == 3
        else:
            assert server.heard.count(alone) == 2
        if RequestCode.QUERY_DATA_VERSION in server.silent:
            before = server.heard.count(REGISTER)
            await trio.sleep(65)
            assert server.heard.count(REGISTER) - before == 2
            assert server.heard.count(RequestCode.QUERY_DATA_VERSION) == 1
        assert registration.registered_with() == [server.addr]


def said(caplog: pytest.LogCaptureFixture) -> int:
    return sum(SENTENCE in one.getMessage() for one in caplog.records)


@pytest.mark.parametrize("topic", ["rmq_sys_SYNC_BROKER_MEMBER_broker-a", "broker-a"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_rival_is_found_all_the_same(
    tmp_path: Path, version: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Brokers of 5.x have a topic for this, all others the one of their name."""
    async with old_name_server(version) as server, old_name_server(version) as alive:
        server.topics, server.members = {topic}, {0: alive.addr}
        async with Broker(tmp_path).registered(server.addr) as registration:
            for _ in range(1000):
                if said(caplog):
                    break
                await trio.testing.wait_all_tasks_blocked(0.01)
            assert registration.registered_with() == [server.addr]
            # Asked before it was displaced.
            assert server.heard[:2] == [ROUTE, REGISTER]
    assert said(caplog) == 1


class Hanging(OldNameServer):
    """Answers nothing at all."""

    def reply(self, command: RemotingCommand) -> RemotingCommand | None:
        self.heard.append(command.code)
        return None


async def test_one_that_hangs_is_named_and_holds_up_nobody(
    tmp_path: Path, patient_clock: Any
) -> None:
    broker = Broker(tmp_path)
    async with (
        old_name_server("4.2.0", Hanging) as hangs,
        old_name_server("4.2.0") as server,
    ):
        hung = hangs.addr
        began = trio.current_time()
        async with broker.registered(hung, server.addr) as registration:
            assert registration.registered_with() == [server.addr]
            assert await registration.accepted() == [f"{hung} (it has not answered yet)"]
            assert trio.current_time() - began <= 2
        began = trio.current_time()
        async with broker.registered(hung, "127.0.0.1:1") as registration:
            missing = await registration.accepted()
            assert trio.current_time() - began <= ACCEPT_SECONDS + 1
        assert missing[0] == f"{hung} (it has not answered yet)"
        assert re.fullmatch(r"127\.0\.0\.1:1 \(no connection to .*refused\)", missing[1])


async def test_ready_with_a_warning_that_names_who_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, patient_clock: Any
) -> None:
    async with trimq.serve(tmp_path, namesrv="127.0.0.1:1"):
        pass
    (line,) = [
        one.getMessage()
        for one in caplog.records
        if one.name == "trimq.server" and one.levelno == logging.WARNING
    ]
    assert "do not find this broker yet; they are tried again" in line
    assert "127.0.0.1:1 (no connection to 127.0.0.1:1" in line

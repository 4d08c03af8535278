"""What is said of a NameServer and of a broker, by what they answer: RocketMQ's forms, and servers that fail."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trimq.admin.brokers.health import ServerHealth, servers_health
from trimq.admin.connecting.blocking_link import result_of
from trimq.admin.connecting.older import Peers
from trimq.codec.codes import AnyRequestCode, RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.errors import RemotingConnectError, RemotingTimeout

NOW = 1_700_000_000_000
RECORDS = Path(__file__).parents[2] / "compat_tests/records/mqadmin/bodies.json"
# As RocketMQ 5.5.1 answers, as far as it matters.
RUNTIME = {
    "brokerActive": "true",
    "commitLogDiskRatio": "0.42",
    "commitLogDiskRatio_/store/commitlog": "0.42",
    "consumeQueueDiskRatio": "0.41",
    "startAcceptSendRequestTimeStamp": "0",
}
SETTINGS = {
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerPermission": "6",
    "diskSpaceWarningLevelRatio": "90",
}
Answer = RemotingCommand | Exception


def ok(body: bytes) -> RemotingCommand:
    return RemotingCommand(ResponseCode.SUCCESS, 1, body=body)


def listing(**brokers: dict[str, str]) -> RemotingCommand:
    """A cluster; addresses of each broker name by the brokers' ids."""
    tables = {
        name.replace("_", "-"): {
            "brokerName": name.replace("_", "-"),
            "cluster": "C",
            "brokerAddrs": addrs,
        }
        for name, addrs in brokers.items()
    }
    body = {"brokerAddrTable": tables, "clusterAddrTable": {"C": list(tables)}}
    return ok(msgspec.json.encode(body))


def runtime(**changed: str) -> RemotingCommand:
    return ok(msgspec.json.encode({"table": RUNTIME | changed}))


def settings(**changed: str) -> RemotingCommand:
    return ok("\n".join(f"{key}={text}" for key, text in (SETTINGS | changed).items()).encode())


def refused_connection(addr: str) -> RemotingConnectError:
    return RemotingConnectError(f"no connection to {addr}: Connection refused")


class Servers:
    """A link to servers that answer so; who is not named refuses connections."""

    def __init__(self, answers: dict[tuple[str, RequestCode], Answer], *name_servers: str) -> None:
        self.name_servers: Sequence[str] = name_servers or ("ns:1",)
        self.peers = Peers()
        self._answers = answers

    async def ask(
        self, addr: str, code: AnyRequestCode, header: Header | None, body: bytes, factor: float
    ) -> RemotingCommand:
        answer = self._answers.get((addr, RequestCode(code)), refused_connection(addr))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def now(self) -> int:
        return NOW


CLUSTER = RequestCode.GET_BROKER_CLUSTER_INFO
INFO = RequestCode.GET_BROKER_RUNTIME_INFO
CONFIG = RequestCode.GET_BROKER_CONFIG


def broker(
    addr: str, info: Answer | None = None, config: Answer | None = None
) -> dict[Any, Answer]:
    return {(addr, INFO): info or runtime(), (addr, CONFIG): config or settings()}


def asked(
    answers: dict[Any, Answer], *name_servers: str, addr: str | None = "a:1", others: bool = False
) -> list[ServerHealth]:
    return result_of(servers_health(Servers(answers, *name_servers), addr, others))


def broker_alone(info: Answer | None = None, config: Answer | None = None) -> ServerHealth:
    """What is said of a broker that is registered."""
    answers = {("ns:1", CLUSTER): listing(broker_a={"0": "a:1", "1": "b:1"})}
    return asked(answers | broker("a:1", info, config))[1]


def test_all_is_well() -> None:
    name_server, one = asked({("ns:1", CLUSTER): listing(broker_a={"0": "a:1"})} | broker("a:1"))
    assert name_server == ServerHealth("NameServer", "ns:1")
    assert one == ServerHealth("broker", "a:1", "broker-a", 0)
    assert name_server.ok
    assert one.ok


@pytest.mark.parametrize(
    ("info", "why"),
    [
        ({"commitLogDiskRatio": "0.9"}, []),
        (
            {"commitLogDiskRatio": "0.9342"},
            ["the disk of its commit log is 93% full: above 90% it refuses messages"],
        ),
        (
            {"consumeQueueDiskRatio": "1.0"},
            ["the disk of its consume queues is 100% full: above 90% it refuses messages"],
        ),
        # The folder is not there yet.
        ({"commitLogDiskRatio": "-1"}, []),
        ({"commitLogDiskRatio": "NaN", "startAcceptSendRequestTimeStamp": "soon"}, []),
        ({"startAcceptSendRequestTimeStamp": str(NOW)}, []),
        (
            {"startAcceptSendRequestTimeStamp": str(NOW + 90_000)},
            ["it accepts no messages for 90 s more (startAcceptSendRequestTimeStamp)"],
        ),
        (
            {"brokerActive": "false"},
            ["it delivers no delayed messages and checks no transactions (brokerActive=false)"],
        ),
    ],
)
def test_by_runtime_values(info: dict[str, str], why: list[str]) -> None:
    found = broker_alone(runtime(**info))
    assert (found.why, found.unknown) == (why, [])


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            {"diskSpaceWarningLevelRatio": "40"},
            [
                "the disk of its commit log is 42% full: above 40% it refuses messages",
                "the disk of its consume queues is 41% full: above 40% it refuses messages",
            ],
        ),
        # Below 35 it counts as 35.
        ({"diskSpaceWarningLevelRatio": "10"}, ["commit log is 42%", "consume queues is 41%"]),
        ({"brokerPermission": "4"}, ["it refuses messages (brokerPermission=4)"]),
        ({"brokerPermission": "2"}, ["it refuses readers (brokerPermission=2)"]),
    ],
)
def test_by_settings(config: dict[str, str], why: list[str]) -> None:
    found = broker_alone(config=settings(**config)).why
    assert len(found) == len(why)
    assert all(text in one for text, one in zip(why, found, strict=True))


def test_a_slave_need_not_take_messages() -> None:
    """RocketMQ's says brokerActive=false."""
    config = settings(brokerId="1", brokerPermission="4")
    answers = {("ns:1", CLUSTER): listing(broker_a={"0": "a:1", "1": "b:1"})}
    answers |= broker("b:1", runtime(brokerActive="false"), config)
    assert asked(answers, addr="b:1")[1] == ServerHealth("broker", "b:1", "broker-a", 1)


def test_nobody_answers() -> None:
    found = asked({})
    assert [one.why for one in found] == [
        ["no connection to ns:1: Connection refused"],
        ["no connection to a:1: Connection refused"],
    ]
    assert [one.ok for one in found] == [False, False]


def test_one_that_hangs_is_asked_once() -> None:
    slow = RemotingTimeout("a:1 did not answer request code 28 within 3 s")
    assert broker_alone(slow).why == [str(slow)]


def test_a_name_that_nobody_knows_is_no_fault_of_a_server() -> None:
    error = RemotingConnectError("no connection to ns:1: Name or service not known")
    error.__cause__ = socket.gaierror()
    found = asked({("ns:1", CLUSTER): error}, addr=None, others=True)
    assert [(one.ok, one.unknown) for one in found] == [(None, [str(error)])]


def test_a_refusal_is_no_verdict() -> None:
    no = RemotingCommand(ResponseCode.NO_PERMISSION, 1, remark="who are you?")
    found = broker_alone(no, no)
    assert found.ok is None
    assert found.unknown == ["a:1 refused GET_BROKER_RUNTIME_INFO with code 16: who are you?"]
    # By its address it is found among the registered ones all the same.
    assert found.name == "broker-a"


def test_without_its_settings_the_rest_is_looked_at() -> None:
    no = RemotingCommand(ResponseCode.NO_PERMISSION, 1, remark="who are you?")
    found = broker_alone(runtime(commitLogDiskRatio="0.95"), no)
    assert found.why == ["the disk of its commit log is 95% full: above 90% it refuses messages"]
    assert len(found.unknown) == 1
    assert found.ok is False


def test_what_is_no_answer_of_a_broker() -> None:
    assert broker_alone(ok(b"<html>")).ok is None


def test_a_broker_that_is_not_registered_everywhere() -> None:
    answers: dict[Any, Answer] = {
        ("ns:1", CLUSTER): listing(broker_a={"0": "a:1"}),
        ("ns:2", CLUSTER): listing(broker_a={"1": "b:1"}),
    }
    found = asked(answers | broker("a:1"), "ns:1", "ns:2", "ns:3")
    assert [one.ok for one in found] == [True, True, False, False]
    assert found[3].why == ["it is not registered with the NameServer ns:2"]


def test_clients_may_be_told_another_address() -> None:
    """A container's broker, asked inside of it."""
    answers = {("ns:1", CLUSTER): listing(broker_a={"0": "outside:1"})}
    found = asked(answers | broker("a:1"), others=True)
    assert [(one.addr, one.told, one.ok) for one in found] == [
        ("ns:1", "", True),
        ("a:1", "outside:1", True),
    ]


def test_everybody_who_is_listed() -> None:
    answers: dict[Any, Answer] = {
        ("ns:1", CLUSTER): listing(broker_a={"0": "a:1", "1": "b:1"}, broker_c={"0": "c:1"}),
        ("ns:2", CLUSTER): listing(broker_a={"0": "a:1", "1": "b:1"}),
    }
    answers |= broker("a:1") | broker("b:1", config=settings(brokerId="1"))
    answers |= broker("c:1", config=settings(brokerName="broker-c"))
    found = asked(answers, "ns:1", "ns:2", addr=None, others=True)
    assert [(one.addr, one.name, one.broker_id, one.ok) for one in found[2:]] == [
        ("a:1", "broker-a", 0, True),
        ("b:1", "broker-a", 1, True),
        ("c:1", "broker-c", 0, False),
    ]
    assert found[4].why == ["it is not registered with the NameServer ns:2"]


def test_a_name_server_without_brokers() -> None:
    (found,) = asked({("ns:1", CLUSTER): listing()}, addr=None, others=True)
    assert found.why == ["it lists no broker"]


def recorded(part: str) -> list[RemotingCommand]:
    """What the real server has answered to mqadmin, with this in it."""
    bodies = json.loads(RECORDS.read_text("utf-8"))["outcomes"].values()
    return [ok(body.encode()) for body in bodies if part in body]


def test_a_real_server_as_it_was_recorded() -> None:
    (cluster,), configs = recorded("brokerAddrTable"), recorded("brokerPermission=")
    infos = recorded('"brokerActive"')
    assert len(infos) >= 2
    addr = "127.0.0.1:20911"
    for info in infos:
        answers = {("ns:1", CLUSTER): cluster} | broker(addr, info, configs[0])
        found = asked(answers, addr=None, others=True)
        assert found == [
            ServerHealth("NameServer", "ns:1"),
            ServerHealth("broker", addr, "broker-a", 0),
        ]

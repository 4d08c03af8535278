"""`trimq health` says the same of the real server and of TriMQ, when they are well and when they take no messages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from compat_tests.mqadmin.case import BROKER
from compat_tests.mqadmin.stage import AdminStage
from compat_tests.servers.server import Server
from trimq.admin.blocking import BlockingAdminClient
from trimq.commands.cli import main

pytestmark = pytest.mark.parametrize("kind", ["real", "trimq"])


@pytest.fixture
def server(stage: AdminStage, kind: str) -> Server:
    return stage.servers[kind]


@contextmanager
def setting(server: Server, key: str, value: str) -> Iterator[None]:
    """As long as the block lasts, the broker has this one."""
    with BlockingAdminClient(server.namesrv_addr) as admin:
        before = admin.broker_config(server.broker_addr)[key]
        admin.update_broker_config(server.broker_addr, {key: value})
        try:
            yield
        finally:
            admin.update_broker_config(server.broker_addr, {key: before})


def said(server: Server, *words: str) -> tuple[int, str]:
    """The exit code, and what is said of the broker."""
    done = CliRunner().invoke(main, ["health", "--namesrv", server.namesrv_addr, *words])
    name_server, broker = done.stdout.splitlines()
    assert name_server == f"NameServer {server.namesrv_addr}: healthy"
    head = f"broker {server.broker_addr} ({BROKER}, id 0): "
    assert broker.startswith(head)
    return done.exit_code, broker.removeprefix(head)


def test_it_is_well(server: Server) -> None:
    assert said(server) == (0, "healthy")
    assert said(server, "--broker", server.broker_addr) == (0, "healthy")


@pytest.mark.parametrize(
    ("permission", "why"),
    [
        ("4", "it refuses messages (brokerPermission=4)"),
        ("2", "it refuses readers (brokerPermission=2)"),
    ],
)
def test_its_permission(server: Server, permission: str, why: str) -> None:
    with setting(server, "brokerPermission", permission):
        assert said(server) == (1, f"not healthy: {why}")


def test_it_takes_messages_later(server: Server) -> None:
    later = (time.time_ns() // 1_000_000_000 + 3600) * 1000
    with setting(server, "startAcceptSendRequestTimeStamp", str(later)):
        code, text = said(server)
    assert code == 1
    assert text.startswith("not healthy: it accepts no messages for 3")
    assert text.endswith(" s more (startAcceptSendRequestTimeStamp)")


def test_the_other_kind_of_server_cannot_be_asked(server: Server) -> None:
    """Neither knows what the other is asked."""
    words = ["health", "--namesrv", server.broker_addr, "--broker", server.namesrv_addr]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert [line.partition(": ")[2][:11] for line in done.stdout.splitlines()] == [
        "not known: "
    ] * 2

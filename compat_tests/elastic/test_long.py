"""What takes long, with --live: 1,000 keys and 4 -> 16 -> 64 -> 8 queues, and the real RocketMQ's disorder."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from compat_tests.elastic.playing import GO, Played
from compat_tests.elastic.runs import PATIENCE_SECONDS, Plan, check
from compat_tests.servers import artifacts, containers
from compat_tests.servers.real import RealServer
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.topics import TopicConfig


@pytest.mark.parametrize("client", [artifacts.CLIENT_5, artifacts.CLIENT_4, GO])
def test_every_kind_of_group_is_in_order(
    client: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(Plan((client,), (4, 16, 64, 8), 1000, 200, 0), tmp_path, capsys)


def test_the_real_server_shows_disorder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its ordinary topic grows 4 -> 16 under the Go client; how much depends on when clients ask for routes."""
    real = RealServer(containers.launcher(), tmp_path / "real")
    played = Played(GO, real.namesrv_addr, "Plain", tmp_path / "played")
    try:
        real.start()
        with BlockingAdminClient(real.namesrv_addr) as admin:
            few, many = (
                TopicConfig(topic_name="Plain", read_queue_nums=count, write_queue_nums=count)
                for count in (4, 16)
            )
            admin.put_topic(real.broker_addr, few)
            played.take("stays", "all:*:")
            played.send(50, 0, 50)
            time.sleep(15)
            admin.put_topic(real.broker_addr, many)
            time.sleep(75)
        sent = played.sent(PATIENCE_SECONDS)
        played.take("late", "late:*:")
        found = {group: played.order(group, sent, PATIENCE_SECONDS) for group in ("all", "late")}
    finally:
        played.end()
        real.kill()
    with capsys.disabled():
        print(f"\n  the real server, {sum(sent.values())} sent: {found}")
    assert found["all"].gaps + found["late"].gaps > 0

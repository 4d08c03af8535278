"""An existing topic that becomes elastic under unmodified official clients, 8 -> 24 queues, with a broker that is
killed while it changes.

The same clients on an ordinary topic that grows show what would happen otherwise: their disorder must be seen,
or the test could not fail.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.elastic.playing import GO, go_program
from compat_tests.servers import artifacts
from compat_tests.servers.ours import TrimqServer
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import AdminError
from trimq.codec.bodies.topics import TopicConfig
from trimq.testing import TestServer, running_server

FOLDER: Final = Path(__file__).parent
KEYS: Final = 200
SECONDS: Final = 100
PAUSE_MILLIS: Final = 100
# Producers ask for routes every 30 s; `mqadmin elasticTopic create` waits so long for an existing topic.
ROUTE_SECONDS: Final = 60
CONVERTED_SECONDS: Final = ROUTE_SECONDS + 110


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestServer]:
    with running_server(store=tmp_path / "store") as made:
        yield made


def started(client: str, namesrv: str, topic: str, seconds: int = SECONDS) -> subprocess.Popen[str]:
    if client == GO:
        command = [go_program("ordered")]
    else:
        jars = artifacts.classpath(artifacts.jars(client))
        command = ["java", "-cp", jars, str(FOLDER / "Ordered.java")]
    command += [namesrv, topic, str(KEYS), str(seconds), str(PAUSE_MILLIS)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    text, _ = process.communicate(timeout=CONVERTED_SECONDS + 250)
    lines = [line for line in text.splitlines() if line.startswith("{")]
    assert lines, text[-3000:]
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def is_reached(server: TrimqServer, topic: str, queues: int) -> bool:
    """Ask for so many queues, unless that is on its way; whether they are there."""
    with BlockingAdminClient(server.namesrv_addr) as admin:
        view = admin.elastic_view(server.broker_addr, topic)
        if not view.pending:
            admin.elastic_scale(server.broker_addr, topic, queues, now=True)
        return sum(one.partitions > 0 for one in view.queues) == queues


def convert(admin: BlockingAdminClient, addr: str, topics: Sequence[str]) -> None:
    """When all are consumed for a while."""
    time.sleep(15)
    for topic in topics:
        # The Java client's program is compiled first.
        until(partial(is_consumed, admin, topic), f"{topic} is consumed")
    for topic in topics:
        admin.elastic_create(addr, topic)
    for topic in topics:
        (group,) = admin.elastic_view(addr, topic).groups
        assert group.group == f"{topic}_consumers"


def is_consumed(admin: BlockingAdminClient, topic: str) -> bool:
    """Whether the group has committed something."""
    with suppress(AdminError):
        stats = admin.consume_stats(f"{topic}_consumers", topic)
        return any(one.consumer_offset > 0 for one in stats.offsets.values())
    return False


def killed(server: TrimqServer) -> None:
    """kill -9, and a new process on its ports."""
    server.kill()
    server.start()


def test_a_converted_topic_under_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clients = (artifacts.CLIENT_5, GO)
    topics = [f"Converted{number}" for number in range(len(clients))]
    server = TrimqServer(tmp_path).start()
    playing: list[subprocess.Popen[str]] = []
    try:
        with BlockingAdminClient(server.namesrv_addr) as admin:
            for client, topic in zip(clients, topics, strict=True):
                ordinary = TopicConfig(topic_name=topic, read_queue_nums=8, write_queue_nums=8)
                admin.put_topic(server.broker_addr, ordinary)
                playing.append(started(client, server.namesrv_addr, topic, CONVERTED_SECONDS))
            convert(admin, server.broker_addr, topics)
        time.sleep(ROUTE_SECONDS)
        # New queues come at once for nobody: a kill in between takes what is planned, and the request comes again.
        for pause in (5, 12, 12):
            for topic in topics:
                is_reached(server, topic, 24)
            time.sleep(pause)
            killed(server)
        until(
            lambda: all([is_reached(server, topic, 24) for topic in topics]),
            lambda: f"all have their queues: {server.log()[-3000:]}",
            240,
            pause=1,
        )
        killed(server)
        seen = [ended(process) for process in playing]
        with BlockingAdminClient(server.namesrv_addr) as admin:
            views = [admin.elastic_view(server.broker_addr, topic) for topic in topics]
    finally:
        for process in playing:
            process.kill()
        server.kill()
    with capsys.disabled():
        for client, one in zip(clients, seen, strict=True):
            print(f"\n  {client}: {one}")
    for one, view in zip(seen, views, strict=True):
        assert (one["disorder"], one["missing"]) == (0, 0), (one, view)
        assert one["sent"] > 20 * KEYS
        assert len(view.queues) == 24


def test_an_ordinary_topic_shows_disorder(
    server: TestServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It depends on when clients ask for routes: three tries."""
    seen: dict[str, Any] = {"disorder": 0}
    with BlockingAdminClient(server.namesrv_addr) as admin:
        for number in range(3):
            if seen["disorder"]:
                break
            topic = f"Plain{number}"
            few, many = (
                TopicConfig(topic_name=topic, read_queue_nums=count, write_queue_nums=count)
                for count in (4, 16)
            )
            admin.put_topic(server.broker_addr, few)
            playing = started(artifacts.CLIENT_5, server.namesrv_addr, topic)
            try:
                time.sleep(15)
                admin.put_topic(server.broker_addr, many)
                seen = ended(playing)
            finally:
                playing.kill()
    with capsys.disabled():
        print(f"\n  an ordinary topic: {seen}")
    assert seen["disorder"] > 0

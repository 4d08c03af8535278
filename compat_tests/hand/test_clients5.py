"""Clients of RocketMQ 5 behind the official proxy: the server's clock moves, the proxy's does not.

What docs/hand.md says of it, traps included. How long it took is printed.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest

from compat_tests.hand import playing
from compat_tests.hand.test_stories import needs_java
from compat_tests.servers import artifacts
from compat_tests.servers.proxy import Proxy
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.testing import TestServer, running_server

PROGRAM: Final = playing.FOLDER / "grpc" / "BehindProxy.java"
TYPES: Final = {
    "Behind": "NORMAL",
    "Delayed": "DELAY",
    "Hidden": "NORMAL",
    "Pushed": "NORMAL",
    "Halves": "TRANSACTION",
}
# Questions to a producer of which the broker knows nothing yet count, too.
SETTINGS: Final = {"transactionCheckMax": "10000", "transactionCheckInterval": "10000"}
SECONDS: Final = 200
SEEN: Final = {
    "an acknowledgement, behind": "40013 INVALID_RECEIPT_HANDLE",
    "after 1 h 59 min": "[]",
    "after 2 h": "[by the server's clock]",
    "at once": "[by the machine's clock]",
    "in flight after 29 min": "[1]",
    "after 30 min": "again, attempt 2",
    "an acknowledgement, late": "no failure",
    "after another hour": "again, attempt 3",
    "in flight at the end": "[]",
    "in work": "long, attempt 1",
    "in work for a minute": "long, attempt 2",
    "after three questions": "[half]",
    "after a day": "[after a day]",
    "in two hours, after a day": "40012 the max delay time of message is too large, max is 86400000",
}


def make_topics(server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        for name, kind in TYPES.items():
            topic = TopicConfig(
                topic_name=name,
                read_queue_nums=1,
                write_queue_nums=1,
                attributes={"+message.type": kind},
            )
            admin.put_topic(server.broker_addr, topic)
            group = SubscriptionGroupConfig(group_name=f"{name}Group")
            admin.put_group(server.broker_addr, group)


def play(proxy: Proxy, hand: str | None, folder: Path) -> dict[str, str]:
    """What the program saw."""
    jars = (artifacts.CLIENT_GRPC, playing.JUNIT)
    path = ":".join(artifacts.classpath(artifacts.jars(one)) for one in jars)
    sources = [PROGRAM, playing.HELPERS / "java" / "TriMQExtension.java"]
    path = playing.compiled("hand-grpc", sources, path)
    command = ["java", f"-Duser.home={folder}", "-cp", path, "BehindProxy", proxy.grpc]
    done = subprocess.run(
        command,
        env={**os.environ, "TRIMQ_HAND": hand or ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return {words[1]: words[2] for words in lines if words[0] == "SAW"}


@needs_java
def test_moved_time_behind_the_proxy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_server(tmp_path / "store", SETTINGS, hand=True) as server:
        make_topics(server)
        # While the proxy starts, the clock gets behind its own.
        server.time.freeze()
        proxy = Proxy(tmp_path / "proxy", server.namesrv_addr, transactionHeartbeatPeriodSecond=1)
        began = time.monotonic()
        proxy.start()
        started = time.monotonic()
        try:
            seen = play(proxy, server.hand_addr, tmp_path)
        finally:
            proxy.stop()
    with capsys.disabled():
        took = time.monotonic() - started
        print(f"\nSTORY grpc behind the proxy: {took:.0f} s; the proxy: {started - began:.0f} s")
    assert seen == SEEN

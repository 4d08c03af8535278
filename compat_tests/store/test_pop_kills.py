"""The judge of POP runs (tests/popping) on the real broker, whose doubles it must find: what it says has a meaning.

TriMQ under the same clients and kills is in tests/trimq/serving/test_kill_pops.py.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from compat_tests.servers import containers
from compat_tests.servers.processes import HOST
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from tests.popping.judging import judge
from tests.popping.running import SETTINGS, play, summary

KILLS = 2
# Long enough for messages, too short for the file of the offsets.
LIVES = (3.0,)
# A JVM on a busy machine has handed out nothing in that time.
LEAST = 5


class Real:
    """One broker after the other on a store."""

    def __init__(self, home: Path) -> None:
        settings = {
            **{name: str(value).lower() for name, value in SETTINGS.items()},
            "mappedFileSizeCommitLog": str(64 * 1024 * 1024),
        }
        self._broker = RealBroker(containers.launcher(), home, f"{HOST}:1", Options(settings))

    def start(self) -> str:
        self._broker.start()
        return self._broker.addr

    def kill(self) -> None:
        self._broker.kill()


def test_doubles_of_the_real_broker_are_found(tmp_path: Path) -> None:
    broker = Real(tmp_path)
    try:
        log = play(broker, KILLS, random.Random(1), LIVES, LEAST)
    finally:
        broker.kill()
    found = judge(log, log.groups)
    counts = Counter(finding.kind for finding in found)
    print(f"real broker, kill -9 under pops: {summary(log)}; found: {dict(counts)}")
    # It forgets up to 5 s of offsets, and hands out what it had handed out.
    assert counts["early"] + counts["again"] > 0
    assert not counts["lost"], [finding.text for finding in found if finding.kind == "lost"][:5]

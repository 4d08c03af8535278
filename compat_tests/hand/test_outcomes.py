"""A delay, a retry and a question about a transaction: by time that passes on the real broker, and that is moved here.

The same program with the official Java client (java/Outcomes.java) plays on both.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from compat_tests.comparing.normalise import normalise
from compat_tests.comparing.records import Seen, Subject, compared, settings_text
from compat_tests.hand import playing
from compat_tests.hand.test_stories import needs_java
from compat_tests.scenarios.driver import Outcome, new_run
from compat_tests.scenarios.stage import Stage
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import COMMON_SETTINGS, Options, Server
from trimq.testing import running_server

# RocketMQ's own delays, and questions that come soon enough to be waited for.
SETTINGS: Final = {
    "messageDelayLevel": "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
    "transactionTimeOut": "3000",
    "transactionCheckInterval": "5000",
}
PROGRAM: Final = playing.FOLDER / "java" / "Outcomes.java"
SECONDS: Final = 300


class _Addresses:
    """Of a server, as `normalise` asks for them."""

    def __init__(self, namesrv_addr: str, broker_addr: str) -> None:
        self.namesrv_addr = namesrv_addr
        self.broker_addr = broker_addr


def play(server: Server | _Addresses, folder: Path, hand: str | None = None) -> Seen:
    """What the program saw, by the name of each part; `hand`: by whose time it goes."""
    path = playing.java_path("hand-outcomes", [PROGRAM])
    folder.mkdir(parents=True, exist_ok=True)
    run = new_run()
    command = ["java", f"-Duser.home={folder}", "-cp", path, "Outcomes", server.namesrv_addr, run]
    environment = {**os.environ, **({} if hand is None else {"TRIMQ_HAND": hand})}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        name, *words = line.split("\t")
        # Others are of the client's log.
        if len(words) == 2:
            found.setdefault(name, {})[words[0]] = words[1]
    return Seen(normalise(Outcome("outcomes", run, found, None), server))  # type: ignore[arg-type]


@needs_java
def test_moved_time_is_as_real_time(stage: Stage, tmp_path: Path) -> None:
    subject = Subject("hand/outcomes", (settings_text(SETTINGS),), (PROGRAM,))

    def real() -> Seen:
        server = RealServer(stage.launch, tmp_path / "real", Options(settings=SETTINGS)).start()
        try:
            return play(server, tmp_path / "client-of-real")
        finally:
            server.kill()

    theirs = stage.records.outcome(subject, "a delay, a retry and a question", real)
    settings = {**COMMON_SETTINGS, **SETTINGS}
    with running_server(tmp_path / "ours", settings, hand=True) as server:
        where = _Addresses(server.namesrv_addr, server.broker_addr)
        mine = play(where, tmp_path / "client", server.hand_addr)
    assert not compared(theirs.outcome, mine.outcome)
    for name in ("delay", "retry"):
        assert mine.outcome[name]["in time"] == "yes"
    assert mine.outcome["retry"]["(reconsumeTimes)"] == "1"
    assert mine.outcome["question"]["asked again"] == "0"

"""A whole server under pops, acknowledgements and changed times, killed with -9 at any moment.

Every message that was answered is handed out; none again before its time, and none that was acknowledged in time.
"""

import random
from pathlib import Path

from tests.popping.journal import Journal
from tests.popping.judging import judge
from tests.popping.running import SETTINGS, play, summary
from tests.trimq.serving.killed import Server

KILLS = 3
# About an hour and a half.
SOAK_KILLS = 1000
OURS = {
    **SETTINGS,
    "brokerName": "broker-a",
    "mappedFileSizeCommitLog": 512 * 1024,
    "reviveInterval": 200,
}


class Trimq:
    """One server after the other on a store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.log = folder / "server.log"
        self._server: Server | None = None

    def start(self) -> str:
        self._server = Server(self._folder / "store", self.log, OURS)
        self._server.wait_ready()
        return self._server.broker_addr

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()


def test_kill_9_under_pops(tmp_path: Path, times: int) -> None:
    seed = random.randrange(1 << 30) if times > 1 else 1
    broker = Trimq(tmp_path)
    try:
        log: Journal = play(broker, KILLS if times == 1 else SOAK_KILLS, random.Random(seed))
        found = judge(log, log.groups)
        assert not found, (len(found), [finding.text for finding in found[:5]])
    except BaseException as error:
        error.add_note(f"seed {seed}; the server said:\n{broker.log.read_text()[-3000:]}")
        raise
    finally:
        broker.kill()
    print(f"kill -9 under pops, seed {seed}: {summary(log)}")

"""A whole server under pops, acknowledgements and changed times, killed with -9 at any moment.

Every message that was answered is handed out; none again before its time, and none that was acknowledged in time.
"""

import random
from pathlib import Path

from tests.conftest import Kills
from tests.popping.journal import Journal
from tests.popping.judging import judge
from tests.popping.running import SETTINGS, play, summary
from tests.trimq.serving.forge import Forge
from tests.trimq.serving.killed import OFTEN_CHECKPOINTED, Server

OURS = {
    **SETTINGS,
    **OFTEN_CHECKPOINTED,
    "brokerName": "broker-a",
    "mappedFileSizeCommitLog": 512 * 1024,
    "reviveInterval": 200,
    "flushConsumerOffsetInterval": 500,
}
# What a kill may take back of what ordered groups know: an interval, and writing the file on a busy machine.
FORGOTTEN_MILLIS = 2500


class Trimq:
    """One server after the other on a store."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        self._forge = forge
        self._folder = folder
        self.log = folder / "server.log"
        self._server: Server | None = None

    def start(self) -> str:
        self._server = Server(self._folder / "store", self.log, OURS, self._forge)
        self._server.wait_ready()
        return self._server.broker_addr

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()


def test_kill_9_under_pops(tmp_path: Path, kills: Kills, forge: Forge) -> None:
    broker = Trimq(tmp_path, forge)
    try:
        log: Journal = play(broker, kills.count, random.Random(kills.seed))
        found = judge(log, log.groups, FORGOTTEN_MILLIS)
        assert not found, (len(found), [finding.text for finding in found[:5]])
    except BaseException as error:
        error.add_note(f"seed {kills.seed}; the server said:\n{broker.log.read_text()[-3000:]}")
        raise
    finally:
        broker.kill()
    print(f"kill -9 under pops, seed {kills.seed}: {summary(log)}")

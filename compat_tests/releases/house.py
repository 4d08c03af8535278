"""One folder and its ports, in which the newest tree and the release before it run in turn, under load."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from compat_tests.releases.load import Load
from compat_tests.releases.trees import release_before, tree
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.server import Options
from compat_tests.store.recorded.asking import stage_of
from compat_tests.wire.stage import Stage

NEWEST: Final = "newest"
BEFORE: Final = "before"
# So that what a kill must not take is in its file within a second. A start reads little again.
OFTEN_WRITTEN: Final = {
    "flushConsumerOffsetInterval": "300",
    "flushConsumeQueueThoroughInterval": "700",
    "autoCreateTopicEnable": "true",
}
# The progress of delayed messages is a second old at most: what is delivered just before a kill comes again.
PROGRESS_SECONDS: Final = 1.5


def build(which: str) -> Path:
    return ROOT if which == NEWEST else tree(release_before())


class House:
    """Whoever moves in finds what the last one left."""

    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        self.server = TrimqServer(home, Options({**settings, **OFTEN_WRITTEN}))
        self.load = Load()
        self._stage: Stage | None = None
        self._is_new = True

    def set(self, settings: dict[str, str]) -> None:
        """Others, before the first start."""
        assert self._is_new
        self.server.options = Options({**settings, **OFTEN_WRITTEN})

    def start(self, which: str) -> Stage:
        """With connections for clients. What the load was told is compared with what is there, and it goes on."""
        self.server.tree = build(which)
        self.server.start()
        self._stage = stage_of(self.server.broker_addr)
        if not self._is_new:
            self.load.check(self.server.broker_addr)
        self._is_new = False
        self.load.begin(self.server.broker_addr)
        return self._stage

    def end(self, kill: bool) -> None:
        """In the middle of the load."""
        if kill:
            time.sleep(PROGRESS_SECONDS)
            self.load.wait_until_written(self.server.store / "config" / self._offsets())
        self._hang_up()
        if kill:
            self.server.kill()
        else:
            self.server.stop()
        self.load.ended(kill)

    def _offsets(self) -> str:
        """The file of committed offsets: with light queues it is another one."""
        is_light = self.server.options.settings.get("enableLmq") == "true"
        return "lmqConsumerOffset.json" if is_light else "consumerOffset.json"

    def close(self) -> None:
        """Whatever state it is in."""
        self._hang_up()
        self.server.kill()

    def _hang_up(self) -> None:
        if self._stage is not None:
            self._stage.__exit__()
            self._stage = None

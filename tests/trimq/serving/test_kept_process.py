"""What is said of a process that is kept going, by how it ends."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import trio

from trimq.serving.failures import ChildFailed
from trimq.serving.kept_process import KeptProcess

READY = 'echo \'{"grpc": "here"}\''


class Kept(KeptProcess):
    """Runs one shell script after the other; with the last one it is stopped."""

    def __init__(self, *scripts: str) -> None:
        super().__init__("proxy", "it")
        self.scripts = list(scripts)

    def command(self) -> list[str]:
        script = self.scripts.pop(0)
        if not self.scripts:
            self._stopping = True
        return ["/bin/sh", "-c", script]

    async def heard(self, line: bytes) -> None:
        told = json.loads(line)
        self.address, self.failure = told.get("grpc", ""), told.get("failed", "")


async def test_how_it_ends(caplog: pytest.LogCaptureFixture, autojump_clock: Any) -> None:
    failing = 'echo \'{"failed": "port 1 is in use"}\'; exit 1'
    with caplog.at_level(logging.INFO, "trimq.supervisor"):
        # The last one is not looked at.
        await Kept(f"{READY}; exit 3", READY, *[failing] * 5, READY, READY, READY).run()
    ended = [one for one in caplog.records if "ended" in one.msg]
    found = [(one.levelname, one.getMessage().partition("exit_code=")[2]) for one in ended]
    assert [level for level, _ in found] == ["ERROR", "WARNING", "ERROR", "WARNING", "WARNING"]
    assert found[0][1].startswith("3 pause=0.1 reason=None")
    # One line for five attempts that fail alike.
    assert found[2][1] == "1 pause=0.4 reason=port 1 is in use times=None"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('echo \'{"failed": "port 1 is in use"}\'; exit 1', "port 1 is in use"),
        ("exit 4", "exit code 4"),
    ],
)
async def test_one_that_never_starts(script: str, reason: str) -> None:
    with pytest.raises(ChildFailed, match=f"^proxy it did not start: {reason}$"):
        await Kept(script, READY).run()


async def test_it_is_started_once_it_is_ready(nursery: trio.Nursery) -> None:
    kept = Kept(f"{READY}; cat", READY)
    await nursery.start(kept.run)
    assert kept.address == "here"
    await kept.stop()

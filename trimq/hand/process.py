"""The server's process in the hand of a test: killed, away, and started over the same store and ports.

A kill is what `kill -9` is to files and connections: the process is replaced by another program at once, nothing is
written or answered any more, and what was in its memory is gone. That program is trimq/hand/down.py: it has the
hand's address, and becomes the server again when it is told to.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import trio

from trimq.hand.durations import seconds
from trimq.hand.hand import Hand
from trimq.hand.operation import HandError, Nothing, Operation, Words
from trimq.settings.endpoints import Endpoint

# What a server that starts again is told of its clock and its seed.
LEFT: Final = "TRIMQ_HAND_LEFT"
_FOREVER: Final = -1.0
_STATE: Final = "Whether it serves, and which run of it this is."


class Kill(Words):
    """`away`: how long until it starts again by itself; null: when `server/restart` says so."""

    away: str | float | None = None


class State(msgspec.Struct):
    """`run`: another one after each kill and start."""

    serves: bool
    run: str


class Process:
    """Operations that end this process; whoever asked is answered before."""

    def __init__(
        self,
        hand: Hand,
        address: str,
        listen: Endpoint,
        namesrv: str | None,
        words: Sequence[str],
    ) -> None:
        """Where the hand, the broker and its own NameServer are; `words`: of the command that has started it."""
        self.address = address
        self._hand = hand
        # Of an option that is there twice, the last counts.
        self._words = [*words, "--listen", str(listen), "--hand", address]
        if namesrv is not None:
            self._words += ["--namesrv-listen", namesrv]
        self._restarts = False
        self._run = secrets.token_hex(8)
        self._serves = True

    async def state(self, _: Nothing) -> State:
        return State(self._serves, self._run)

    async def kill(self, words: Kill) -> None:
        away = _FOREVER if words.away is None else seconds(words.away)
        self._end()
        trio.lowlevel.spawn_system_task(self._killed, away)

    async def restart(self, _: Nothing) -> None:
        self._end()
        self._restarts = True
        trio.lowlevel.spawn_system_task(self._stopped)

    def _end(self) -> None:
        if not self._serves:
            raise HandError("it is ending already: wait until server/state says another run")
        self._serves = False

    async def _killed(self, away: float) -> None:
        await _answered()
        words = [self.address, str(away), *self._words]
        _become([sys.executable, "-m", "trimq.hand.down", *words], self._hand)

    async def _stopped(self) -> None:
        await _answered()
        # A disk that fails would have the stop fail, and nothing would start again.
        await self._hand.faults.mend_disk(Nothing())
        os.kill(os.getpid(), signal.SIGTERM)

    def ended(self) -> None:
        """After a clean stop. Does not return if it is to start again."""
        if self._restarts:
            _become([sys.executable, "-m", "trimq", *self._words], self._hand)

    @property
    def operations(self) -> list[Operation[Any]]:
        return [
            Operation("server/state", Nothing, self.state, _STATE),
            Operation(
                "server/kill",
                Kill,
                self.kill,
                "End it as kill -9 does; it starts again after `away`, or by /server/restart.",
            ),
            Operation(
                "server/restart",
                Nothing,
                self.restart,
                "Stop it cleanly, or leave it as it was killed, and start it over its store and ports.",
            ),
        ]


async def _answered() -> None:
    # The answer is in the kernel by then.
    await trio.sleep(0.02)


def _become(words: list[str], hand: Hand) -> None:
    clock = hand.clock
    left = {"millis": clock.millis(), "speed": clock.speed, "left_at": time.time()}
    os.environ[LEFT] = json.dumps({**left, "seed": hand.seeding.given})
    sys.stdout.flush()
    # What is ignored stays so in the program that comes next.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.execv(words[0], words)


def hand_of_process() -> Hand:
    """Its clock stands as it did when the process before this one ended, and has gone on since; chance begins anew."""
    said = os.environ.pop(LEFT, None)
    hand = Hand()
    if said is not None:
        left = json.loads(said)
        gone = (time.time() - left["left_at"]) * 1000 * left["speed"]
        hand.clock.start_at(left["millis"] + gone, left["speed"])
        if left["seed"] is not None:
            hand.seeding.begin(left["seed"])
    return hand

"""Our tool in this process, told what the real server has told it before."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

import trio
from click.testing import CliRunner

from compat_tests.mqadmin.exchanges import Exchange, described
from compat_tests.mqadmin.peers import Peers, Role, open_peers
from compat_tests.mqadmin.texts import with_files
from compat_tests.mqadmin.tools import Printed
from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RESPONSE_BIT, RemotingCommand
from trimq.mqadmin.cli import main

# What would make a command ask somebody else.
_ENVIRONMENT: Final = {"NAMESRV_ADDR": None, "ROCKETMQ_HOME": None, "NO_COLOR": None}


class ByHeart:
    """Answers each question of a command line as it was answered then: the same one again by the next answer to it."""

    def __init__(self, heard: Sequence[Exchange]) -> None:
        self._waiting = list(heard)
        self.unknown: list[str] = []

    async def answer(self, role: Role, question: RemotingCommand) -> RemotingCommand:
        now = time.time_ns() // 1_000_000
        for exchange in self._waiting:
            if exchange.is_asked_by(role, now, question):
                self._waiting.remove(exchange)
                return exchange.answer
        text = described(role, question)
        self.unknown.append(text)
        return RemotingCommand(
            ResponseCode.SYSTEM_ERROR, 0, RESPONSE_BIT, f"this was not recorded: {text}"
        )

    def check(self) -> None:
        """AssertionError when something else was asked than then."""
        unasked = [described(one.role, one.question) for one in self._waiting]
        if self.unknown or unasked:
            lines = [*(f"asked, and not recorded: {one}" for one in self.unknown)]
            lines += [f"recorded, and not asked: {one}" for one in unasked]
            raise AssertionError("\n".join(lines))


def play(
    lines: Sequence[str],
    heard: Sequence[Sequence[Exchange]],
    words: Callable[[str], list[str]],
    folder: Path,
    *,
    endless: bool = False,
) -> list[Printed]:
    """What each command line prints, with the addresses of records; `endless`: the last one is interrupted as soon as
    it rests. AssertionError when one asks what it did not ask then, or does not ask all.
    """
    assert len(lines) == len(heard)
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    printed = []
    with patch.object(tempfile, "tempdir", str(temporary)), chdir(folder), in_utc():
        for number, (line, exchanges) in enumerate(zip(lines, heard, strict=True)):
            is_endless = endless and number == len(lines) - 1
            with _interrupted(is_endless), _clock_of(exchanges):
                printed.append(with_files(trio.run(_play, words(line), ByHeart(exchanges))))
    return printed


async def _play(words: Sequence[str], server: ByHeart) -> Printed:
    async with open_peers(server.answer) as peers:
        printed = await trio.to_thread.run_sync(_run, words, peers)
    server.check()
    return printed


def _run(words: Sequence[str], peers: Peers) -> Printed:
    moved = [peers.outward.text(word) for word in words]
    command = [*moved, "-n", peers.places.namesrv_addr]
    done = CliRunner().invoke(main, command, prog_name="mqadmin", env=_ENVIRONMENT)
    if done.exc_info is not None and not isinstance(done.exception, SystemExit | None):
        raise AssertionError("".join(traceback.format_exception(*done.exc_info)))
    inward = peers.inward.text
    return Printed(inward(done.stdout), inward(done.stderr), done.exit_code)


@contextmanager
def _interrupted(really: bool) -> Iterator[None]:
    """Ctrl-C for a command that rests between its rounds."""
    if not really:
        yield
        return
    with patch("trimq.mqadmin.common.repeating.time.sleep", side_effect=KeyboardInterrupt):
        yield


@contextmanager
def _clock_of(heard: Sequence[Exchange]) -> Iterator[None]:
    """It is the moment of the first question: what is said in relation to now has the width that it had then."""
    if not heard:
        yield
        return
    ahead = heard[0].at * 1_000_000 - time.monotonic_ns()
    with patch("time.time_ns", lambda: ahead + time.monotonic_ns()):
        yield


@contextmanager
def in_utc() -> Iterator[None]:
    """The time zone of records: command lines name local times."""
    try:
        with patch.dict(os.environ, TZ="UTC"):
            time.tzset()
            yield
    finally:
        time.tzset()

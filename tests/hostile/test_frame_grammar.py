"""Frames of the grammar against a whole broker and NameServer: 100,000 on the compiled build, 10,000,000 under --soak.

Interpreted modules take three times as long: they get the first 25,000, so that people run the unit tests.

A failure names its seed and its frame; put that seed into `KEPT`, so that it is played each time from then on.
`--fuzz-seed N` plays that seed alone.
"""

import os
import random
from collections import Counter
from pathlib import Path

import pytest
import trio

from bench.servers.process import usage
from tests.hostile.frame_grammar import Grammar, Request, recorded_requests, requests_of_every_code
from tests.hostile.whole_servers import Calls, Servers, Side, alarm, send_of, whole_servers
from trimq.codec.codes import ResponseCode
from trimq.codec.frames import frame

VECTORS = Path(__file__).parents[1] / "vectors"
ROUNDS = 400
FRAMES = 12_500
# Of each of both servers: 4 rounds are 100,000 frames, 400 are 10,000,000.
KEPT = (1, 2, 3, 4)
COMPILED = not (frame.__file__ or "").endswith(".py")

ALIVE_EVERY = 500
LET_GO_EVERY = 50
# Counting makes a frame slow, so that a part of them is counted.
COUNTED_EVERY = 7
# Calls of functions that one frame may cost before its answer: some 20 ms of them.
MOST_CALLS = 40_000
MOST_MIB = 300


def seeds(config: pytest.Config) -> list[int]:
    chosen = config.getoption("--fuzz-seed")
    if chosen is not None:
        return [chosen]
    if not config.getoption("--soak"):
        return list(KEPT if COMPILED else KEPT[:1])
    return [*KEPT, *(random.randrange(2**32) for _ in range(ROUNDS - len(KEPT)))]


def test_no_frame_breaks_a_server(pytestconfig: pytest.Config, memory_path: Path) -> None:
    for seed in seeds(pytestconfig):
        print(f"frames of seed {seed}: replay with --fuzz-seed {seed}")
        trio.run(play, seed, memory_path / str(seed))


async def play(seed: int, folder: Path) -> None:
    before = usage(os.getpid()).anonymous_mib
    answers: Counter[int] = Counter()
    with whole_servers(folder) as servers:
        for name, side in zip(("broker", "namesrv"), servers.sides, strict=True):
            await play_side(Grammar(seed, known_requests(name, side)), side, answers, servers)
        assert_table_sizes(servers)
    # Neither all refused nor all taken, or the grammar is of no use.
    assert answers[ResponseCode.SUCCESS] > FRAMES / 10
    assert answers[ResponseCode.SYSTEM_ERROR] > FRAMES / 20
    assert usage(os.getpid()).anonymous_mib - before < MOST_MIB, seed


def known_requests(name: str, side: Side) -> list[list[Request]]:
    return requests_of_every_code(recorded_requests(VECTORS, name), side.headers)


async def play_side(grammar: Grammar, side: Side, answers: Counter[int], servers: Servers) -> None:
    calls = Calls()
    with alarm() as unforeseen:
        for number, raw in enumerate(grammar.frames(FRAMES)):
            where = f"frame {number} of seed {grammar.seed}: {raw[:400]!r}"
            if number % COUNTED_EVERY:
                replies = side.take(raw)
            else:
                with calls.counted():
                    replies = side.take(raw)
                assert calls.count < MOST_CALLS, where
            answers.update(reply.code for reply in replies)
            if number % LET_GO_EVERY == 0:
                await side.let_go()
            assert not unforeseen.said, f"{where}\n{unforeseen.said[0]}"
            if number % ALIVE_EVERY == 0:
                assert_alive(servers, where)


def assert_alive(servers: Servers, where: str) -> None:
    """A fresh send is stored, whatever came before."""
    (reply,) = servers.sides[0].take(send_of("StillAlive", b"fresh"))
    assert reply.code == ResponseCode.SUCCESS, f"{reply.remark} after {where}"
    stored = servers.store.max_offset("StillAlive", 0)
    assert stored == int(reply.ext_fields["queueOffset"]) + 1, where


def assert_table_sizes(servers: Servers) -> None:
    """What strangers name is bounded by settings."""
    common = servers.broker.common
    assert len(common.messaging.topics.table.all()) <= 2100
    assert len(common.readers.groups.all()) <= 2100

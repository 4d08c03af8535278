"""/healthz and /readyz: what they say, and to whom in which form."""

from __future__ import annotations

import json

import pytest
import trio

from trimq.process.loop_turns import LoopTurns, Turn, measured_turns
from trimq.process.metrics import SampleCollector, metrics_server
from trimq.process.probes import Probes, Verdict, loop_verdict, wants_json
from trimq.settings.endpoints import Endpoint


class Watch:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def turn(turns: LoopTurns, watch: Watch, seconds: float, idle: float = 0.0) -> None:
    """The loop waits for `idle` seconds, and then has a turn."""
    watch.now += idle
    turns.after_io_wait(0)
    watch.now += seconds
    turns.before_io_wait(0)


def turned(*lengths: float) -> tuple[LoopTurns, Watch]:
    """A loop with these turns, which then begins to answer."""
    watch = Watch()
    turns = LoopTurns(watch)
    for seconds in lengths:
        turn(turns, watch, seconds)
    turns.after_io_wait(0)
    return turns, watch


def test_the_longest_turn_of_the_last_second() -> None:
    turns, watch = turned(0.25, 0.125, 0.5, 0.0625)
    assert turns.longest() == Turn(0.5, 0.0625)
    # The clock goes on while this turn lasts.
    watch.now += 0.25
    assert turns.longest() == Turn(0.5, 0.3125)
    watch.now += 0.5
    assert turns.longest() == Turn(0.75, 0.0)


def test_what_ended_more_than_a_second_ago_is_forgotten() -> None:
    turns, watch = turned(0.5, 0.25)
    turns.before_io_wait(0)
    turn(turns, watch, 0.125, idle=0.75)
    assert turns.longest().seconds == 0.25
    turn(turns, watch, 0.0, idle=0.25)
    assert turns.longest().seconds == 0.125


def test_few_turns_are_kept() -> None:
    turns, watch = turned()
    for _ in range(10_000):
        turn(turns, watch, 0.001)
    assert len(turns._recent) < 10


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ((), "ok: the longest turn of the event loop in the last second took 0.000 s\n"),
        ((0.25,), "ok: the longest turn of the event loop in the last second took 0.250 s\n"),
        ((1.0,), "ok: the longest turn of the event loop in the last second took 1.000 s\n"),
        (
            (3.0, 0.25),
            "the event loop stood still for 3.0 s, until 0.2 s ago: nobody was answered meanwhile\n",
        ),
    ],
)
def test_health_of_the_loop(lengths: tuple[float, ...], text: str) -> None:
    turns, _ = turned(*lengths)
    verdict = loop_verdict(turns)
    assert verdict.text() == text
    assert verdict.ok == text.startswith("ok: ")
    assert json.loads(verdict.json())["longest_turn_seconds"] == max(lengths, default=0.0)


async def test_turns_of_the_loop_that_runs() -> None:
    with measured_turns() as turns:
        await trio.lowlevel.checkpoint()
        assert 0 < turns.longest().seconds < 1e6
        assert turns._recent
    before = len(turns._recent)
    await trio.lowlevel.checkpoint()
    assert len(turns._recent) == before


async def test_pages() -> None:
    turns, _ = turned(3.0)
    verdicts = [await Probes(turns).verdict(path) for path in ("/healthz", "/readyz", "/else")]
    assert [verdict and verdict.status for verdict in verdicts] == [
        "503 Service Unavailable",
        None,
        None,
    ]


def test_forms() -> None:
    verdict = Verdict("", ["the disk is full", "not registered with ns:9876"])
    assert verdict.text() == "the disk is full\nnot registered with ns:9876\n"
    assert json.loads(verdict.json()) == {
        "ok": False,
        "why": ["the disk is full", "not registered with ns:9876"],
    }
    assert json.loads(Verdict("all is well").json()) == {"ok": True, "why": []}


@pytest.mark.parametrize(
    ("query", "accept", "wanted"),
    [
        ("json", "", True),
        ("verbose&json", "*/*", True),
        ("", "text/html, Application/JSON;q=0.9", True),
        ("", "*/*", False),
        ("jsonp", "", False),
    ],
)
def test_who_gets_json(query: str, accept: str, wanted: bool) -> None:
    assert wants_json(query, accept) == wanted


async def full() -> Verdict:
    return Verdict("", ["the disk is full"])


@pytest.mark.parametrize(
    ("ask", "head", "body"),
    [
        (b"GET /readyz HTTP/1.1\r\n\r\n", b"HTTP/1.1 503", b"the disk is full\n"),
        (b"HEAD /readyz HTTP/1.1\r\n\r\n", b"HTTP/1.1 503", b""),
        (b"POST /readyz HTTP/1.1\r\n\r\n", b"HTTP/1.1 405", b""),
        (
            b"GET /readyz?json HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 503",
            b'{"ok": false, "why": ["the disk is full"]}\n',
        ),
        (
            b"GET /readyz HTTP/1.1\r\nAccept: application/json\r\n\r\n",
            b"HTTP/1.1 503",
            b'{"ok": false, "why": ["the disk is full"]}\n',
        ),
        (b"GET /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 200", b""),
    ],
)
async def test_over_the_metrics_port(ask: bytes, head: bytes, body: bytes) -> None:
    collector = SampleCollector(list)
    async with (
        metrics_server(Endpoint("127.0.0.1", 0), collector, ready=full) as address,
        await trio.open_tcp_stream(address.host, address.port) as stream,
    ):
        await stream.send_all(ask)
        answer = b"".join([part async for part in stream])
    assert answer.startswith(head)
    assert answer.partition(b"\r\n\r\n")[2] == body

"""Requests that are done, while their answers are late or lost."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.patience import until_in_trio
from tests.trimq.hand.faulty import TOPIC, code, faulty
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.hand.faults.answers import BrokersAnswers
from trimq.hand.faults.layer import FaultLayer
from trimq.hand.faults.rules import Effect, Match, Often, Rule, Rules
from trimq.remoting.contract import Later, Peer, RemotingError, Request, Response
from trimq.remoting.errors import PeerGone, RemotingTimeout

PEER = Peer("192.0.2.7:1234", b"", 1)
SEND = RequestCode.SEND_MESSAGE


class Layered:
    """A layer before a processor that this stands for."""

    def __init__(self, outcome: Response | Exception) -> None:
        self.rules = Rules()
        context: Any = SimpleNamespace()
        self.layer = FaultLayer(self.rules, "broker", BrokersAnswers(context, dict), lambda _: ())
        self.outcome = outcome
        self.handle = self.layer.around(self._handled)

    def _handled(self, _: Request[Any]) -> Response:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def slow(self, seconds: float, times: int | None = None) -> None:
        effect = Effect("slow", seconds=seconds)
        self.rules.add(Rule(self.rules.next_number(), "", Match(), Often(times), effect))

    async def ask(self, **more: Any) -> Response:
        request: Request[Any] = Request(SEND, None, PEER, **more)
        outcome = self.handle(request)
        return await outcome.answer(request) if isinstance(outcome, Later) else outcome


async def test_how_late(autojump_clock: MockClock) -> None:
    layered = Layered(Response(0))
    layered.slow(2)
    layered.slow(0.5, times=1)
    began = trio.current_time()
    assert (await layered.ask()).code == 0
    assert trio.current_time() - began == pytest.approx(2.5)
    assert (await layered.ask()).code == 0
    assert trio.current_time() - began == pytest.approx(4.5)
    # Nobody waits for the answer to that one.
    assert (await layered.ask(oneway=True)).code == 0
    assert trio.current_time() - began == pytest.approx(4.5)


async def test_a_refusal_is_late_too(autojump_clock: MockClock) -> None:
    layered = Layered(RemotingError(ResponseCode.TOPIC_NOT_EXIST, "no"))
    layered.slow(7)
    began = trio.current_time()
    with pytest.raises(RemotingError, match="no"):
        await layered.ask()
    assert trio.current_time() - began == pytest.approx(7)


async def test_a_late_answer_says_what_was_not_written(autojump_clock: MockClock) -> None:
    layered = Layered(Response(0, staged=True))
    layered.slow(1)

    def full() -> None:
        raise RemotingError(ResponseCode.SERVICE_NOT_AVAILABLE, "full")

    request: Request[Any] = Request(SEND, None, PEER)
    late = layered.handle(request)
    assert isinstance(late, Later)
    with pytest.raises(RemotingError, match="full"):
        layered.layer.around_end(full)()
    with pytest.raises(RemotingError, match="full"):
        await late.answer(request)
    # Those of the next receive are written.
    later = layered.handle(request)
    layered.layer.around_end(lambda: None)()
    assert isinstance(later, Later)
    assert (await later.answer(request)).code == 0


async def test_answers_that_are_due_together_keep_their_order(autojump_clock: MockClock) -> None:
    layered = Layered(Response(0))
    layered.slow(1)
    heard: list[int] = []

    async def ask(number: int) -> None:
        request: Request[Any] = Request(SEND, None, PEER)
        late = layered.handle(request)
        assert isinstance(late, Later)
        nursery.start_soon(hear, number, late)

    async def hear(number: int, late: Later) -> None:
        await late.answer(late.request)
        heard.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            await ask(number)
    assert heard == list(range(50))


async def test_it_is_stored_at_once(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it, trio.open_nursery() as nursery:
        await it.ask("slow", requests="sends", by="1h")
        nursery.start_soon(it.send)
        nursery.start_soon(it.send_v2)

        async def both() -> None:
            while await it.stored() < 2:
                await trio.lowlevel.checkpoint()

        await both()
        assert await it.hits() == [2]
        nursery.cancel_scope.cancel()


async def test_a_late_answer_comes(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.send()
        await it.ask("slow", requests=["sends", "pulls"], by="1ms", next=2)
        assert code(await it.send()) == "SUCCESS"
        pulled = await it.pull()
        assert code(pulled) == "SUCCESS"
        assert pulled.body.count(b"body") == 2
        assert await it.hits() == [2]


async def test_the_answer_is_lost(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        shown = await it.ask("lose_answer")
        assert (shown["requests"], shown["left"]) == ("sends", 1)
        with pytest.raises(RemotingTimeout):
            await it.send(seconds=0.01)
        assert await it.stored() == 1
        # The connection lives on, and the next one hears.
        assert code(await it.send()) == "SUCCESS"
        assert await it.stored() == 2


async def test_the_answer_of_a_poll_that_waits_already(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it, trio.open_nursery() as nursery:
        answers = []

        async def poll() -> None:
            try:
                answers.append(await it.pull(0, 50_000))
            except PeerGone:
                answers.append("gone")

        nursery.start_soon(poll)
        await until_in_trio(lambda: it.hand.broker.common.messaging.arrivals.waiting == 1)
        await it.ask("lose_answer", requests="pulls")
        await it.send()
        await until_in_trio(lambda: it.hand.faults.rules.hits == [1])
        assert not answers
        # What was lost can be asked for again.
        assert code(await it.pull()) == "SUCCESS"
        await it.ask("drop_connections")
        await until_in_trio(lambda: answers == ["gone"])


async def test_late_and_lost_and_failed(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code="SYSTEM_BUSY")
        await it.ask("slow", requests="sends", by=0.001, topic=TOPIC)
        await it.ask("lose_answer", next=1)
        # The first fails, and nobody hears of it.
        with pytest.raises(RemotingTimeout):
            await it.send(seconds=0.01)
        assert await it.stored() == 0
        assert code(await it.send()) == "SUCCESS"
        assert await it.hits() == [1, 1, 1]

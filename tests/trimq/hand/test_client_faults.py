"""Faults from Python, as a test asks for them: from a thread that knows no event loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
import trio

from tests.trimq.hand.faulty import Faulty, code, faulty
from trimq.hand.client import HandClient
from trimq.hand.client_faults import Faults
from trimq.hand.operation import HandError

T = TypeVar("T")


class Calls:
    """Stands for HTTP: asks the server of this process."""

    def __init__(self, it: Faulty) -> None:
        self._it = it

    def call(self, path: str, **words: Any) -> Any:
        said = {key: value for key, value in words.items() if value is not None}

        async def ask() -> Any:
            return await self._it.ask(path.removeprefix("faults/"), **said)

        return trio.from_thread.run(ask)


async def said(it: Faulty, blocking: Callable[[Faults], T]) -> T:
    faults = Faults(cast(HandClient, Calls(it)))
    return await trio.to_thread.run_sync(blocking, faults)


async def test_faults_of_requests(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        [busy] = await said(
            it, lambda faults: faults.fail_next(sends=3, code="SYSTEM_BUSY", topic="T", seed=7)
        )
        assert (busy.does, busy.requests, busy.code) == ("fail", "sends", "SYSTEM_BUSY")
        assert (busy.left, busy.topic, busy.seed) == (3, "T", 7)
        await said(it, lambda faults: faults.remove(busy))
        slow = await said(it, lambda faults: faults.slow("pulls", "500ms", next=2, group="G"))
        assert (slow.does, slow.seconds, slow.left) == ("slow", 0.5, 2)
        lost = await said(it, lambda faults: faults.lose_answer(next=1, probability=0.5))
        assert (lost.does, lost.requests, lost.probability) == ("lose_answer", "sends", 0.5)
        names = ("HEART_BEAT", "acks")
        failing = await said(it, lambda faults: faults.fail(names, 2, remark="no"))
        assert (failing.requests, failing.left, failing.remark) == ("HEART_BEAT, acks", None, "no")
        assert code(await it.beat("C")) == "SYSTEM_BUSY"
        found = await said(it, lambda faults: faults.list())
        assert [(one.number, one.hits) for one in found] == [(2, 0), (3, 0), (4, 1)]
        counted = await said(
            it, lambda faults: faults.fail_next(code=1, next=1, requests="sends", pulls=2)
        )
        assert [(one.requests, one.left) for one in counted] == [("pulls", 2), ("sends", 1)]
        await said(it, lambda faults: faults.clear())
        assert await said(it, lambda faults: faults.list()) == ()


async def test_ways_and_disk(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        addr = it.server.namesrv_addr
        assert await said(it, lambda faults: faults.split()) == (addr,)

        def break_all(faults: Faults) -> None:
            faults.full_disk(room=10)
            faults.read_only()
            faults.away()

        await said(it, break_all)
        wrong = await said(it, lambda faults: faults.state())
        assert (wrong.away, wrong.split_from, wrong.disk) == (("broker",), (addr,), "read_only")

        def mend_all(faults: Faults) -> None:
            faults.back()
            faults.heal()
            faults.mend_disk()

        await said(it, mend_all)
        wrong = await said(it, lambda faults: faults.state())
        assert (wrong.away, wrong.split_from, wrong.disk, wrong.faults) == ((), (), None, ())
        await said(it, lambda faults: faults.away(during="1h"))
        await said(it, lambda faults: faults.back())
        assert await said(it, lambda faults: faults.drop_connections("nobody")) == 0


async def test_what_the_server_says_is_raised(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        with pytest.raises(HandError, match="did you mean SYSTEM_BUSY"):
            await said(it, lambda faults: faults.fail_next(sends=1, code="SYSTEM_BUSSY"))

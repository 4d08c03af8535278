"""Who wants what somebody asks for already gets the same outcome."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from trimq.proxy.together import Together


class Slow:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None

    async def ask(self, name: str) -> str:
        self.asked.append(name)
        await trio.sleep(1)
        if self.error is not None:
            raise self.error
        return name.upper()


async def test_one_asks_for_all(autojump_clock: object) -> None:
    slow, found = Slow(), []
    together = Together(slow.ask)

    async def want(name: str) -> None:
        found.append(await together.get(name))

    async with trio.open_nursery() as nursery:
        for name in "aabab":
            nursery.start_soon(want, name)
        await trio.testing.wait_all_tasks_blocked()
        assert together.is_asking("a")
    assert sorted(slow.asked) == ["a", "b"]
    assert sorted(found) == ["A", "A", "A", "B", "B"]
    assert not together.is_asking("a")
    assert await together.get("a") == "A"
    assert len(slow.asked) == 3


async def test_failures_are_everybodys(autojump_clock: object) -> None:
    slow, failures = Slow(), []
    slow.error = ValueError("no")
    together = Together(slow.ask)

    async def want() -> None:
        with pytest.raises(ValueError, match="no"):
            await together.get("a")
        failures.append(1)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(want)
    assert len(failures) == 5
    assert slow.asked == ["a"]


async def test_who_asks_may_leave(autojump_clock: object) -> None:
    slow, found = Slow(), []
    together = Together(slow.ask)

    async def want(seconds: float) -> None:
        with trio.move_on_after(seconds):
            found.append(await together.get("a"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(want, 0.5)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            nursery.start_soon(want, 10)
    assert found == ["A"] * 3
    assert len(slow.asked) == 2

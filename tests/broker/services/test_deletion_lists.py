"""Lists of work: in order, at a rate, to the end although nobody waits, beside what others ask for."""

from collections.abc import Iterator

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from trimq.broker.services.deletion_lists import MOST_NAMES, Member, PacedWork
from trimq.broker.services.detached_work import DetachedWork
from trimq.broker.steps import Steps
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError


def ten() -> float:
    return 10


class Site:
    def __init__(self, nursery: trio.Nursery, begins: bool = True) -> None:
        self.detached = DetachedWork()
        if begins:
            nursery.start_soon(self.detached.run)
        self.paced = PacedWork(self.detached)
        # What was done, and when.
        self.done: list[tuple[str, float]] = []
        self.start = trio.current_time()
        nursery.start_soon(self.paced.run)

    def steps(self, name: str, count: int = 1, fails: bool = False) -> Steps[None]:
        for _ in range(count):
            yield
        if fails:
            raise OSError(name)
        self.done.append((name, round(trio.current_time() - self.start, 3)))

    def members(self, *names: str) -> Iterator[Member]:
        return (Member(name, self.steps(name)) for name in names)

    async def play(self, *names: str, rate: float = 10) -> None:
        await self.paced.wait(self.paced.begin(names, self.members(*names), lambda: rate))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.done]


async def test_no_faster_than_the_rate(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery)
        await site.play("a", "b", "c")
        assert site.done == [("a", 0), ("b", 0.1), ("c", 0.2)]
        site.done.clear()
        # Without a limit all of it is done now.
        await site.play("d", "e", "f", rate=0)
        assert site.done == [("d", 0.2), ("e", 0.2), ("f", 0.2)]
        nursery.cancel_scope.cancel()


async def test_another_rate_counts_at_once(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery)
        rates = iter([0.5, 10, 10, 0])
        members = site.members("a", "b", "c", "d")
        await site.paced.wait(site.paced.begin(("list",), members, lambda: next(rates)))
        assert site.done == [("a", 0), ("b", 2), ("c", 2.1), ("d", 2.2)]
        nursery.cancel_scope.cancel()


async def test_what_took_long_is_made_up_for_up_to_a_second(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery)

        def members() -> Iterator[Member]:
            yield Member("a", site.steps("a"))
            # The first one has taken that long.
            autojump_clock.jump(5)
            for number in range(13):
                yield Member(f"{number}", site.steps(f"{number}"))

        await site.paced.wait(site.paced.begin(("list",), members(), ten))
        times = [time for _, time in site.done]
        # Eleven at once: a second's and the one that is due. Then one by one.
        assert times == [0.0, *[5.0] * 11, 5.1, 5.2]
        nursery.cancel_scope.cancel()


async def test_it_goes_on_without_whoever_asked(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery)
        with trio.move_on_after(0.15):
            await site.play("a", "b", "c", "d")
        assert site.names == ["a", "b"]
        # The same list is waited for, not begun again; another one comes after it.
        await site.play("a", "b", "c", "d")
        await site.play("e")
        assert site.names == ["a", "b", "c", "d", "e"]
        nursery.cancel_scope.cancel()


async def test_a_member_that_somebody_else_asks_for_is_shared(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery, begins=False)
        assert site.detached.begin("a", site.steps("a", 1000)) is not None
        nursery.start_soon(site.play, "a", "b")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(site.detached.run)
        await site.play("a", "b")
        assert site.names == ["a", "b"]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("count", [1, 1000])
async def test_the_first_failure_ends_a_list_and_not_the_others(
    autojump_clock: MockClock, count: int
) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery)
        members = iter([Member("a", site.steps("a", count, fails=True)), *site.members("b")])
        with pytest.raises(OSError, match="a"):
            await site.paced.wait(site.paced.begin(("list",), members, ten))
        await site.play("c")
        assert site.names == ["c"]
        nursery.cancel_scope.cancel()


async def test_only_so_many_names_wait(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(nursery)
        many = tuple(map(str, range(MOST_NAMES - 1)))
        first = site.paced.begin(many, iter(()), ten)
        for names in (("a", "b"), many[1:]):
            with pytest.raises(RemotingError, match="names of other lists are not done") as refused:
                site.paced.begin(names, site.members(*names), ten)
            assert refused.value.code == ResponseCode.SYSTEM_BUSY
        # The same one is not another one.
        assert site.paced.begin(many, iter(()), ten) is first
        await site.paced.wait(first)
        await site.play("a", "b")
        assert site.names == ["a", "b"]
        nursery.cancel_scope.cancel()

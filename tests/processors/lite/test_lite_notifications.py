"""NOTIFICATION of a client of lite topics: it is told of its own news."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from tests.processors.lite.test_lite_pops import ONE, Lite
from trimq.base.waits import Waited
from trimq.broker.steps import at_once
from trimq.codec.codes import RequestCode
from trimq.codec.headers.pop import NotificationRequestHeader
from trimq.processors.pop.notification import Notification
from trimq.remoting.contract import Later, RemotingError, Response


@pytest.fixture
def lite(broker: Any) -> Lite:
    made = Lite(broker)
    made.subscribe()
    return made


def ask(lite: Lite, poll_time: int = 0, **fields: Any) -> Response | Later:
    usual: dict[str, Any] = {"client_id": "c", "is_lite_consumer": True}
    header = NotificationRequestHeader(
        consumer_group="G",
        topic="T",
        queue_id=-1,
        poll_time=poll_time,
        **{**usual, **fields},
    )
    request = lite.broker.request(RequestCode.NOTIFICATION, header)
    found: Response | Later = lite.broker.processor(Notification).handle(request)
    return found


def has_message(lite: Lite, **fields: Any) -> bool:
    answer = ask(lite, **fields)
    assert isinstance(answer, Response)
    header: Any = answer.header
    return bool(header.has_msg)


def news(lite: Lite, body: bytes = b"body-0") -> None:
    lite.put(body)
    lite.broker.lite.events.arrived(ONE)


def test_its_own_notes_count_and_nothing_else(lite: Lite) -> None:
    news(lite)
    for _ in range(2):
        # It takes nothing.
        assert has_message(lite)
    assert not has_message(lite, client_id="d")
    assert not has_message(lite, is_lite_consumer=False)
    assert lite.popped() == 1
    assert not has_message(lite)


def test_messages_of_the_topic_itself_do_not(lite: Lite) -> None:
    lite.put(b"body-0", queue="T")
    assert not has_message(lite)
    assert has_message(lite, is_lite_consumer=False)


def test_a_client_without_a_name_is_refused(lite: Lite) -> None:
    with pytest.raises(RemotingError, match="set clientId"):
        ask(lite, client_id=None)


async def answered_late(lite: Lite, act: Callable[[], object]) -> tuple[bool, float]:
    answers: list[Any] = []
    waits = ask(lite, 5000, born_time=lite.broker.clock.now)
    assert isinstance(waits, Later)

    async def wait() -> None:
        answers.append(await waits.answer(waits.request))

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        act()
    return answers[0].header.has_msg, trio.current_time() - began


async def test_one_that_waits_is_woken_by_news(lite: Lite, autojump_clock: Any) -> None:
    assert await answered_late(lite, lambda: news(lite)) == (True, 0)


async def test_a_pop_and_a_question_that_wait_are_both_woken(
    lite: Lite, autojump_clock: Any
) -> None:
    pop = lite.pop(poll_time=5000, born_time=lite.broker.clock.now)
    assert isinstance(pop, Later)
    answers: list[Any] = []
    woken: list[Waited] = []

    async def popped() -> None:
        answers.append(await pop.answer(pop.request))

    async def told() -> None:
        woken.append(await lite.broker.lite.news.wait("c", 5))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(popped)
        nursery.start_soon(told)
        await trio.testing.wait_all_tasks_blocked()
        news(lite)
    assert (len(answers[0].body), woken) == (1, [Waited.WOKEN])


async def test_news_of_another_client_do_not_wake_it(lite: Lite, autojump_clock: Any) -> None:
    two = "%LMQ%$T$two"
    at_once(lite.broker.lite.subscriptions.add("d", "G", "T", [two]))

    def act() -> None:
        lite.put(b"body-0", queue=two)
        lite.broker.lite.events.arrived(two)
        assert lite.broker.lite.events.has_notes("d")
        lite.broker.clock.now += 5000

    has_any, seconds = await answered_late(lite, act)
    assert (has_any, round(seconds)) == (False, 5)

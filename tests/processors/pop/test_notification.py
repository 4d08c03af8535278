"""NOTIFICATION: what counts as a message, and what becomes of one that waits."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from tests.processors.pop.conftest import PopClient
from trimq.processors.pop.notification import Notification

GONE, NO_PERMISSION, UNREADABLE = 17, 16, 23


class Told(PopClient):
    def ask_to_be_told(self, poll_time: int = 0, **fields: object) -> Any:
        usual = {
            "consumerGroup": "G",
            "topic": "T",
            "queueId": -1,
            "pollTime": poll_time,
            "bornTime": 0,
        }
        return self.ask(Notification, **{**usual, **fields})


def put_in_first_naming(told: Told) -> None:
    told.broker.topics.create_in_send_back("%RETRY%G_T", 1, 6, 0)
    told.put(b"again", topic="%RETRY%G_T")


def test_the_retry_topic_of_the_first_naming_counts(make_broker: Callable[..., Any]) -> None:
    told = Told(make_broker(enable_retry_topic_v2=True))
    assert not told.ask_to_be_told().header.has_msg
    put_in_first_naming(told)
    assert told.ask_to_be_told().header.has_msg


def test_unless_pops_do_not_read_it(make_broker: Callable[..., Any]) -> None:
    settings = {"enable_retry_topic_v2": True, "retrieve_message_from_pop_retry_topic_v1": False}
    told = Told(make_broker(**settings))
    put_in_first_naming(told)
    assert not told.ask_to_be_told().header.has_msg


async def told_late(told: Told, act: Callable[[], object]) -> Any:
    """The answer to one that waits, when something has happened meanwhile."""
    found = []

    async def wait() -> None:
        with trio.fail_after(60):
            found.append(await told.ask_to_be_told(5000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert not found
        act()
    return found[0]


@pytest.mark.parametrize("code", [GONE, NO_PERMISSION])
async def test_one_that_waits_is_refused_when_its_time_is_up(
    broker: Any, autojump_clock: Any, code: int
) -> None:
    def end() -> None:
        if code == GONE:
            broker.topics.delete("T")
        else:
            broker.groups.get("G").consume_enable = False

    found = await told_late(Told(broker), end)
    assert found.code == code
    assert not found.header.has_msg


async def test_one_that_waits_is_refused_when_it_is_woken(broker: Any, autojump_clock: Any) -> None:
    told = Told(broker)

    def wake() -> None:
        broker.groups.get("G").consume_enable = False
        told.put(b"0")
        told.write()

    assert (await told_late(told, wake)).code == NO_PERMISSION


@pytest.mark.parametrize("heeded", [True, False])
def test_its_filter_can_be_turned_off(make_broker: Callable[..., Any], heeded: bool) -> None:
    told = Told(make_broker(use_message_filter_for_notification=heeded))
    told.put(b"0", tags="A")
    assert told.ask_to_be_told(expType="TAG", exp="B").header.has_msg is not heeded
    assert told.ask_to_be_told(expType="TAG", exp="||").code == (UNREADABLE if heeded else 0)

"""Receipts: when they are renewed, for how long, and what ends them."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tests.proxy.fake_broker import BROKER, FakeBroker, answer, stored
from trimq.base.clock import TrioClock
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.proxy import receipts as module
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.config import ProxyConfig
from trimq.proxy.popped import popped_of
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.receipts import Receipts
from trimq.proxy.routes import Routes
from trimq.remoting.errors import RemotingConnectError

CHANGE = RequestCode.CHANGE_MESSAGE_INVISIBLETIME


class Stage:
    """A client `c` of group G that has popped from topic T."""

    def __init__(self, nursery: trio.Nursery, config: ProxyConfig) -> None:
        self.clock = TrioClock()
        self.broker = FakeBroker(self.clock)
        self.config: SubscriptionGroupConfig | None = SubscriptionGroupConfig()
        self.here = True
        routes = Routes(self.broker, ["n"], 20)
        acknowledging = Acknowledging(self.broker, routes, self.clock, nursery)
        self.receipts = Receipts(
            config,
            acknowledging,
            self._config,
            lambda client_id, group: self.here,
            self.clock,
            nursery,
        )

    async def _config(self, group: str) -> SubscriptionGroupConfig | None:
        assert group == "G"
        return self.config

    def popped(self, offset=0, invisible=60_000, **fields):
        header = PopMessageResponseHeader(
            pop_time=self.clock.millis(),
            invisible_time=invisible,
            revive_qid=1,
            rest_num=0,
            start_offset_info="0 0 0",
        )
        record = stored(b"body", offset, **fields)
        return popped_of(record, header, "T", BROKER, False)[0]

    def add(self, offset=0, client="c", **fields):
        popped = self.popped(offset, **fields)
        self.receipts.add(client, "G", "T", popped)
        return parse_receipt(popped.handle)

    async def take(self, given, offset=0):
        return await self.receipts.take("c", "G", f"id{offset}", given)

    @property
    def hidden(self) -> list[int]:
        """Seconds for which renewals have hidden messages."""
        return [int(one.fields["invisibleTime"]) // 1000 for one in self.broker.of(CHANGE)]


@pytest.fixture
def stage(nursery):
    return Stage(nursery, ProxyConfig())


async def test_renewed_within_ten_seconds_of_its_end_and_for_longer_each_time(
    stage, nursery, autojump_clock
):
    given = stage.add()
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(49)
    assert stage.hidden == []
    await trio.sleep(2)
    assert stage.hidden == [60]
    await trio.sleep(3000)
    assert stage.hidden == [60, 180, 300, 600, 1800, 3600]
    newest = await stage.take(given)
    assert newest.text != given.text
    assert newest.log_offset == given.log_offset
    assert newest.handle.invisible == stage.hidden[-1] * 1000


async def test_what_was_acknowledged_is_renewed_no_more(stage, nursery, autojump_clock):
    given = stage.add()
    assert (await stage.take(given)).text == given.text
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(100)
    assert stage.hidden == []
    assert len(stage.receipts) == 0


async def test_an_acknowledgement_waits_for_the_renewal_that_runs(stage, nursery, autojump_clock):
    given = stage.add()
    answered = trio.Event()
    real = stage.broker.answers[CHANGE]

    async def slowly(asked):
        await answered.wait()
        return real(asked)

    stage.broker.answers[CHANGE] = slowly
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(50)
    found = []

    async def take():
        found.append(await stage.take(given))

    nursery.start_soon(take)
    await trio.sleep(1)
    assert found == []
    answered.set()
    await trio.sleep(1)
    assert found[0].handle.pop_time > given.handle.pop_time
    assert len(stage.receipts) == 0


async def test_three_failures_end_it(nursery, autojump_clock):
    stage = Stage(nursery, ProxyConfig(renew_ahead_time_millis=30_000))
    stage.add(invisible=1_000_000)

    def away(asked):
        raise RemotingConnectError("nobody")

    stage.broker.answers[CHANGE] = away
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(984)
    assert len(stage.receipts) == 1
    await trio.sleep(10)
    assert len(stage.broker.of(CHANGE)) == 3
    assert len(stage.receipts) == 0


async def test_a_failure_that_passes_is_forgotten(nursery, autojump_clock):
    stage = Stage(nursery, ProxyConfig(renew_ahead_time_millis=30_000))
    stage.add(invisible=1_000_000)
    real, failures = stage.broker.answers[CHANGE], [1, 1]

    def sometimes(asked):
        if failures:
            failures.pop()
            raise RemotingConnectError("nobody")
        return real(asked)

    stage.broker.answers[CHANGE] = sometimes
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(989)
    assert stage.hidden == [60, 60, 60]
    assert len(stage.receipts) == 1


async def test_a_refusal_ends_it_at_once(stage, nursery, autojump_clock):
    stage.add()
    stage.broker.answers[CHANGE] = lambda _: answer(ResponseCode.NO_MESSAGE)
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(100)
    assert len(stage.broker.of(CHANGE)) == 1
    assert len(stage.receipts) == 0


async def test_three_hours_end_it_with_the_groups_back_off(stage, nursery, autojump_clock):
    stage.add(times=3)
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(4 * 3600)
    # Consumed three times before: the sixth of the default waiting times.
    assert stage.hidden[-1] == 120
    assert stage.hidden[-2] == 3600
    assert len(stage.receipts) == 0


async def test_a_group_that_nobody_knows_ends_it_without_a_word(stage, nursery, autojump_clock):
    stage.config = None
    stage.add()
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(4 * 3600)
    assert stage.hidden[-1] == 3600
    assert len(stage.receipts) == 0


async def test_a_silent_client_gives_back_what_it_has(stage, nursery, autojump_clock):
    stage.add()
    stage.here = False
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(1)
    assert stage.hidden == [1]
    assert len(stage.receipts) == 0


async def test_a_client_that_leaves_gives_back_its_own_only(stage, autojump_clock):
    stage.add(0)
    stage.add(1)
    stage.add(0, client="other")
    stage.receipts.release_all("c")
    stage.receipts.release_all("nobody")
    await trio.testing.wait_all_tasks_blocked()
    assert stage.hidden == [1, 1]
    assert (stage.receipts.open_count("c", "G"), stage.receipts.open_count("other", "G")) == (0, 1)


async def test_the_proxy_ends_and_keeps_nothing(stage, autojump_clock):
    stage.add(0)
    stage.add(0, client="other")
    await stage.receipts.close()
    assert stage.hidden == [1, 1]
    assert len(stage.receipts) == 0


async def test_the_same_message_once_more_has_the_newer_receipt(stage, autojump_clock):
    given = stage.add(0)
    await trio.sleep(61)
    again = stage.add(0)
    assert stage.receipts.open_count("c", "G") == len(stage.receipts) == 1
    assert (await stage.take(given)).text == again.text


async def test_a_lite_message_is_renewed_in_its_lite_topic(stage, nursery, autojump_clock):
    stage.add(__LITE_TOPIC="one")
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(51)
    assert [one.fields.get("liteTopic") for one in stage.broker.of(CHANGE)] == ["one"]


async def test_the_tables_are_bounded(stage, monkeypatch, autojump_clock):
    monkeypatch.setattr(module, "MOST_OF_CLIENT", 2)
    monkeypatch.setattr(module, "MOST", 3)
    for offset in range(3):
        stage.add(offset)
    assert stage.receipts.open_count("c", "G") == 2
    stage.add(0, client="other")
    stage.add(1, client="other")
    stage.add(0, client="third")
    assert len(stage.receipts) == 3
    assert stage.receipts.open_count("third", "G") == 0


async def test_many_are_renewed_together(stage, nursery, autojump_clock):
    for offset in range(200):
        stage.add(offset)
    nursery.start_soon(stage.receipts.run)
    await trio.sleep(51)
    assert stage.hidden == [60] * 200

"""Checkpoints that no pop has made, as a damaged store or a hostile master may have them: what they cost is counted.

Nothing of it is measured in time: records staged in one write, their bytes, and checkpoints in memory.
"""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.processors.conftest import Broker
from tests.processors.pop.conftest import PopClient
from trimq.broker.config import BrokerConfig
from trimq.codec.names import REVIVE_GROUP, revive_topic
from trimq.store.messages.message import Message

REVIVE = revive_topic("DefaultCluster")
RETRY = "%RETRY%G_T"
LONG_MAX = 2**63 - 1
STEP_BYTES = 256 * 1024
YEAR_73_MILLION = 73_000_000 * 365 * 86_400_000


class Victim(PopClient):
    """`writes`: of each write of the log, how many records were put back, and their bytes."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.writes: list[tuple[int, int]] = []
        broker.groups.find("G", "1.2.3.4:5")
        broker.store.add_listener(self._written)

    def _written(self, messages: Any) -> None:
        sizes = [message.size for message in messages if message.topic == RETRY]
        self.writes.append((len(sizes), sum(sizes)))

    def forge(self, tag: str = "ck", **fields: object) -> None:
        now = self.broker.clock.millis()
        usual = {"t": "T", "c": "G", "q": 0, "so": 0, "pt": now, "it": 1000, "n": 1}
        self.forge_body(json.dumps({**usual, **fields}).encode(), tag)

    def forge_body(self, body: bytes, tag: str = "ck") -> None:
        self.broker.store.put(Message(REVIVE, 0, body, f"TAGS\x01{tag}\x02".encode()))

    def pop_one(self) -> None:
        """A true checkpoint in the same queue of the revive topic."""
        self.broker.processor(_pop_message())._popping._pops = 0
        self.pop(invisibleTime=0, maxMsgNums=1)
        self.write()

    def back(self) -> list[bytes]:
        return [record.body for record in self.broker.records(RETRY)]


def _pop_message() -> Any:
    from trimq.processors.pop.pop_message import PopMessage

    return PopMessage


@pytest.fixture
def victim(tmp_path: Any) -> Iterator[Victim]:
    broker = Broker(tmp_path / "store", BrokerConfig(pop_from_retry_probability=0))
    broker.store.open()
    yield Victim(broker)
    broker.store.close()


async def test_400_000_distances_are_no_400_000_messages(victim: Victim) -> None:
    """One ordinary send of 1.2 MB was enough to have the broker write 400,000 messages at once."""
    victim.put(b"0", b"1")
    victim.forge(n=1, d=[0] * 400_000)
    victim.forge(n=127, d=[0] * 20_000)
    victim.pop_one()
    await victim.later(5000)
    assert victim.reviving.open == 0
    # The first is longer than any note; of the other 127 count, and the true one came.
    assert victim.broker.store.max_offset(RETRY, 0) == 128


@pytest.mark.parametrize("size", [1000, 100_000, 4 * 1024 * 1024])
async def test_what_is_put_back_in_one_step_has_a_bound(victim: Victim, size: int) -> None:
    victim.put(b"x" * size)
    victim.forge(n=127, d=[0] * 127)
    await victim.later(5000)
    assert sum(count for count, _ in victim.writes) == 127
    assert all(total <= STEP_BYTES or count == 1 for count, total in victim.writes)


async def test_honest_pops_of_large_messages_too(victim: Victim) -> None:
    for number in range(32):
        victim.put(bytes([number]) * 20_000)
    victim.pop(invisibleTime=0)
    victim.write()
    popped = victim.offset()
    victim.writes.clear()
    await victim.later(5000)
    assert sum(number for number, _ in victim.writes) == popped > 10
    assert max(total for _, total in victim.writes) <= STEP_BYTES


@pytest.mark.parametrize(
    "times",
    [
        {"it": YEAR_73_MILLION},
        {"pt": YEAR_73_MILLION, "it": 0},
        {"it": LONG_MAX},
        {"pt": LONG_MAX, "it": LONG_MAX},
        {"pt": -LONG_MAX, "it": -LONG_MAX},
    ],
    ids=["hidden", "popped", "for ever", "beyond a long", "before"],
)
async def test_times_of_no_pop_stop_nobody_and_do_not_stay(
    victim: Victim, times: dict[str, int]
) -> None:
    victim.put(b"0")
    for number in range(2000):
        victim.forge(so=number + 5, **times)
    victim.pop_one()
    await victim.later(5000)
    assert victim.back() == [b"0"]
    assert victim.reviving.open == 0
    # Nothing keeps the next start from going on behind them.
    assert victim.broker.offsets.query(REVIVE_GROUP, REVIVE, 0) >= 2000


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": -128},
        {"n": 5, "d": [-1, -(2**31), 2**31 - 1, 7, 7]},
        {"so": -1},
        {"so": LONG_MAX, "n": 127},
        {"q": -1},
        {"q": 2**31 - 1},
        {"bm": -1, "n": 127},
        {"n": 127, "d": []},
        {"t": "no such topic"},
        {"t": "%LMQ%x"},
        {"t": "%RETRY%G_T", "n": 3},
        {"c": "no such group"},
        {"rp": "9" * 1000, "so": 77},
        {"bn": "x" * 60_000},
        {"t": None},
        {"d": [[[]]]},
        {"d": {}},
        {"n": 300},
        {"so": "text"},
        {"it": 1e300},
    ],
    ids=repr,
)
async def test_wrong_values_stop_nobody(victim: Victim, wrong: dict[str, object]) -> None:
    victim.put(b"0")
    victim.forge(**wrong)
    victim.forge(tag="ack", **wrong)
    victim.forge(tag="bAck", aol=wrong.get("d", [1]), **wrong)
    victim.pop_one()
    for _ in range(12):
        await victim.later(5000)
    assert b"0" in victim.back()
    assert victim.reviving.open == 0


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b"7", b"\xff\xfe", b"[" * 5000, b'{"d":' + b"[" * 5000],
    ids=range(8),
)
async def test_no_json_stops_nobody(victim: Victim, body: bytes) -> None:
    victim.put(b"0")
    victim.forge_body(body)
    victim.forge_body(body, "bAck")
    victim.pop_one()
    await victim.later(5000)
    assert victim.back() == [b"0"]


async def test_one_that_fails_for_no_known_reason_is_given_up(
    victim: Victim, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The others do not wait for it."""
    victim.put(b"0", b"1")
    victim.forge(so=1, pt=1)
    putting = victim.reviving._revive_retry

    class Failing:
        """A compiled object's methods cannot be replaced: this one stands in front of it."""

        def __getattr__(self, name: str) -> Any:
            return getattr(putting, name)

        async def put_back(self, one: Any, queue: int) -> None:
            if one.point.so == 1:
                raise ZeroDivisionError
            await putting.put_back(one, queue)

    monkeypatch.setattr(victim.reviving, "_revive_retry", Failing())
    victim.pop_one()
    await victim.later(5000)
    assert (victim.back(), victim.reviving.open) == ([b"0"], 1)
    with caplog.at_level(logging.ERROR):
        for _ in range(10):
            await victim.later(1000)
    assert victim.reviving.open == 0
    assert "checkpoint is given up" in caplog.text


async def test_memory_has_a_bound(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are due in an hour, and what is due now comes all the same; in an hour they come, too."""
    monkeypatch.setattr("trimq.broker.pop.revive.service._MOST_OPEN", 800)
    monkeypatch.setattr("trimq.broker.pop.revive.service._LEAST_OPEN", 100)
    count = 1000
    now = victim.broker.clock.millis()
    victim.put(b"0")
    for number in range(count):
        victim.forge(pt=now + number, it=3_600_000)
    victim.pop_one()
    await victim.later(5000)
    assert victim.reviving.open <= 100
    assert victim.back() == [b"0"]
    assert victim.broker.offsets.query(REVIVE_GROUP, REVIVE, 0) < 0
    await victim.later(3_700_000)
    await victim.later(5000)
    assert victim.broker.store.max_offset(RETRY, 0) == count + 1
    assert victim.reviving.open == 0

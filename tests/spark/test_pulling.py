"""Pulling from a broker that expires messages, is busy, hangs up or refuses."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from tests.spark.pulled_broker import Answer, Broker, options, pull, serving
from trimq.codec.codes import ResponseCode
from trimq.remoting.clients.blocking import BlockingClient
from trimq.spark.errors import DataLost, SparkSourceError
from trimq.spark.options.values import Connection
from trimq.spark.queues import Range
from trimq.spark.reading import kept_connections, outages
from trimq.spark.reading.partition import read_ranges


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "_FIRST_PAUSE", 0.001)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with serving(Broker()) as made:
        yield made


def test_short_answers_make_shorter_windows(broker: Broker) -> None:
    broker.special = lambda number, offset: (
        ResponseCode.SUCCESS,
        min(offset + 5, 100),
        list(range(offset, min(offset + 5, 100))),
    )
    assert pull(broker) == list(range(100))
    assert len(broker.asked) < 40


@pytest.mark.parametrize("queues", [3, 500])
def test_many_queues_at_once(broker: Broker, queues: int) -> None:
    assert sorted(pull(broker, end=3, queues=queues)) == sorted([0, 1, 2] * queues)
    assert len(broker.asked) == queues
    assert sorted(pull(broker, end=70, queues=3)) == sorted([*range(70)] * 3)


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_broken_connection_is_made_again(
    broker: Broker, moment: int, caplog: pytest.LogCaptureFixture
) -> None:
    broker.special = lambda number, offset: (-1, 0, []) if number == moment else None
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert pull(broker) == list(range(100))
        assert sorted(pull(broker, end=3, queues=9)) == sorted([0, 1, 2] * 9)
    # Once that it has begun, once that it is over.
    begun, over = caplog.messages
    assert "waiting up to 20 s" in begun
    assert "continues after" in over


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE])
def test_a_busy_broker_is_asked_again(broker: Broker, code: int) -> None:
    broker.special = lambda number, offset: (code, 0, []) if number == 2 else None
    assert pull(broker) == list(range(100))


def test_a_broker_that_stays_away_is_given_up(broker: Broker) -> None:
    broker.special = lambda number, offset: (-1, 0, [])
    with pytest.raises(SparkSourceError, match=r"broker 'b': .* waited \d+ s"):
        pull(broker, outage=0.05)
    # An outage is not something that may be skipped.
    with pytest.raises(SparkSourceError, match="option outageTimeoutMs"):
        pull(broker, outage=0.05, fail=False)


def test_a_refusal_is_reported_in_the_brokers_words(broker: Broker) -> None:
    broker.special = lambda number, offset: (ResponseCode.NO_PERMISSION, 0, [])
    with pytest.raises(SparkSourceError, match="with code 16: why"):
        pull(broker)


def test_a_group_that_is_moved_elsewhere_does_not_move_us(broker: Broker) -> None:
    """An operator resets the group's offset: one pull is answered with the place where to go on."""
    broker.special = lambda number, offset: (
        (ResponseCode.PULL_OFFSET_MOVED, 90, []) if number == 2 else None
    )
    assert pull(broker) == list(range(100))


def test_connections_are_kept_between_reads(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    client = Connection.client

    def count(self: Connection, addr: str) -> BlockingClient:
        opened.append(addr)
        return client(self, addr)

    monkeypatch.setattr(Connection, "client", count)
    assert pull(broker) == pull(broker) == list(range(100))
    assert opened == [broker.addr]
    # What was left in the middle is of no use to anybody.
    reading = read_ranges([Range("T", "b", 0, broker.addr, 0, 100)], options(broker), ["topic"])
    broker.special = lambda number, offset: (
        (ResponseCode.SYSTEM_ERROR, 0, []) if offset == 32 else None
    )
    with pytest.raises(SparkSourceError):
        next(reading)
    broker.special = lambda number, offset: None
    assert pull(broker) == list(range(100))
    assert opened == [broker.addr] * 2
    # Nor is one that the broker has ended meanwhile, and none waits for ever.
    with serving(Broker()) as other:
        pull(other)
        opened.clear()
    monkeypatch.setattr(kept_connections, "IDLE", -1.0)
    assert pull(broker) == list(range(100))
    assert opened == [broker.addr]


def lost_of(messages: list[str]) -> int:
    """The messages that the log reports as lost, range by range."""
    return sum(int(n) for text in messages for n in re.findall(r"; (\d+) messages lost", text))


@pytest.mark.parametrize("queues", [1, 4])
def test_files_that_are_deleted_are_lost_data(
    broker: Broker, queues: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The queue still begins at 0: answers pass over what the log has lost."""
    broker.log_begins = 37
    with pytest.raises(DataLost, match="queue 0, offsets 0 to 36: expired while it was read"):
        pull(broker, queues=queues)
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert sorted(pull(broker, fail=False, queues=queues)) == sorted([*range(37, 100)] * queues)
    assert lost_of(caplog.messages) == 37 * queues
    assert f"{37 * queues} of {100 * queues} messages of this task were lost" in caplog.text


def test_files_that_are_deleted_while_they_are_read(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    def delete(number: int, offset: int) -> None:
        if number == 2:
            broker.log_begins = 80

    broker.special = delete
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        found = pull(broker, fail=False)
    assert found == [*range(32), *range(80, 100)]
    assert lost_of(caplog.messages) == 48


@pytest.mark.parametrize(
    "code", [ResponseCode.PULL_OFFSET_MOVED, ResponseCode.PULL_RETRY_IMMEDIATELY]
)
def test_messages_that_expire_meanwhile(
    broker: Broker, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    broker.first = 40
    broker.special = lambda number, offset: (code, 40, []) if offset < 40 else None
    with pytest.raises(DataLost, match="queue 0, offsets 0 to 39: expired while it was read"):
        pull(broker)
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert pull(broker, fail=False) == list(range(40, 100))
    assert lost_of(caplog.messages) == 40


def test_what_is_missing_once_is_fetched_again(broker: Broker) -> None:
    broker.special = lambda number, offset: (
        (ResponseCode.SUCCESS, 32, [*range(3), *range(9, 32)]) if number == 1 else None
    )
    assert pull(broker) == list(range(100))


def test_a_queue_that_is_shorter_than_promised(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.last = 70
    with pytest.raises(
        DataLost, match="offsets 70 to 99: the queue does not reach that far any more"
    ):
        pull(broker)
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert pull(broker, fail=False) == list(range(70))
    assert lost_of(caplog.messages) == 30


def test_a_topic_that_is_deleted_is_lost_and_others_are_not(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.special = lambda number, offset: (ResponseCode.TOPIC_NOT_EXIST, 0, [])
    with pytest.raises(DataLost, match="offsets 0 to 99: the queue does not reach that far"):
        pull(broker)
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert pull(broker, fail=False) == []
    assert lost_of(caplog.messages) == 100


def test_only_the_master_tells_what_is_lost(broker: Broker) -> None:
    """A slave that is behind: what it lacks is waited for."""
    with serving(Broker()) as master:
        broker.last, broker.master = 70, master.addr
        assert pull(broker, fail=False) == list(range(100))
    broker.master = "127.0.0.1:1"
    with pytest.raises(SparkSourceError, match=r"waited \d+ s"):
        pull(broker, fail=False, outage=0.05)


def test_holes_of_a_compacted_topic_are_not_a_loss(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.policy, broker.log_begins = "COMPACTION", 10
    assert pull(broker) == list(range(10, 100))
    assert pull(broker, sql="x") == list(range(10, 100, 2))
    assert not lost_of(caplog.messages)


def test_what_a_filter_passes_over_is_not_lost(broker: Broker) -> None:
    assert pull(broker, sql="x") == list(range(0, 100, 2))
    broker.wanted = lambda offset: offset >= 60
    assert pull(broker, sql="x") == list(range(60, 100))
    broker.wanted = lambda offset: False
    assert pull(broker, sql="x") == []


@pytest.mark.parametrize("first", [0, 37])
def test_what_is_gone_behind_a_filter_is(
    broker: Broker, first: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether the queue has noticed it or not."""
    broker.first, broker.log_begins = first, 37
    with pytest.raises(DataLost, match=r"offsets 0 to 36: expired .* nobody knows whether"):
        pull(broker, sql="x")
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert pull(broker, sql="x", fail=False) == list(range(38, 100, 2))
    assert lost_of(caplog.messages) == 37


def test_a_filtered_queue_that_is_shorter_than_promised(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.last = 70
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert pull(broker, sql="x", fail=False) == list(range(0, 70, 2))
    assert lost_of(caplog.messages) == 30


@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_a_connection_that_breaks_behind_a_filter(broker: Broker, moment: int) -> None:
    broker.special = lambda number, offset: (-1, 0, []) if number == moment else None
    assert pull(broker, sql="x") == list(range(0, 100, 2))
    assert sorted(pull(broker, sql="x", end=5, queues=9)) == sorted([0, 2, 4] * 9)


@pytest.mark.parametrize("sql", ["", "x"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_and_losses_are_what_was_planned(
    broker: Broker, seed: int, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of three queues at once; files vanish, the queue notices or not, the broker hangs up, answers are short."""
    source = random.Random(seed)
    broker.last = 400

    def trouble(number: int, offset: int) -> Answer | None:
        what = source.random()
        if what < 0.03:
            # Often by one message, just where somebody reads.
            step = source.choice((offset + 1 - broker.log_begins, source.randrange(90)))
            broker.log_begins = min(broker.log_begins + max(step, 0), 390)
        elif what < 0.06:
            broker.first = source.randint(broker.first, broker.log_begins)
        elif what < 0.09:
            return -1, 0, []
        elif what < 0.12:
            return ResponseCode.SYSTEM_BUSY, 0, []
        elif what < 0.3 and broker.log_begins <= offset < broker.last and not sql:
            following = min(offset + source.randint(1, 9), broker.last)
            return ResponseCode.SUCCESS, following, list(range(offset, following))
        return None

    broker.special = trouble
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        found = pull(broker, end=400, fail=False, sql=sql, queues=3)
    gone = lost_of(caplog.messages)
    if not sql:
        assert len(found) + gone == 1200
    else:
        assert 600 <= len(found) + gone <= 1200
        # Every other one is wanted, and what is left came.
        assert set(found) >= set(range(390, 400, 2))
    for offset in set(found):
        assert found.count(offset) <= 3

"""A log that is copied: from nothing, from the middle, after a stop and a kill of either side."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from compat_tests.replication.pairs import LOG_FILE, PAIRS, SUCCESS, Pair, check_clean, logs, played
from tests.patience import until

TOPIC = "Copied"
LARGE = 100_000


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with played(request, tmp_path, "real-real") as made:
        yield made


def fill(pair: Pair, name: str, count: int, size: int = 100) -> list[bytes]:
    sent = [f"{name}{at} ".encode().ljust(size, b".") for at in range(count)]
    for at, body in enumerate(sent):
        reply = pair.master.send(TOPIC, body, queue=at % 2)
        assert reply.code == SUCCESS, reply
    return sent


def followed(pair: Pair) -> list[bytes]:
    """What was sent, and the slave has."""
    pair.master.start()
    pair.master.create(TOPIC)
    pair.slave.start()
    sent = fill(pair, "a", 40)
    pair.settle(TOPIC)
    until(lambda: pair.slave.bodies(TOPIC, 0) == sent[::2], "the slave knows the topic", 90)
    return sent


def has_all(pair: Pair, queue: int, wanted: list[bytes]) -> bool:
    """A slave that began later has the last ones."""
    found = pair.slave.bodies(TOPIC, queue)
    return found != [] and found == wanted[-len(found) :]


def check_copies(pair: Pair) -> None:
    pair.settle(TOPIC)
    for queue in (0, 1):
        wanted = pair.master.bodies(TOPIC, queue)
        until(partial(has_all, pair, queue, wanted), "the slave has all", 90)
    pair.slave.stop()
    pair.master.stop()
    of_master, of_slave = logs(pair.master.store), logs(pair.slave.store)
    assert of_slave, "the slave has files"
    # A slave with nothing begins with its master's last file.
    kept = {name: data for name, data in of_master.items() if name in of_slave}
    assert of_slave == kept
    assert max(of_slave) == max(of_master)
    check_clean(pair.master.store)
    check_clean(pair.slave.store)


def test_from_the_first_message(pair: Pair) -> None:
    # A slave asks for the tables when it starts, and then once a minute.
    followed(pair)
    # Over the ends of files, with what is left of them.
    fill(pair, "b", 30, LARGE)
    pair.settle(TOPIC)
    # The slave misses some, and goes on where it was.
    pair.slave.stop()
    fill(pair, "c", 15, LARGE)
    pair.slave.start()
    pair.settle(TOPIC)
    pair.slave.stop(kill=True)
    fill(pair, "d", 15, LARGE)
    pair.slave.start()
    pair.settle(TOPIC)
    # The master is away for a while.
    pair.master.stop()
    pair.master.start()
    fill(pair, "e", 5)
    check_copies(pair)


def test_a_new_slave_begins_with_the_last_file(pair: Pair) -> None:
    pair.master.start()
    pair.master.create(TOPIC)
    fill(pair, "a", 35, LARGE)
    pair.slave.start()
    fill(pair, "b", 1)
    pair.settle(TOPIC)
    first = min(logs(pair.slave.store))
    assert int(first) == 3 * LOG_FILE
    check_copies(pair)


def test_a_master_that_comes_back_empty(pair: Pair) -> None:
    """Either slave keeps what only it has; ours has nothing of the new master's, and its messages are still read."""
    sent = followed(pair)
    pair.master.stop()
    shutil.rmtree(pair.master.store)
    pair.master.start()
    pair.master.create("Other")
    assert pair.master.send("Other", b"first").code == SUCCESS
    pair.slave.stop()
    pair.slave.start()
    # The real one asks for tables after ten seconds.
    time.sleep(15)
    assert [pair.slave.max_offset(TOPIC, queue) for queue in (0, 1)] == [20, 20]
    assert (pair.slave.store / "consumequeue" / TOPIC).exists()
    if pair.slave.kind == "ours":
        assert pair.slave.bodies(TOPIC, 0) == sent[::2]
        assert pair.slave.max_offset("Other") <= 0

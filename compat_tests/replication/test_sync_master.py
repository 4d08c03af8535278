"""Replies that wait for slaves: which do, for how long, and what they say then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.replication.pairs import PAIRS, SUCCESS, Pair, check_clean, logs, played
from tests.patience import until

TOPIC = "Safe"
FLUSH_SLAVE_TIMEOUT = 12
SECONDS = 1.0
IN_TIME = (SUCCESS, True, False)


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    settings = {
        "brokerRole": "SYNC_MASTER",
        "inSyncReplicas": "2",
        "slaveTimeout": str(int(SECONDS * 1000)),
    }
    with played(request, tmp_path, "real-real", master=settings) as made:
        yield made


def timed(pair: Pair, properties: str = "") -> tuple[int, bool, bool]:
    """Code, whether the answer says where the message is, and whether it came only after the time-out."""
    began = time.monotonic()
    reply = pair.master.send(TOPIC, b"m", properties=properties)
    took = time.monotonic() - began
    return reply.code, "msgId" in reply.ext and "queueOffset" in reply.ext, took >= SECONDS * 0.9


def test_until_the_slave_has_it(pair: Pair) -> None:
    pair.master.start()
    pair.master.create(TOPIC)
    # Nobody is there: it is stored all the same, and its producer is told so.
    assert timed(pair) == (FLUSH_SLAVE_TIMEOUT, True, True)
    # On a busy machine an answer that waits for nobody may take a second now and then.
    until(lambda: timed(pair, "WAIT\x01false\x02") == IN_TIME, "an answer that does not wait")
    pair.slave.start()
    until(lambda: timed(pair)[0] == SUCCESS, "the slave acknowledges")
    # And so may a slave's report.
    until(lambda: [timed(pair) for _ in range(5)] == [IN_TIME] * 5, "none waits in vain")
    pair.slave.stop()
    assert timed(pair) == (FLUSH_SLAVE_TIMEOUT, True, True)
    pair.slave.start()
    until(lambda: timed(pair)[0] == SUCCESS, "the slave is back")
    pair.settle(TOPIC)
    pair.slave.stop()
    pair.master.stop()
    assert logs(pair.slave.store) == logs(pair.master.store)
    check_clean(pair.slave.store)
    check_clean(pair.master.store)

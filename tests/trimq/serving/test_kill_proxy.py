"""Broker and proxy killed with -9 at any moment, under producers, consumers and transactions of 5.x clients.

What was answered comes, in the order of its message group; what was rolled back never does. What comes again is
counted.
"""

from __future__ import annotations

import random
import select
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

import pytest

from compat_tests.servers.processes import free_port
from tests.conftest import Kills
from tests.patience import until
from tests.trimq.serving.forge import Forge
from tests.trimq.serving.killed import OFTEN_CHECKPOINTED
from tests.trimq.serving.several import Several, create_topic
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient

pytest.importorskip("grpc", reason="Google's gRPC is not installed (extra [test])")

from tests.proxy.kills.cast import GROUPS, HALVES, ORDERED, TOPICS, Cast, Journal

SETTINGS: Final = {
    **OFTEN_CHECKPOINTED,
    "brokerName": "broker-a",
    "mappedFileSizeCommitLog": 4 * 1024 * 1024,
    "flushConsumerOffsetInterval": 500,
    "transactionTimeOut": 1000,
    "transactionCheckInterval": 1000,
    "transactionCheckMax": 10_000,
    "autoCreateTopicEnable": "false",
}
# Renewed messages come again so long after their proxy was killed, and later still while the machine is busy.
LAST_SECONDS: Final = 240


class Servers(Several):
    """A broker with its NameServer, and a proxy before them, always at the same addresses."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        super().__init__(folder / "servers.log", forge)
        self.namesrv, self.broker, self.proxy = (f"127.0.0.1:{free_port()}" for _ in range(3))
        broker = ["server", "--listen", self.broker, "--namesrv-listen", self.namesrv]
        broker += ["--store", str(folder / "store")]
        for key, value in SETTINGS.items():
            broker += ["--set", f"{key}={value}"]
        proxy = ["proxy", "--namesrv", self.namesrv, "--listen", self.proxy]
        self._commands = {"broker": broker, "proxy": proxy}

    def begin(self, name: str) -> None:
        self.start(name, *self._commands[name])

    def live(self, seconds: float) -> None:
        """Let them: neither says anything more, nor ends by itself."""
        outputs = [process.stdout for process in self.running.values()]
        assert not select.select(outputs, [], [], seconds)[0], "one is gone"

    def prepare(self) -> None:
        """Topics with their types, and groups."""
        with BlockingClient(self.broker) as client:
            for topic, kind in TOPICS.items():
                create_topic(client, topic, 4, kind)
                group = SubscriptionGroupConfig(
                    group_name=GROUPS[topic], consume_message_orderly=topic == ORDERED
                )
                answer = client.request(
                    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, encode_body(group)
                )
                assert answer.code == ResponseCode.SUCCESS, answer.remark


def test_kill_9_of_broker_and_proxy(tmp_path: Path, kills: Kills, forge: Forge) -> None:
    servers = Servers(tmp_path, forge)
    journal = Journal()
    draw = random.Random(kills.seed)
    try:
        servers.begin("broker")
        servers.prepare()
        servers.begin("proxy")
        cast = Cast(servers.proxy, journal, kills.seed)
        cast.start()
        try:
            for _ in range(kills.count):
                servers.live(draw.uniform(0.2, 3))
                name = draw.choice(("broker", "proxy"))
                servers.kill(name)
                servers.begin(name)
            servers.live(2)
            cast.stop_sending()
            until(lambda: not journal.missing(), lambda: _left(journal), LAST_SECONDS)
        finally:
            cast.stop()
        check(journal)
    except BaseException as error:
        error.add_note(f"seed {kills.seed}; they said:\n{servers.log.read_text()[-3000:]}")
        raise
    finally:
        servers.close()
    print(
        f"kill -9 of broker and proxy, {kills.count} times, seed {kills.seed}: {summary(journal)}"
    )


def _left(journal: Journal) -> str:
    """What still has to come."""
    some = {topic: (len(left), sorted(left)[:5]) for topic, left in journal.missing().items()}
    return f"all has come; missing: {some}"


def check(journal: Journal) -> None:
    """AssertionError for what was rolled back and came, and for a message group out of order."""
    assert not journal.rolled_back & set(journal.deliveries[HALVES])
    for group, numbers in _first(journal.deliveries[ORDERED]).items():
        assert numbers == sorted(numbers), f"group {group} came out of order: {numbers}"


def _first(deliveries: list[str]) -> dict[str, list[int]]:
    """Numbers by message group, in the order of their first coming."""
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for text in deliveries:
        group, _, number = text.partition(":")
        found[group].setdefault(int(number))
    return {group: list(numbers) for group, numbers in found.items()}


def summary(journal: Journal) -> str:
    """Messages, and how many came again."""
    counts = {topic: Counter(journal.deliveries[topic]) for topic in TOPICS}
    words = [
        f"{topic}: {len(journal.sent[topic])} sent, {len(count)} came,"
        f" {sum(count.values()) - len(count)} again"
        for topic, count in counts.items()
    ]
    return "; ".join([*words, f"{journal.asked} transactions asked about"])


@pytest.mark.parametrize(
    ("topic", "deliveries"), [(ORDERED, ["0:000002", "0:000001"]), (HALVES, ["7"])]
)
def test_the_judge_sees_what_is_wrong(topic: str, deliveries: list[str]) -> None:
    journal = Journal(rolled_back={"7"})
    journal.deliveries[topic] = deliveries
    with pytest.raises(AssertionError):
        check(journal)

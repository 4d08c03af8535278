"""The Spark source on old brokers (apache/rocketmq 5536): no question that they leave unanswered.

Tried: a read of a topic with holes. Whether a topic is compacted, which only brokers since 5.0 know, took a broker of
4.x the connection and the task its patience. Right: a broker of 4.x compacts nothing, and is not asked.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.field.old_peers import VERSIONS, OldServer
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.errors import RemotingTimeout
from trimq.spark.options.values import Connection
from trimq.spark.reading import kept_connections
from trimq.spark.reading.broker_link import BrokerLink

SPARK = Path(__file__).parents[2] / "spark"


class OldClient:
    """A connection to a broker on record."""

    def __init__(self, server: OldServer) -> None:
        self._server = server
        self.asked: list[int] = []

    def start(self, code: int, fields: Any) -> int:
        self.asked.append(int(code))
        return int(code)

    def finish(self, opaque: int) -> RemotingCommand:
        reply = self._server.reply(RemotingCommand(opaque, 1))
        if reply is None:
            raise RemotingTimeout(f"did not answer request code {opaque}")
        return reply

    def request(self, code: int, header: Header) -> RemotingCommand:
        return self.finish(self.start(code, header))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_of_4_is_not_asked_whether_it_compacts(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = OldServer(version, "broker")
    client = OldClient(server)
    monkeypatch.setattr(kept_connections, "take", lambda *_: client)
    link = BrokerLink("broker-a", "127.0.0.1:1", Connection("127.0.0.1:1", 1, 0, None))
    # Holes are met in what was pulled.
    pulled = link.finish(link.start(RequestCode.PULL_MESSAGE, {}))
    assert pulled.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert link.compacts("T") is False
    is_asked = RequestCode.GET_TOPIC_CONFIG in client.asked
    assert is_asked == (not version.startswith("4"))


def test_all_that_spark_asks_of_brokers_is_answered_by_old_ones() -> None:
    """But that; requests to NameServers and through the administration aside."""
    asked = set()
    for file in SPARK.rglob("*.py"):
        names = re.findall(r"\bRequestCode\.([A-Z][A-Z0-9_]+)", file.read_text())
        asked |= {RequestCode[name] for name in names}
    assert len(asked) > 10
    for version in VERSIONS:
        kinds = [OldServer(version, kind) for kind in ("broker", "namesrv")]
        silent = {code for code in asked if all(code in one.silent for one in kinds)}
        assert silent <= {RequestCode.GET_TOPIC_CONFIG}

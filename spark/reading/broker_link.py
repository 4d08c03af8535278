"""One broker as a task sees it: asked over a kept connection, and waited for while it is away."""

from __future__ import annotations

import time
from typing import Final

from trimq.admin.brokers.cluster import preferred_addr
from trimq.admin.errors import AdminError
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.route import BrokerData
from trimq.codec.bodies.static_topics import TopicConfigAndQueueMapping
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.headers.topics import GetTopicConfigRequestHeader
from trimq.codec.names import MASTER_ID
from trimq.codec.versions import version_number
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError
from trimq.spark.options.values import Connection
from trimq.spark.reading import kept_connections
from trimq.spark.reading.outages import Away, Patience

_FIRST_WITH_COMPACTION: Final = version_number("V5_0_0")


class BrokerLink:
    """Wherever the broker is at the moment.

    `generation` counts connections: what was asked on an earlier one will not be answered.
    """

    def __init__(self, broker_name: str, addr: str, connection: Connection) -> None:
        self.name = broker_name
        self.addr = addr
        self.generation = 0
        self._connection = connection
        self._client: BlockingClient | None = None
        self._patience = Patience(f"broker {broker_name!r}", connection.patience)
        self._judge = ""
        self._compacted: dict[str, bool] = {}
        # What its last answer said.
        self._version = _FIRST_WITH_COMPACTION

    def start(self, code: RequestCode, fields: dict[str, str] | Header) -> int:
        """Send a request; `finish` waits for its answer. TransportError as it comes."""
        return self._connected().start(code, fields)

    def finish(self, opaque: int) -> RemotingCommand:
        """The answer, whatever its code. TransportError as it comes."""
        answer = self._connected().finish(opaque)
        self._version = answer.version
        return answer

    def request(self, code: RequestCode, header: Header) -> RemotingCommand:
        """Ask and wait for the answer, whatever its code. TransportError as it comes."""
        keys = self._connection.keys
        return self._connected().request(code, header if keys is None else keys.signed(header, b""))

    def fields(self, header: Header) -> dict[str, str] | Header:
        """What `start` takes: signed where servers ask for that."""
        keys = self._connection.keys
        return encode_header(header) if keys is None else keys.signed(header, b"")

    def answered(self) -> None:
        """The broker answers: an outage, if there was one, has passed."""
        self._patience.fine()

    def failed(self, error: Exception) -> None:
        """Wait a little, then look where the broker is now. SparkSourceError after too long an outage."""
        if isinstance(error, TransportError):
            self._hang_up()
        time.sleep(self._patience.failed(error))
        if self._client is None:
            self._look()

    def close(self) -> None:
        """Leave the connection for the next task."""
        if self._client is not None:
            kept_connections.give_back(self._connection, self._client)
            self._client = None

    def check_judge(self) -> None:
        """Away, unless the broker is its name's master, as the NameServer has it now.

        Only a master can tell what is gone: a slave may be behind, and an old address may belong to
        somebody else.
        """
        if self._judge == self.addr:
            return
        found = self._members()
        if found is None or found.broker_addrs.get(MASTER_ID) != self.addr:
            raise Away(f"{self.addr} is not registered as its master")
        self._judge = self.addr

    def compacts(self, topic: str) -> bool:
        """Whether the broker drops messages of the topic that have a newer one with the same key.

        Brokers of 4.x do not, and may be silent on the question.
        """
        if self._version < _FIRST_WITH_COMPACTION:
            return False
        if topic not in self._compacted:
            answer = self.request(
                RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequestHeader(topic=topic)
            )
            policy = ""
            if answer.code == ResponseCode.SUCCESS:
                found = decode_body(TopicConfigAndQueueMapping, answer.body)
                policy = found.attributes.get("cleanup.policy", "")
            self._compacted[topic] = policy.upper() == "COMPACTION"
        return self._compacted[topic]

    def _connected(self) -> BlockingClient:
        if self._client is None:
            self._client = kept_connections.take(self._connection, self.addr)
            self.generation += 1
        return self._client

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
            self.generation += 1

    def _look(self) -> None:
        """Where the broker is; if a NameServer cannot say, it is still where it was."""
        self._judge = ""
        try:
            found = self._members()
        except (AdminError, TransportError):
            return
        if found is not None:
            self.addr = preferred_addr(found) or self.addr

    def _members(self) -> BrokerData | None:
        """The broker and its slaves, as registered now. Not by a topic's route, which goes with the topic."""
        with self._connection.admin() as admin:
            return admin.cluster_info().broker_addr_table.get(self.name)

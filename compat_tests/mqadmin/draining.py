"""What a drain is tried with: a producer that knows routes a while, and a group that is stuck."""

from __future__ import annotations

import threading
import time
from typing import Final, Self

from compat_tests.servers.server import Server
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.remoting.clients.blocking import BlockingClient

# How long the producer believes in a route; a drain has to wait longer than that.
ROUTE_SECONDS: Final = 1.0
_PAUSE: Final = 0.005


class Producer:
    """Sends numbered messages to all queues in turn, until it is left; remembers what was accepted."""

    def __init__(self, server: Server, topic: str) -> None:
        self._server = server
        self._topic = topic
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.accepted: list[str] = []
        self.failure: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave.set()
        self._thread.join()

    def _send(self) -> None:
        try:
            with BlockingAdminClient(self._server.namesrv_addr) as admin:
                while not self._leave.is_set():
                    self._send_with_one_route(admin)
        except Exception as failure:
            self.failure = failure

    def _send_with_one_route(self, admin: BlockingAdminClient) -> None:
        places = admin.write_queues(self._topic)
        until = time.monotonic() + ROUTE_SECONDS
        while time.monotonic() < until and not self._leave.wait(_PAUSE):
            number = len(self.accepted)
            message = NewMessage(topic=self._topic, body=f"{number}".encode())
            sent = admin.send_to(message, places[number % len(places)])
            assert sent.status == "SEND_OK"
            self.accepted.append(f"{number}")


def commit(server: Server, group: str, topic: str, queue_id: int, offset: int) -> None:
    """Make a group and set its offset, as a consumer does that then goes away."""
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.put_group(server.broker_addr, SubscriptionGroupConfig(group_name=group))
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset
    )
    with BlockingClient(server.broker_addr) as client:
        assert client.request(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == 0

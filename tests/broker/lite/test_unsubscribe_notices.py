"""Who is told that another client reads a lite topic now."""

from typing import Any

from trimq.broker.lite.subscribers import Subscriber
from trimq.broker.lite.unsubscribe_notices import UnsubscribeNotices
from trimq.codec.headers.base import Header
from trimq.remoting.contract import Peer

ONE = "%LMQ%$T$one"


class Connection(Peer):
    def __init__(self, number: int) -> None:
        super().__init__(f"1.2.3.4:{number}", b"", number)
        self.told: list[Any] = []

    def oneway(self, code: int, header: Header | None = None, body: Any = b"") -> None:
        self.told.append(header)


def test_the_connection_on_which_a_client_spoke_last_is_told() -> None:
    clients, first, second = UnsubscribeNotices(), Connection(1), Connection(2)
    clients.heard("c", first)
    clients.heard("d", first)
    clients.heard("c", second)
    clients.taken_over(Subscriber("c", "G"), ONE)
    clients.taken_over(Subscriber("unknown", "G"), ONE)
    assert first.told == []
    (header,) = second.told
    assert (header.lite_topic, header.consumer_group, header.client_id) == ("one", "G", "c")


def test_a_closed_connection_is_forgotten_and_no_other() -> None:
    clients, first, second = UnsubscribeNotices(), Connection(1), Connection(2)
    clients.heard("c", first)
    clients.heard("d", second)
    clients.closed(first)
    clients.closed(first)
    for name in ("c", "d"):
        clients.taken_over(Subscriber(name, "G"), ONE)
    assert (first.told, len(second.told)) == ([], 1)
    clients.forget("d")
    clients.closed(second)
    clients.taken_over(Subscriber("d", "G"), ONE)
    assert len(second.told) == 1

"""Connected clients as tools want to see them."""

from collections.abc import Iterable

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.clients import Connection
from trimq.codec.codes import LanguageCode


def connections(clients: Iterable[Client]) -> list[Connection]:
    return [
        Connection(
            client_id=client.client_id,
            client_addr=client.peer.remote_addr,
            language=language_name(client.language),
            version=client.version,
        )
        for client in clients
    ]


def language_name(code: int) -> str | None:
    """LanguageCode.valueOf returns null for an unknown number."""
    try:
        return LanguageCode(code).name
    except ValueError:
        return None

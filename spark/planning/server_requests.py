"""Questions of the driver to many servers: connections are kept, many questions are under way on each.

A driver asks thousands of short questions. One after another they would mostly wait for the network,
so each server gets its questions in a row, and the servers are asked in parallel, each by its own
thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import PeerGone, TransportError
from trimq.spark.options.values import Connection

# Questions under way on one connection: few enough that all of them fit into the socket's buffer,
# since a server that waits for us to take its answers takes no questions.
_UNDER_WAY: Final = 128
_THREADS: Final = 32


@dataclass(frozen=True, slots=True)
class Question:
    """A request without its address."""

    code: RequestCode
    header: Header | None = None
    body: bytes = b""


class ServerRequests:
    """A connection to each server that was asked, until it breaks. For one thread at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._clients: dict[str, BlockingClient] = {}

    def ask(self, addr: str, questions: Sequence[Question]) -> list[RemotingCommand]:
        """The answers in order, whatever their codes; TransportError when one does not come."""
        kept = self._clients.get(addr)
        if kept is not None and not kept.closed:
            try:
                return self._converse(kept, questions)
            except PeerGone:
                # Servers end connections that were quiet for two minutes: that says nothing about
                # the servers.
                self._drop(addr)
            except TransportError:
                self._drop(addr)
                raise
        client = self._connection.client(addr)
        self._clients[addr] = client
        try:
            return self._converse(client, questions)
        except TransportError:
            self._drop(addr)
            raise

    def ask_all(
        self, questions: Mapping[str, Sequence[Question]]
    ) -> dict[str, list[RemotingCommand] | TransportError]:
        """What each server answers, or why it does not; they are asked in parallel."""

        def one(addr: str) -> list[RemotingCommand] | TransportError:
            try:
                return self.ask(addr, questions[addr])
            except TransportError as error:
                return error

        addrs = list(questions)
        if len(addrs) == 1:
            return {addrs[0]: one(addrs[0])}
        if not addrs:
            return {}
        with ThreadPoolExecutor(min(len(addrs), _THREADS)) as pool:
            return dict(zip(addrs, pool.map(one, addrs), strict=True))

    def close(self) -> None:
        """End every connection."""
        for addr in list(self._clients):
            self._drop(addr)

    def _drop(self, addr: str) -> None:
        client = self._clients.pop(addr, None)
        if client is not None:
            client.close()

    def _converse(
        self, client: BlockingClient, questions: Sequence[Question]
    ) -> list[RemotingCommand]:
        keys = self._connection.keys
        started: deque[int] = deque()
        answers: list[RemotingCommand] = []
        for one in questions:
            if len(started) == _UNDER_WAY:
                answers.append(client.finish(started.popleft()))
            header = one.header if keys is None else keys.signed(one.header, one.body)
            started.append(client.start(one.code, header, one.body))
        answers += [client.finish(opaque) for opaque in started]
        return answers


def answered(answers: list[RemotingCommand] | TransportError) -> list[RemotingCommand]:
    """What a server answered; its TransportError when it did not."""
    if isinstance(answers, TransportError):
        raise answers
    return answers

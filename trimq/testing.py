"""A server for the tests of any project that uses RocketMQ, from plain blocking code.

The server runs on a thread of this process, on free ports of the loopback; parallel test processes
have their own. Clients in any language can use its addresses.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import trio

from trimq.broker.config import BrokerConfig
from trimq.hand.child import Child
from trimq.hand.client import HandClient
from trimq.hand.client_faults import Faults
from trimq.hand.client_looks import Looks
from trimq.hand.client_process import ServerProcess
from trimq.hand.client_time import ServerTime
from trimq.hand.operation import HandError
from trimq.namesrv.config import NamesrvConfig
from trimq.replication.config import ReplicationConfig
from trimq.serving.server import open_server
from trimq.settings.former import by_key
from trimq.settings.options import ServerOptions
from trimq.settings.parsing import SettingsError, unknown_keys
from trimq.settings.process import ServerConfig
from trimq.settings.proxy_extra import check_extra
from trimq.settings.rocketmq import unheeded
from trimq.settings.tls import TlsConfig
from trimq.store.config import StoreConfig

if TYPE_CHECKING:
    from trimq.admin.messages.message import Message

_CONFIGS = (BrokerConfig, StoreConfig, ReplicationConfig, ServerConfig, TlsConfig, NamesrvConfig)


@dataclass(frozen=True, slots=True)
class TestServer:
    """Where a running test server is: ``namesrv_addr`` is what a client needs."""

    __test__ = False  # not a test class, whatever its name

    namesrv_addr: str
    broker_addr: str
    store: Path
    # Of one that is in the test's hand.
    hand_addr: str | None = None
    # Of one with a proxy beside it.
    grpc_addr: str | None = None

    @property
    def grpc_endpoint(self) -> str:
        """HOST:PORT for the 5.x clients. RuntimeError for a server without a proxy."""
        if self.grpc_addr is None:
            raise RuntimeError(
                "5.x clients are not served: start it with running_server(grpc=True), or let the fixture rocketmq_grpc"
                " of your conftest.py return True"
            )
        return self.grpc_addr

    @property
    def hand(self) -> HandClient:
        """Every operation of docs/hand.md by its name. HandError for a server that is in nobody's hand."""
        if self.hand_addr is None:
            raise HandError(
                "this server is in nobody's hand: start it with running_server(hand=True), or let the fixture"
                " rocketmq_in_hand of your conftest.py return True"
            )
        return HandClient(self.hand_addr)

    @property
    def time(self) -> ServerTime:
        """The server's clock: `time.advance("2h")`. HandError without a hand."""
        return ServerTime(self.hand)

    @property
    def faults(self) -> Faults:
        """What goes wrong: `faults.fail_next(sends=3, code="SYSTEM_BUSY")`. HandError without a hand."""
        return Faults(self.hand)

    @property
    def looks(self) -> Looks:
        """`looks.wait_for("Orders", 3)`, `looks.snapshot()`. HandError without a hand."""
        return Looks(self.hand)

    @property
    def process(self) -> ServerProcess:
        """`process.kill()` and `process.restart()`. HandError without a hand."""
        return ServerProcess(self.hand)

    def send(
        self, topic: str, body: bytes | str, *, tags: str | None = None, keys: str | None = None
    ) -> str:
        """Send one message and return its id; a topic that does not exist is created.

        Raises trimq.admin.AdminError when the broker refuses it.
        """
        from trimq.admin import BlockingAdminClient
        from trimq.admin.messages.sending import NewMessage

        data = body.encode() if isinstance(body, str) else body
        with BlockingAdminClient(self.namesrv_addr) as admin:
            return admin.send(NewMessage(topic=topic, body=data, tags=tags, keys=keys)).message_id

    def messages(self, topic: str) -> "list[Message]":
        """Every message of a topic, in the order in which they were stored; no group's offset moves."""
        from trimq.admin import BlockingAdminClient, NotFound

        found: list[Message] = []
        with BlockingAdminClient(self.namesrv_addr) as admin:
            try:
                places = admin.read_queues(topic)
            except NotFound:
                return []
            for place in places:
                pulled = admin.pull(place, 0)
                while pulled.messages:
                    found += pulled.messages
                    pulled = admin.pull(place, pulled.next_offset)
        return sorted(found, key=lambda message: message.physical_offset)


@contextmanager
def running_server(
    store: Path | str | None = None,
    settings: Mapping[str, object] | None = None,
    hand: bool = False,
    grpc: bool = False,
) -> Iterator[TestServer]:
    """A NameServer and a broker until the block ends.

    ``store`` is the data directory (default: a temporary folder that is removed afterwards),
    ``settings`` are ``broker.conf`` keys with texts, numbers or booleans; SettingsError for an
    unknown one. An error in the server is raised where the block ends. With ``hand`` it is a process of its own,
    and a test has its time, its faults and its life in hand (docs/hand.md). With ``grpc`` a proxy, another process,
    serves the 5.x clients at ``grpc_endpoint``; SettingsError where the extra ``trimq[grpc]`` is not installed.
    """
    if store is None:
        with (
            TemporaryDirectory(prefix="trimq-") as folder,
            running_server(folder, settings, hand, grpc) as it,
        ):
            yield it
        return
    if hand:
        with _child(Path(store), _texts(settings or {}), grpc) as it:
            yield it
        return
    thread = _ServerThread(Path(store), _texts(settings or {}), grpc)
    server = thread.start()
    try:
        yield server
    finally:
        thread.stop()


@contextmanager
def _child(store: Path, settings: Mapping[str, str], grpc: bool) -> Iterator[TestServer]:
    if grpc:
        check_extra()
    child = Child(store, settings, grpc)
    namesrv_addr, broker_addr, hand_addr, grpc_addr = child.start()
    try:
        yield TestServer(namesrv_addr, broker_addr, store, hand_addr, grpc_addr)
    finally:
        child.stop()


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    """As a file would say them. With a misspelt key the test would test something else."""
    known = unheeded().keys() | by_key().keys()
    for complaint in unknown_keys(dict.fromkeys(settings, ""), _CONFIGS, known):
        raise SettingsError(complaint.replace(" is ignored:", ":"))
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in settings.items()
    }


class _ServerThread:
    """One Trio loop on one thread: starts, says where it is, stops when told."""

    def __init__(self, store: Path, settings: Mapping[str, str], grpc: bool) -> None:
        self._options = ServerOptions(
            store=store,
            listen="127.0.0.1:0",
            namesrv_listen="127.0.0.1:0",
            settings=settings,
            grpc="127.0.0.1:0" if grpc else None,
            log_words=("--log-level", "warning"),
        )
        self._started: SimpleQueue[tuple[TestServer, trio.lowlevel.TrioToken] | None] = (
            SimpleQueue()
        )
        self._stop = trio.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="trimq-server", daemon=True)

    def start(self) -> TestServer:
        self._thread.start()
        started = self._started.get()
        if started is None:
            self._finish()
            raise RuntimeError("the server ended before it was ready")
        server, self._token = started
        return server

    def stop(self) -> None:
        if self._token is not None:
            # It may have ended by itself: _finish says why.
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._stop.set)
        self._finish()

    def _finish(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:
            self._error = error
        finally:
            self._started.put(None)

    async def _main(self) -> None:
        async with open_server(self._options) as running:
            server = TestServer(
                running.namesrv_addr,
                running.broker_addr,
                running.store,
                grpc_addr=running.grpc_addr,
            )
            self._started.put((server, trio.lowlevel.current_trio_token()))
            await self._stop.wait()

"""Ports that outlive a server: `trimq server` is given them, as by systemd, and restarted while clients connect."""

from __future__ import annotations

import socket
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.passed import command_with
from tests.patience import PATIENCE, until
from tests.requests import send_header_v2
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.blocking import BlockingClient
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import bind_broker, listen


class Ports:
    """What systemd keeps open: of a NameServer, a broker and its metrics."""

    def __init__(self, with_ha: bool = True) -> None:
        broker = bind_broker(Endpoint("127.0.0.1", 0))
        (main,), (vip,), (ha,) = broker.main, broker.vip, broker.ha
        if not with_ha:
            ha.close()
        more = [listen(Endpoint("127.0.0.1", 0)) for _ in range(2)]
        self.sockets = [*more, main, vip, *([ha] if with_ha else [])]
        self.namesrv, self.metrics, self.broker, self.vip = (
            f"127.0.0.1:{sock.getsockname()[1]}" for sock in self.sockets[:4]
        )

    def close(self) -> None:
        for sock in self.sockets:
            sock.close()


@pytest.fixture
def ports() -> Iterator[Ports]:
    made = Ports()
    yield made
    made.close()


class Server:
    def __init__(self, ports: Ports, root: Path, *more: str, **environ: str) -> None:
        numbers = [sock.fileno() for sock in ports.sockets]
        words = ["-m", "trimq", "server", "--store", str(root / "store"), "--listen", ports.broker]
        words += ["--namesrv-listen", ports.namesrv, "--metrics", ports.metrics, *more]
        self.log = root / "log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command_with(numbers, *words, **environ),
                pass_fds=numbers,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def ready(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        return line

    def stop(self) -> int:
        """The exit code; without a word, of one that has ended."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


def send(addr: str, body: bytes) -> int:
    with BlockingClient(addr, timeout=PATIENCE) as client:
        return client.request(RequestCode.SEND_MESSAGE_V2, send_header_v2("Passed"), body).code


class Callers:
    """Connect all the time, to each port in turn, and close again."""

    def __init__(self, ports: Ports) -> None:
        self.addresses = [sock.getsockname() for sock in ports.sockets]
        self.connected = 0
        self.failures: list[str] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        # The kernel's queue has room for all of them.
        while not self._end.wait(0.005):
            for address in self.addresses:
                try:
                    socket.create_connection(address, timeout=PATIENCE).close()
                except OSError as error:
                    self.failures.append(f"{address}: {error}")
                self.connected += 1

    def end(self) -> None:
        self._end.set()
        self._thread.join()


def test_a_restart_refuses_nobody(ports: Ports, tmp_path: Path) -> None:
    first = Server(ports, tmp_path)
    # Which of them is whose, the addresses say.
    assert f"namesrv={ports.namesrv} broker={ports.broker} " in first.ready()
    assert send(ports.broker, b"before") == 0
    callers = Callers(ports)
    waiting: list[int] = []
    clients: list[threading.Thread] = []
    try:
        until(lambda: callers.connected > 20)
        assert first.stop() == 0, first.log.read_text()
        # Nobody is there, and whoever comes now is answered by the next one.
        clients = [
            threading.Thread(target=lambda addr=addr: waiting.append(send(addr, b"between")))
            for addr in (ports.broker, ports.vip)
        ]
        for client in clients:
            client.start()
        seen = callers.connected
        until(lambda: callers.connected > seen + 20)
        second = Server(ports, tmp_path)
        second.ready()
        for client in clients:
            client.join()
        seen = callers.connected
        until(lambda: callers.connected > seen + 20)
    finally:
        callers.end()
    assert waiting == [0, 0]
    assert callers.failures == []
    with urllib.request.urlopen(f"http://{ports.metrics}/readyz", timeout=PATIENCE) as answer:
        assert answer.status == 200
    assert second.stop() == 0


def test_what_is_not_passed_is_opened(tmp_path: Path) -> None:
    ports = Ports(with_ha=False)
    try:
        server = Server(ports, tmp_path, LISTEN_FDNAMES="namesrv:metrics:broker:broker-vip")
        server.ready()
        slaves = ("127.0.0.1", int(ports.broker.partition(":")[2]) + 1)
        socket.create_connection(slaves, timeout=PATIENCE).close()
        assert server.stop() == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(slaves, timeout=PATIENCE)
    finally:
        ports.close()


def test_one_that_nobody_would_serve_ends_the_start(ports: Ports, tmp_path: Path) -> None:
    server = Server(ports, tmp_path, "--set", "haEnable=false")
    assert server.process.wait(PATIENCE) == 1
    server.stop()
    assert "where nothing would answer: this server listens on" in server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def test_a_wrong_setting_is_one_sentence_whoever_is_told(ports: Ports, tmp_path: Path) -> None:
    """A service manager does not try it again because of the exit code."""
    more = ("--set", "flushDiskType=NEVER")
    server = Server(ports, tmp_path, *more, NOTIFY_SOCKET="@trimq-test-nobody")
    assert server.process.wait(PATIENCE) == 2
    server.stop()
    assert "must be one of ASYNC_FLUSH, SYNC_FLUSH" in server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def test_several_brokers_take_those_of_the_first_process(ports: Ports, tmp_path: Path) -> None:
    for sock in ports.sockets[2:]:
        sock.close()
    del ports.sockets[2:]
    server = Server(ports, tmp_path, "--brokers", "1")
    assert f"namesrv={ports.namesrv} broker={ports.broker} " in server.ready()
    assert send(ports.broker, b"one") == 0
    assert server.stop() == 0, server.log.read_text()
    # The kernel still takes calls for the one, and for none of the other.
    socket.create_connection(ports.sockets[0].getsockname(), timeout=PATIENCE).close()
    broker = Endpoint.parse(ports.broker)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((broker.host, broker.port), timeout=PATIENCE)


def test_the_manager_is_told(ports: Ports, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.settimeout(PATIENCE)
        address = f"@trimq-test-notices-{ports.broker.partition(':')[2]}"
        notices.bind(address.replace("@", "\0"))
        server = Server(ports, tmp_path, NOTIFY_SOCKET=address, WATCHDOG_USEC="30000000")
        line = server.ready()
        told = []
        while not told or "READY=1" not in told[-1]:
            told.append(notices.recv(4096).decode().split("\n"))
        assert told[0][0].startswith("EXTEND_TIMEOUT_USEC=")
        assert told[-1][1] == f"STATUS={line.partition(' in ')[0]}"
        server.process.terminate()
        while "STOPPING=1" not in told[-1]:
            told.append(notices.recv(4096).decode().split("\n"))
        assert server.stop() == 0

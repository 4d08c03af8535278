"""A server with a proxy beside it: both are ready, the proxy comes back when it dies, and ends with the server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

import trimq
from tests.patience import PATIENCE, until
from trimq.serving.failures import ChildFailed, explained_plainly
from trimq.serving.own_proxy import OwnProxy, check_proxy
from trimq.serving.server import open_server
from trimq.settings.endpoints import AddressError, Endpoint
from trimq.settings.options import ServerOptions, server_plan
from trimq.settings.parsing import SettingsError
from trimq.settings.proxy_seat import ProxySeat
from trimq.testing import running_server

READY = re.compile(r"TriMQ ready: .* grpc=(127\.0\.0\.1:\d+) in \d+ ms\n")
SERVER = [sys.executable, "-m", "trimq", "server", "--log-level", "warning", "--grpc", "0"]
SERVER += ["--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0", "--store"]
# What an HTTP/2 client says first, and empty settings; a server answers with its own.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
SETTINGS = 4


@contextmanager
def started(store: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen([*SERVER, str(store)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = READY.fullmatch(process.stdout.readline())
            assert found is not None
            yield process, found[1]
        finally:
            process.kill()


def answers(addr: str) -> bool:
    """Whether HTTP/2 is spoken there."""
    host, port = addr.split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as sock:
        sock.sendall(PREFACE)
        return len(head := sock.recv(9)) > 3 and head[3] == SETTINGS


def refuses(addr: str) -> bool:
    try:
        answers(addr)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass
    return False


def proxy_of(pid: int) -> int | None:
    """The process that a server has beside it."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"\0proxy\0" in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except (OSError, ValueError):
            continue
    return None


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def test_a_signal_is_a_clean_end_of_both(tmp_path: Path) -> None:
    with started(tmp_path) as (process, addr):
        assert answers(addr)
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert refuses(addr)


def test_it_does_not_outlive_a_server_that_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as (process, addr):
        process.kill()
        process.wait(PATIENCE)
        until(lambda: refuses(addr))


@needs_proc
def test_one_that_dies_is_started_again_on_its_port(tmp_path: Path) -> None:
    with started(tmp_path) as (process, addr):
        first = proxy_of(process.pid)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        again = until(lambda: (pid := proxy_of(process.pid)) != first and pid)
        assert again
        until(lambda: answers(addr), excused=(OSError,))


async def test_a_program_has_one_beside_its_server(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path, grpc="127.0.0.1:0") as running:
        assert running.grpc_addr is not None
        assert answers(running.grpc_addr)
    assert refuses(running.grpc_addr)
    async with trimq.serve(tmp_path) as running:
        assert running.grpc_addr is None


async def test_its_port_is_looked_at_before_the_store(tmp_path: Path, autojump_clock: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        addr = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AddressError, match=r"is in use: .* with --grpc \(port 0"):
            async with trimq.serve(tmp_path, grpc=addr):
                pass
    assert not (tmp_path / "commitlog").exists()


async def test_one_whose_server_was_killed_may_still_leave(
    tmp_path: Path, autojump_clock: Any, nursery: Any
) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    seat = ProxySeat(Endpoint("127.0.0.1", taken.getsockname()[1]))
    plan = server_plan(ServerOptions(store=tmp_path))

    async def leave() -> None:
        await trio.sleep(1)
        taken.close()

    nursery.start_soon(leave)
    await check_proxy(plan, seat)
    assert trio.current_time() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot read .*rmq-proxy.json"),
        ("{", "cannot read .*rmq-proxy.json"),
        ('{"authenticationEnabled": true}', "TriMQ has no access control yet"),
        ('{"tlsCertPath": "/no/such.pem", "tlsKeyPath": "/no/such.key"}', "/no/such"),
    ],
)
async def test_its_file_is_read_before_the_store(
    tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "rmq-proxy.json"
    if text is not None:
        file.write_text(text)
    options = ServerOptions(store=tmp_path / "store", grpc="0", grpc_config=file)
    with pytest.raises(SettingsError, match=why):
        async with open_server(options):
            pass
    assert not (tmp_path / "store" / "commitlog").exists()


async def test_it_says_itself_why_it_does_not_start(tmp_path: Path) -> None:
    """Somebody was quicker after its server had looked."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        seat = ProxySeat(Endpoint("127.0.0.1", taken.getsockname()[1]))
        proxy = OwnProxy(seat, {})

        async def start() -> None:
            async with explained_plainly(), trio.open_nursery() as nursery:
                nursery.start_soon(proxy.run)
                await proxy.ready("127.0.0.1:1")

        with pytest.raises(ChildFailed, match=r"did not start: port \d+ on .* with --grpc "):
            await start()


@pytest.mark.parametrize("hand", [False, True])
def test_tests_have_its_address(hand: bool) -> None:
    with running_server(hand=hand, grpc=True) as server:
        assert answers(server.grpc_endpoint)
        if hand:
            server.process.restart()
            assert answers(server.grpc_endpoint)


def test_a_server_without_one_says_how_to_get_it() -> None:
    with (
        running_server() as server,
        pytest.raises(RuntimeError, match=r"running_server\(grpc=True"),
    ):
        server.grpc_endpoint  # noqa: B018

"""What clients are told comes from a file that is written after the start."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.patience import PATIENCE, until_in_trio
from tests.requests import send_header
from tests.trimq.serving.test_announced import forwarded, listed, routed
from trimq.admin import AdminClient, NewMessage
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.client import Client
from trimq.serving.server import RunningServer, open_server
from trimq.settings import advertise_file
from trimq.settings.options import ServerOptions


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change is seen at once."""
    monkeypatch.setattr(advertise_file, "_PAUSE", 0.01)


@asynccontextmanager
async def starting(
    tmp_path: Path, file: Path
) -> AsyncIterator[trio.MemoryReceiveChannel[RunningServer]]:
    """A server that starts; it is received when it is ready."""
    options = ServerOptions(
        store=tmp_path / "store",
        listen="127.0.0.1:0",
        namesrv_listen="127.0.0.1:0",
        advertise_file=file,
        settings={"brokerName": "b"},
    )
    send, receive = trio.open_memory_channel[RunningServer](1)

    async def run() -> None:
        async with open_server(options) as server:
            await send.send(server)
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        yield receive
        nursery.cancel_scope.cancel()


async def test_the_start_waits_for_it_and_changes_are_announced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "trimq.server")
    file = tmp_path / "address"

    def said(what: str) -> int:
        return sum(what in one.getMessage() for one in caplog.records)

    async with starting(tmp_path, file) as ready:
        await until_in_trio(lambda: said("waiting for the address"))
        for content, why in (
            ("nowhere", "'nowhere' is not an address: write HOST:PORT"),
            ("127.0.0.1:0", "'127.0.0.1:0' is of no use to clients: write HOST:PORT"),
            ("0.0.0.0:10911", "'0.0.0.0:10911' is of no use to clients: write HOST:PORT"),
        ):
            file.write_text(content)
            await until_in_trio(lambda why=why: said(why))
        file.unlink()
        file.write_text("\n")
        with pytest.raises(trio.WouldBlock):
            ready.receive_nowait()
        file.write_text("announced.example:32768\n")
        server = await ready.receive()
        assert server.broker_addr == "announced.example:32768"
        async with (
            Client.connect(server.namesrv_addr) as names,
            forwarded(f"127.0.0.1:{server.port}") as port,
        ):
            assert await listed(names) == {"b": "announced.example:32768"}
            assert said("--advertise-file") == 3
            file.write_text(f"127.0.0.1:{port}")
            await until_in_trio(lambda: said(f"told another address: address=127.0.0.1:{port}"))
            await _until_routed(names, f"127.0.0.1:{port}")
            async with AdminClient.connect(server.namesrv_addr) as admin:
                await admin.send(NewMessage(topic="T", body=b"through the forward"))
            file.unlink()
            file.write_text("0.0.0.0:1")
            await until_in_trio(lambda: said("'0.0.0.0:1'"))
            assert await routed(names) == {"b": f"127.0.0.1:{port}"}


async def _until_routed(names: Client, address: str) -> None:
    """The address in the route, which follows what the log says."""
    with trio.fail_after(PATIENCE):
        while await routed(names) != {"b": address}:
            await trio.lowlevel.checkpoint()


async def test_one_that_is_there_is_taken_at_once(tmp_path: Path) -> None:
    """And it is in the message ids, so that those who ask by one find their way."""
    file = tmp_path / "address"
    file.write_text("127.0.0.1:32768")
    async with starting(tmp_path, file) as ready:
        server = await ready.receive()
        async with (
            Client.connect(server.namesrv_addr) as names,
            Client.connect(f"127.0.0.1:{server.port}") as broker,
        ):
            assert await routed(names) == {"b": "127.0.0.1:32768"}
            header = send_header("T", queue_id=0)
            sent = await broker.request(RequestCode.SEND_MESSAGE, header, b"1")
        assert sent.ext_fields is not None
        assert sent.ext_fields["msgId"].startswith(f"7F000001{32768:08X}")


async def test_a_file_that_may_not_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder, which nobody can read as a file."""
    async with starting(tmp_path, tmp_path) as ready:
        await until_in_trio(lambda: "it cannot be read (Is a directory)" in caplog.text)
        with pytest.raises(trio.WouldBlock):
            ready.receive_nowait()

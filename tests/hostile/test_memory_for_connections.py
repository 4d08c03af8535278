"""A server of its own process with little memory: strangers cannot make it grow, and others are answered."""

import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from tests.requests import send_header
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.remoting.clients.client import Client

MIB = 1 << 20
BUDGET = 16 * MIB
# What the allocator keeps in pieces that are too small, and what is on its way for a moment.
SLACK = 24 * MIB
FRAME = 1 * MIB


class Child:
    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.pid = process.pid
        self.address = address

    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    words = ["-m", "trimq", "server", "--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0"]
    words += [
        "--store",
        str(tmp_path_factory.mktemp("child")),
        "--set",
        f"maxNetworkBytes={BUDGET}",
    ]
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"broker=(\S+)", process.stdout.readline())
        assert found is not None
        try:
            yield Child(process, found.group(1))
        finally:
            process.terminate()


async def test_unfinished_frames_do_not_fill_the_memory(child: Child) -> None:
    """150 frames of 1 MiB that all lack their last byte."""
    before = child.resident()
    host, _, port = child.address.rpartition(":")
    most = 0
    async with Client.connect(child.address) as bystander, trio.open_nursery() as nursery:
        begun: list[trio.SocketStream] = []

        async def begin() -> None:
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                with suppress(trio.BrokenResourceError):
                    await stream.send_all(struct.pack(">I", FRAME) + bytes(FRAME - 1))
                    begun.append(stream)
                    # Until it is given up; the others are held by the server.
                    await stream.receive_some()

        for _ in range(30):
            for _ in range(5):
                nursery.start_soon(begin)
            answer = await bystander.request(
                RequestCode.SEND_MESSAGE, send_header("T"), b"x" * 10_000, timeout=30
            )
            assert answer.code == 0
            most = max(most, child.resident())
        assert len(begun) > 2 * BUDGET // FRAME
        nursery.cancel_scope.cancel()
    assert most - before < BUDGET + SLACK


async def test_long_answers_that_are_not_read_do_not_fill_the_memory(child: Child) -> None:
    """30 connections ask for 2 MiB a hundred times each, and read nothing."""
    before = child.resident()
    host, _, port = child.address.rpartition(":")
    async with Client.connect(child.address) as bystander:
        body = b'{"topicConfigList":[{"topicName":"Wide","readQueueNums":16384,"writeQueueNums":16384}]}'
        code = RequestCode.UPDATE_AND_CREATE_TOPIC_LIST
        assert (await bystander.request(code, None, body, timeout=30)).code == 0
        frames = _frames(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "Wide"}, 100)
        streams = [await trio.open_tcp_stream(host, int(port)) for _ in range(30)]
        for stream in streams:
            await stream.send_all(frames)
        most = 0
        for _ in range(40):
            answer = await bystander.request(
                RequestCode.SEND_MESSAGE, send_header("T"), b"x", timeout=30
            )
            assert answer.code == 0
            most = max(most, child.resident())
            await trio.sleep(0.004)
        for stream in streams:
            await trio.aclose_forcefully(stream)
        assert (
            await bystander.request(RequestCode.SEND_MESSAGE, send_header("T"), b"x", timeout=30)
        ).code == 0
    assert most - before < BUDGET + SLACK


def _frames(code: int, fields: dict[str, str], count: int) -> bytes:
    return b"".join(
        encode_command(RemotingCommand(code, number, ext_fields=fields)) for number in range(count)
    )

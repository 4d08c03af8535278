"""How many requests a second the remoting layer alone can answer: an echo over loopback.

`python -m bench.remoting_echo [SECONDS]` prints requests per second and the server's processor time
per request, one request at a time and pipelined. The server is a process of its own.
"""

import os
import socket
import struct
import subprocess
import sys
import time
from typing import Final

import trio

from trimq.codec.frames.command import JSON, ROCKETMQ, RemotingCommand, encode_command
from trimq.remoting.contract import Processor, Request, Response
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server

CODE: Final = 310
FIELDS: Final = {
    "a": "bench_group", "b": "bench_topic", "c": "TBW102", "d": "4", "e": "0", "f": "0",
    "g": "1700000000000", "h": "0", "i": "UNIQ_KEY\x017F000001\x02WAIT\x01true\x02", "j": "0",
    "k": "false", "l": "0", "m": "false", "n": "broker-a",
}  # fmt: skip


class Echo(Processor[None]):
    codes = (CODE,)

    def handle(self, request: Request[None]) -> Response:
        return Response(body=request.body)


class Serve:
    """The server's side: one dispatcher, until standard input closes."""

    async def run(self) -> None:
        sock = socket.create_server(("127.0.0.1", 0))
        print(sock.getsockname()[1], flush=True)
        async with trio.open_nursery() as nursery:
            await nursery.start(Server(Dispatcher([Echo()])).serve, [sock])
            await trio.to_thread.run_sync(sys.stdin.read)
            nursery.cancel_scope.cancel()


def receive_frames(sock: socket.socket, count: int, rest: bytes) -> bytes:
    """Skip so many frames; what was received beyond them."""
    at = 0
    data = rest
    while count:
        while len(data) - at >= 4:
            end = at + 4 + struct.unpack_from(">I", data, at)[0]
            if end > len(data):
                break
            at = end
            count -= 1
        if count:
            data = data[at:] + sock.recv(262144)
            at = 0
    return data[at:]


def drive(port: int, coding: int, window: int, size: int, seconds: float) -> int:
    """Keep `window` requests under way on one connection; how many were answered."""
    frames = b"".join(
        encode_command(RemotingCommand(CODE, n, 0, None, FIELDS, b"x" * size, coding))
        for n in range(window)
    )
    done = 0
    rest = b""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            sock.sendall(frames)
            rest = receive_frames(sock, window, rest)
            done += window
    return done


def measure(coding: int, window: int, size: int, seconds: float) -> str:
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.remoting_echo", "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    port = int(server.stdout.readline())
    drive(port, coding, window, size, 0.2)
    before = _cpu_seconds(server.pid)
    done = drive(port, coding, window, size, seconds)
    used = _cpu_seconds(server.pid) - before
    server.stdin.close()
    server.wait()
    server.stdout.close()
    name = "JSON" if coding == JSON else "ROCKETMQ"
    return (
        f"{name:9} window {window:4} body {size:5}: {done / seconds:8.0f} requests/s,"
        f" {used / done * 1e6:6.1f} us of processor time each"
    )


def _cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: list[str]) -> None:
    if arguments == ["--serve"]:
        trio.run(Serve().run)
        return
    seconds = float(arguments[0]) if arguments else 3.0
    for coding in (JSON, ROCKETMQ):
        for window in (1, 16, 64, 256):
            print(measure(coding, window, 128, seconds), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

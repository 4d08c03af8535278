"""Servers that start at once: forked from a process that has loaded their modules and done nothing else.

A test that kills a server a thousand times spends most of its time on loading modules otherwise. What is forked is
`trimq server`, with its own arguments, output and log.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).parents[3]
_MOST: Final = 1 << 16
_EXIT_FAILED: Final = 70


class Forge:
    """Asks the process for one server after the other: each question and each answer is a line of JSON."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def start(self, arguments: Sequence[str], log: IO[bytes]) -> "Forged":
        reading, writing = os.pipe()
        try:
            socket.send_fds(self._link, [_line(list(arguments))], [writing, log.fileno()])
        finally:
            os.close(writing)
        return Forged(self, self._answer(), os.fdopen(reading, "rb"))

    def wait(self, pid: int) -> int:
        """Until it is gone; how it ended, as `os.waitpid` says."""
        self._link.sendall(_line(pid))
        return self._answer()

    def _answer(self) -> int:
        return int(json.loads(_read(self._link)[0]))


class Forged:
    """A server that was started, as far as tests need it: like `subprocess.Popen`."""

    def __init__(self, forge: Forge, pid: int, stdout: IO[bytes]) -> None:
        self._forge = forge
        self.pid = pid
        self.stdout = stdout
        self.status: int | None = None

    def kill(self) -> None:
        """With -9. Until it is waited for, its number is nobody else's."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Until it is gone; how it ended, as `os.waitpid` says."""
        if self.status is None:
            self.status = self._forge.wait(self.pid)
        return self.status


@contextmanager
def forging() -> Iterator[Forge]:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.trimq.serving.forge", str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT)
    try:
        with ours:
            yield Forge(ours)
    finally:
        # It ends when nobody is left to ask.
        process.wait()


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _read(link: socket.socket) -> tuple[bytes, list[int]]:
    """A line, and what was sent with it; empty when the other end is closed."""
    text, fds = b"", list[int]()
    while not text.endswith(b"\n"):
        more, with_it, _, _ = socket.recv_fds(link, _MOST, 2)
        if not more:
            return b"", []
        text += more
        fds += with_it
    return text, fds


def _serve(link: socket.socket) -> None:
    """Forks a server for a list of arguments, and waits for one for a number, until the other end is closed: then
    those that are left are killed.
    """
    running: set[int] = set()
    while True:
        text, fds = _read(link)
        if not text:
            break
        asked = json.loads(text)
        if isinstance(asked, int):
            answer = os.waitpid(asked, 0)[1]
            running.discard(asked)
        else:
            answer = os.fork()
            if not answer:
                link.close()
                _become(asked, *fds)
            running.add(answer)
            for fd in fds:
                os.close(fd)
        link.sendall(_line(answer))
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _become(arguments: list[str], output: int, log: int) -> None:
    """Never returns."""
    from trimq.commands.cli import main

    os.dup2(output, 1)
    os.dup2(log, 2)
    os.close(output)
    os.close(log)
    try:
        main(args=arguments, prog_name="trimq")
    finally:
        os._exit(_EXIT_FAILED)


def _load() -> None:
    """All that a server needs, so that what is forked finds it there."""
    from trimq.commands import cli  # noqa: F401
    from trimq.serving import server  # noqa: F401
    from trimq.settings import options, parsing  # noqa: F401


if __name__ == "__main__":
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))

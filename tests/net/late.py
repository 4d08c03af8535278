"""A cable that holds back what goes through it: two TAP devices, and a thread that passes their frames on in time.

Netem would do it in the kernel, and many kernels are built without that.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import threading
import time
from collections import deque
from typing import Final

_TUN: Final = "/dev/net/tun"
_SET_NAME: Final = 0x400454CA
# Whole frames, and nothing in front of them.
_TAP: Final = 0x0002 | 0x1000
_FRAME: Final = 2048
_AT_ONCE: Final = 64


class Late:
    """Two ends, opened one after the other by whoever is in the namespace where it is to be; then started."""

    def __init__(self) -> None:
        # Seconds, each way.
        self.delay = 0.0
        self._ends: list[int] = []
        self._wake, self._ring = os.pipe()
        self._thread = threading.Thread(target=self._pass, daemon=True)

    def open(self, name: str) -> None:
        end = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
        self._ends.append(end)
        fcntl.ioctl(end, _SET_NAME, struct.pack("16sH22x", name.encode(), _TAP))

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """The devices go with it."""
        os.close(self._ring)
        if self._thread.ident is not None:
            self._thread.join()
        for fd in (*self._ends, self._wake):
            os.close(fd)

    def _pass(self) -> None:
        held: deque[tuple[float, int, bytes]] = deque()
        first, second = self._ends
        others = {first: second, second: first}
        while True:
            wait = max(held[0][0] - time.monotonic(), 0) if held else None
            ready, _, _ = select.select([first, second, self._wake], [], [], wait)
            if self._wake in ready:
                return
            for end in ready:
                # A frame never overtakes another one, when the delay has become shorter.
                due = time.monotonic() + self.delay
                due = max(due, held[-1][0]) if held else due
                held.extend((due, others[end], frame) for frame in _frames(end))
            while held and held[0][0] <= time.monotonic():
                _, end, frame = held.popleft()
                _write(end, frame)


def _frames(end: int) -> list[bytes]:
    frames = []
    try:
        while len(frames) < _AT_ONCE:
            frames.append(os.read(end, _FRAME))
    except BlockingIOError:
        pass
    return frames


def _write(end: int, frame: bytes) -> None:
    try:
        os.write(end, frame)
    except OSError as error:
        # As on a cable: what finds no room, or a device that is down, is lost.
        if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.EIO):
            raise

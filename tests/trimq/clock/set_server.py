"""`python -m tests.trimq.clock.set_server CLOCK STORE KEY=VALUE ...`: a server whose clock is set by a file.

CLOCK has eight bytes, little endian: by how many milliseconds. A file of zeros is this machine's time.
"""

import mmap
import struct
import sys
from pathlib import Path

import trio

from trimq.base.clock import Clock
from trimq.serving.ready_line import broker_line
from trimq.serving.server import open_server
from trimq.settings.options import ServerOptions

_MILLIS = struct.Struct("<q")


class FileClock(Clock):
    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._set_by = mmap.mmap(file.fileno(), _MILLIS.size, access=mmap.ACCESS_READ)
        super().__init__()

    def millis(self) -> int:
        [by] = _MILLIS.unpack(self._set_by[:])
        return super().millis() + int(by)


def set_clock(path: Path, by: int) -> None:
    """Of a server that runs or is to be started, by so many milliseconds."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(_MILLIS.pack(by))


async def main(clock: Path, store: Path, texts: list[str]) -> None:
    settings = dict(text.split("=", 1) for text in texts)
    options = ServerOptions(
        store=store, listen="127.0.0.1:0", namesrv_listen="127.0.0.1:0", settings=settings
    )
    async with open_server(options, FileClock(clock)) as running:
        print(broker_line(running.namesrv_addr, running.broker_addr, running.store), flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])

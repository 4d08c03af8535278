"""The one line of standard output, which means ready: where clients find what was started."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

Ready = Callable[[str], None]
"""Takes the line when there is somebody to serve."""

_STARTED: Final = time.monotonic()


def broker_line(namesrv: str, brokers: str, store: Path) -> str:
    """`brokers`: one address, or several with commas between them."""
    return f"TriMQ ready: namesrv={namesrv} broker={brokers} store={store}"


def namesrv_line(address: str) -> str:
    return f"TriMQ ready: namesrv={address}"


def print_ready(line: str) -> None:
    """With the time since the process began."""
    print(f"{line} in {int((time.monotonic() - _STARTED) * 1000)} ms", flush=True)

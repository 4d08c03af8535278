"""What is compared: the real broker, and TriMQ with its hot modules compiled or as plain Python."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from compat_tests.ours import TrimqServer
from compat_tests.real import JvmLauncher, RealServer
from compat_tests.server import Options

ROOT: Final = Path(__file__).resolve().parents[1]
# Where `make bench` has compiled a copy of the tree.
COMPILED: Final = ROOT / "build" / "compiled"
REAL, OURS, PURE = "real", "compiled", "pure"
KINDS: Final = (REAL, OURS, PURE)
# What RocketMQ's users are told to give a small broker; the tests' heap would cost it collections.
REAL_HEAP: Final = ("-Xms2g", "-Xmx2g", "-XX:MaxDirectMemorySize=2g")
Subject = RealServer | TrimqServer


def make(kind: str, home: Path, settings: dict[str, str] | None = None) -> Subject:
    """A server that is not started yet, with RocketMQ's own defaults but for its ports and folders."""
    options = Options(settings=settings or {})
    if kind == REAL:
        return RealServer(JvmLauncher(), home, options, heap=REAL_HEAP)
    if kind == PURE:
        return TrimqServer(home, options)
    if not list(COMPILED.glob("codec/frame*.so")):
        raise SystemExit(
            f"nothing compiled in {COMPILED}: run it by make, or 'make compiled' first"
        )
    return TrimqServer(home, options, tree=COMPILED)


@contextmanager
def started(kind: str, home: Path, settings: dict[str, str] | None = None) -> Iterator[Subject]:
    """A running server with an empty store, removed at the end."""
    server = make(kind, home, settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
        # The next one must not wait for this one's pages.
        time.sleep(1)


def store_of(server: Subject) -> Path:
    return server.broker.store if isinstance(server, RealServer) else server.store


def order(number: int, kinds: tuple[str, ...] = KINDS) -> tuple[str, ...]:
    """The kinds in turn: whoever comes later finds a warmer machine, so the order changes."""
    turn = number % len(kinds)
    return kinds[turn:] + kinds[:turn]

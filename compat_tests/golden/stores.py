"""What a stopped broker of the real RocketMQ leaves behind, kept as golden files."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from compat_tests.servers import containers, real
from compat_tests.servers.processes import HOST
from compat_tests.servers.server import Options
from compat_tests.wire.link import Link


def record(
    text: str,
    default_out: Path,
    settings: Mapping[str, str],
    traffic: Callable[[Link], None],
    keep: Callable[[Path, Path], None],
) -> None:
    """The command line of a recorder: `text` says what it does, `keep` takes the store and where its files go."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--out", type=Path, default=default_out)
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        broker = real.RealBroker(
            containers.launcher(), home, f"{HOST}:1", Options(settings=settings)
        )
        broker.start()
        try:
            link = Link(broker.addr)
            traffic(link)
            link.close()
        finally:
            broker.stop()
        keep(broker.store, out)
    print(f"{len(list(out.iterdir()))} files in {out}")

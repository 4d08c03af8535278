"""Runs a driver behind a proxy: ``python -m compat_tests.scenarios.behind_proxy [--ours] FOLDER WORD...``.

It is the official one, or TriMQ's.

The words are the driver's command, with the NameServer's address behind ``--namesrv``. The proxy is started before that
NameServer and stopped at the end; ``@grpc`` and ``@remoting`` in the words become its two addresses. A scenario that
makes a file ``restart-proxy`` in FOLDER gets a new proxy on the same ports; then the file is gone.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from compat_tests.servers.our_proxy import OurProxy
from compat_tests.servers.proxy import Proxy, end_with_parent


def main() -> int:
    given = sys.argv[1:]
    kind: type[Proxy | OurProxy] = Proxy
    if given[0] == "--ours":
        kind = OurProxy
        del given[0]
    folder, words = Path(given[0]), given[1:]
    signal.signal(signal.SIGTERM, _leave)
    proxy = kind(folder / "proxy", words[words.index("--namesrv") + 1]).start()
    try:
        places = {"@grpc": proxy.grpc, "@remoting": proxy.remoting}
        for mark, place in places.items():
            words = [word.replace(mark, place) for word in words]
        return _run(words, proxy, folder / "restart-proxy")
    finally:
        proxy.stop()


def _run(words: list[str], proxy: Proxy | OurProxy, wanted: Path) -> int:
    with subprocess.Popen(words, preexec_fn=end_with_parent) as driver:  # noqa: PLW1509 - no thread runs here
        try:
            while driver.poll() is None:
                if wanted.exists():
                    proxy.stop()
                    proxy.start()
                    wanted.unlink()
                time.sleep(0.05)
        finally:
            driver.kill()
        return driver.returncode


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())

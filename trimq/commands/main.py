"""The entry point of the ``trimq`` command."""

import os
import signal
import sys


def ended_by_sigterm() -> None:
    """Also as the first process of a container, for which the kernel drops signals that nobody handles.

    A server has its own way to end as soon as it is loaded; until then there is nothing to put in order. Whoever has
    started this may have blocked the signal until now.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))


def main() -> None:
    if sys.platform == "win32":
        sys.exit("TriMQ runs on Linux and macOS; on Windows, run it in WSL")
    ended_by_sigterm()
    try:
        from trimq.commands.cli import main as run

        run()
    except KeyboardInterrupt:
        # While modules were still being loaded.
        sys.exit(130)

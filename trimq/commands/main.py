"""The entry point of the ``trimq`` command."""

import sys


def main() -> None:
    if sys.platform == "win32":
        sys.exit("TriMQ runs on Linux and macOS; on Windows, run it in WSL")
    try:
        from trimq.commands.cli import main as run

        run()
    except KeyboardInterrupt:
        # While modules were still being loaded.
        sys.exit(130)

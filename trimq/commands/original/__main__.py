"""``python -m trimq.commands.original NAME ...``: see `commands`."""

import sys

from trimq.commands.main import ended_by_sigterm
from trimq.commands.original.commands import run

if __name__ == "__main__":
    ended_by_sigterm()
    sys.exit(run(sys.argv[1:]))

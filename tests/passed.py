"""Starting a program with sockets from descriptor 3 on, as systemd does.

`python -c GIVING JSON WORDS...` becomes `python WORDS...`. JSON: the numbers of the sockets here, and variables of the
environment; ``LISTEN_FDS`` and ``LISTEN_PID`` are set unless they are among them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Final

GIVING: Final = """
import fcntl, json, os, sys
numbers, environ = json.loads(sys.argv[1])
# Out of the way of each other first.
high = [fcntl.fcntl(number, fcntl.F_DUPFD, 100) for number in numbers]
for at, number in enumerate(high):
    os.dup2(number, 3 + at, inheritable=True)
    os.close(number)
for number in numbers:
    if number >= 3 + len(high):
        os.close(number)
os.environ.update({"LISTEN_FDS": str(len(high)), "LISTEN_PID": str(os.getpid()), **environ})
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def command_with(numbers: Sequence[int], *words: str, **environ: str) -> list[str]:
    """To be started with these descriptors (`pass_fds`); `words`: of Python."""
    return [sys.executable, "-c", GIVING, json.dumps([[*numbers], environ]), *words]

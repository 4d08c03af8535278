"""`mqadmin` on a terminal of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "trimq.mqadmin", *words]


def terminal(
    words: Sequence[str], environment: Mapping[str, str], with_errors: bool = True
) -> tuple[int, str]:
    """The exit code of a command, and what its terminal shows."""
    terminal, slave = os.openpty()
    process = subprocess.Popen(
        command(*words),
        stdout=slave,
        stderr=slave if with_errors else subprocess.DEVNULL,
        env=environment,
    )
    os.close(slave)
    shown = b""
    # The terminal is gone with the process: reading it fails then.
    with suppress(OSError):
        while data := os.read(terminal, 1 << 16):
            shown += data
    os.close(terminal)
    return process.wait(), shown.decode()

"""Parts beside each other, as programs of their own: in a smoke run most of them wait, for reports and for servers."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

BESIDE: Final = 2
_LOOK_SECONDS: Final = 0.1


def run_all(commands: dict[str, Sequence[str]]) -> list[str]:
    """Run the command of every part; the parts that failed.

    The output of each is printed in one piece when it has ended. Whoever still runs when this is left early is
    ended, and has removed its servers then.
    """
    waiting = deque(commands)
    running: dict[str, subprocess.Popen[str]] = {}
    failed = []
    with ExitStack() as stack:
        outputs = {
            name: stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
            for name in commands
        }
        try:
            while waiting or running:
                while waiting and len(running) < BESIDE:
                    name = waiting.popleft()
                    running[name] = subprocess.Popen(
                        commands[name], stdout=outputs[name], stderr=subprocess.STDOUT, text=True
                    )
                time.sleep(_LOOK_SECONDS)
                for name in [name for name, one in running.items() if one.poll() is not None]:
                    if running.pop(name).returncode:
                        failed.append(name)
                    outputs[name].seek(0)
                    print(outputs[name].read(), flush=True)
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.wait()
    return failed

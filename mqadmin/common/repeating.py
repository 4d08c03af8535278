"""Commands that run until somebody ends them."""

import time
from collections.abc import Callable
from typing import Final

ENDLESS: Final = 0


def repeat(action: Callable[[], None], seconds: float, rounds: int = ENDLESS) -> None:
    """Do it at this interval in seconds, `rounds` times or until Ctrl-C, which is the usual end here."""
    done = 0
    try:
        while True:
            action()
            done += 1
            if done == rounds:
                return
            time.sleep(seconds)
    except KeyboardInterrupt:
        return

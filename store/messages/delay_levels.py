"""How long each delay level is, by the text of `messageDelayLevel`."""

import re
from typing import Final

DEFAULT_DELAY_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_WORD: Final = re.compile(r"([0-9]{1,9})([smhd])")


def parse_delay_levels(text: str) -> tuple[int, ...]:
    """``messageDelayLevel`` in milliseconds, level 1 first; ValueError names the word that is wrong.

    A word is a whole number with a unit: s, m, h or d (ScheduleMessageService.parseDelayLevel). The
    real broker refuses to start when it cannot read one.
    """
    levels = []
    for word in text.split():
        match = _WORD.fullmatch(word)
        if match is None:
            raise ValueError(
                f"'{word}' is not a delay: each level is a whole number followed by s, m, h or d, "
                f"for example '{DEFAULT_DELAY_LEVELS}'"
            )
        levels.append(int(match[1]) * _UNITS[match[2]])
    if not levels:
        raise ValueError(f"at least one level is needed, for example '{DEFAULT_DELAY_LEVELS}'")
    return tuple(levels)


DELAY_LEVELS: Final = parse_delay_levels(DEFAULT_DELAY_LEVELS)

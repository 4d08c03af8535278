"""Settings that TriMQ has had, and what has taken their place.

A setting of RocketMQ's stays. One of TriMQ's own goes away in two steps: the first release without it still reads it,
says so in its log, and takes the value over if that means something; in the release after that the key is unknown, and
its row here goes. So whoever reads the log after each upgrade is never surprised. A setting of the release before that
is neither declared nor here fails compat_tests/releases/test_settings.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class Former:
    """One key that is gone.

    `gone`: the first release without it. `instead`: the key that its value counts for now, if there is one; `taken`
    makes the value of that key. `why`: what has changed, as the end of a sentence.
    """

    key: str
    gone: str
    why: str
    instead: str | None = None
    taken: Callable[[str], str] = str

    def sentence(self, text: str, *, is_given: bool) -> str:
        """For the log. `is_given`: the key in its place has a value of its own."""
        shown = text.strip()[:_SHOWN_CHARACTERS]
        known = f"{self.key} is known until the release after {self.gone}"
        if self.instead is None:
            return f"{self.key}={shown}: has no effect, {self.why}; remove it ({known})"
        if is_given:
            return (
                f"{self.key}={shown}: has no effect, {self.why}, and {self.instead} is given as well;"
                f" remove {self.key} ({known})"
            )
        value = self.taken(text).strip()[:_SHOWN_CHARACTERS]
        return f"{self.key}={shown}: {self.why}; write {self.instead}={value} instead, which is in force ({known})"


# What the newest release does not have, and the one before it had.
FORMER: Final[tuple[Former, ...]] = ()


def by_key() -> dict[str, Former]:
    return {one.key: one for one in FORMER}


def current(texts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Settings of one place by the names that they have now, and a sentence for each that was called otherwise."""
    former = by_key()
    found = {key: text for key, text in texts.items() if key not in former}
    said = []
    for key in texts.keys() & former.keys():
        one = former[key]
        is_given = one.instead in texts
        said.append(one.sentence(texts[key], is_given=is_given))
        if one.instead is not None and not is_given:
            found[one.instead] = one.taken(texts[key])
    return found, sorted(said)

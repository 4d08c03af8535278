"""How one store is written, and what is asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from compat_tests.store.recorded.asking import Asking, Entry
from compat_tests.store.recorded.author import Author

# Nothing that depends on when a store is opened: what is pending is due in ten years, halves are not asked about, no
# file grows old.
TIMELESS: Final = {
    "messageDelayLevel": "1s 3650d 1s",
    "transactionCheckInterval": "86400000",
    "transactionOpBatchInterval": "100",
    "fileReservedTime": "100000",
    "autoCreateTopicEnable": "false",
}
# So that there are several files of each kind.
SMALL: Final = {
    "mappedFileSizeCommitLog": str(32 * 1024),
    "mappedFileSizeConsumeQueue": str(20 * 25),
    "maxHashSlotNum": "101",
    "maxIndexNum": "200",
}


def nothing(_: Author, __: Asking) -> None:
    """Of a store in which other things are looked at."""


@dataclass(frozen=True)
class Recipe:
    """The real broker's settings, what is written, how it ends, what it is asked when it runs again."""

    name: str
    settings: dict[str, str]
    write: Callable[[Author], None]
    ask: Callable[[Author, Asking], None]
    # After the questions: what is written into the store that was opened again.
    go_on: Callable[[Author, Asking], None] = nothing
    # What comes to consumers of that store by itself, and how much of it.
    arrivals: tuple[tuple[Entry, int], ...] = ()
    kill: bool = False
    # The broker that writes has an address of IPv6, and so have its clients.
    ipv6: bool = False

    @property
    def file(self) -> str:
        """Of its record, without a suffix."""
        return self.name.replace(",", "").replace(" ", "-")


def texts(number: int) -> dict[str, str]:
    """Tags, keys and properties of users."""
    found = {
        "UNIQ_KEY": f"U{number:04d}",
        "KEYS": f"k{number} tens{number // 10}",
        "TAGS": f"Tag{number % 3}",
        "WAIT": "true",
        "shop": f"Zürich №{number} 商店",
    }
    # Some with a key only, and one with nothing at all.
    return {"UNIQ_KEY": found["UNIQ_KEY"]} if number % 13 == 5 else found if number else {}

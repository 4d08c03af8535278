"""What the stories of all languages share."""

from __future__ import annotations

from typing import Final

# Small files, so that retention takes some of them away; and messages can be taken back.
SETTINGS: Final = {"mappedFileSizeCommitLog": "65536", "recallMessageEnable": "true"}
# In Java and in Go; pytest knows those of Python by names of its own.
NAMES: Final = (
    "orderPaidAfterTwoHours",
    "sixteenRetriesThenDeadLetter",
    "transactionAskedThreeTimes",
    "anotherTakesOverFromASlowOne",
    "sendTimedOutButStored",
    "brokerRestartsAmongOrderedMessages",
    "fullDiskThenRoom",
    "timerRecalled",
    "popRenewedForAnHour",
    "retentionEatsWhatWasNotRead",
)

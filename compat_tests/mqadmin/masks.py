"""What differs between two runs of one mqadmin command, and what takes its place.

Columns keep their width: a placeholder is as wide as what it stands for, so that a table which is
one blank narrower still differs. Only for addresses, whose width follows the port's, are the blanks
behind them part of the pattern.
"""

from __future__ import annotations

import re
from typing import Final, Protocol


class Addressed(Protocol):
    """Whose addresses are masked: a server, or what stands for one."""

    @property
    def namesrv_addr(self) -> str: ...

    @property
    def broker_addr(self) -> str: ...


# (pattern, what takes its place, why it may differ), applied in this order.
MASKS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"{broker_hex}[0-9A-F]{{16}}", "<offset-id>", "broker address and position in the log"),
    (r"{broker}", "<broker>", "the broker listens on a free port of five digits"),
    (r"{namesrv}", "<namesrv>", "the NameServer listens on a free port of five digits"),
    (r"127\.0\.0\.1:\d{{4,5}}( *)", "<peer>", "a client's end of a connection"),
    (r"\b[0-9A-F]{{32}}(?:[0-9A-F]{{24}})?\b", "<unique-id>", "host, process, time, counter"),
    (
        r"(Member|Maker|Mover|Split|PRODUCE|CONSUME)-\d+\b( *)",
        r"\1-<n>",
        "the stage's clients are numbered",
    ),
    (r"spentTimeMills=\d+", "spentTimeMills=<n>", "how long the consumer took"),
    (r"Consume TPS: \d+\.\d\d", "Consume TPS: <n>", "a rate over the last minute"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d\d\d", "<time>", "when it was stored"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", "<seconds>", "when it was stored"),
    (r"\b1[6-9]\d{{11}}\b", "<millis>", "wall-clock milliseconds"),
    (r"CommitLog Offset:    \d+", "CommitLog Offset:    <n>", "depends on all other traffic"),
    (r"commitLogOffset=\d+", "commitLogOffset=<n>", "depends on all other traffic"),
    (r"storeSize=\d+", "storeSize=<n>", "ids of clients with an IPv6 address are longer"),
    (r"<unique-id>@\d+( *)", "<unique-id>@<n>", "depends on all other traffic"),
)


def mask(text: str, server: Addressed) -> str:
    """The text with everything replaced that belongs to this run alone."""
    host, port = server.broker_addr.rsplit(":", 1)
    values = {
        "broker": re.escape(server.broker_addr) + r"\b",
        "broker_hex": "".join(f"{int(part):02X}" for part in host.split(".")) + f"{int(port):08X}",
        "namesrv": re.escape(server.namesrv_addr) + r"\b",
    }
    for pattern, replacement, _ in MASKS:
        text = re.sub(pattern.format(**values), replacement, text)
    return text

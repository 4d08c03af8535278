"""All that can be asked about what a broker has, and of its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trimq.hand.looks import consuming, halves, sending, snapshots, timers
from trimq.hand.operation import Operation

if TYPE_CHECKING:
    from trimq.hand.hand import Hand


def looks_operations(hand: Hand) -> list[Operation[Any]]:
    return [
        *sending.operations(hand),
        *consuming.operations(hand),
        *timers.operations(hand),
        *halves.operations(hand),
        *snapshots.operations(hand),
    ]

"""What can be asked of a server's faults."""

from __future__ import annotations

from typing import Any

from trimq.hand.faults.faults import Faults
from trimq.hand.faults.words import (
    Away,
    Back,
    Drop,
    Fail,
    FailNext,
    FullDisk,
    LoseAnswer,
    Numbered,
    Slow,
    Split,
)
from trimq.hand.operation import Nothing, Operation


def fault_operations(faults: Faults) -> list[Operation[Any]]:
    """For the hand."""
    return [*_of_requests(faults), *_of_ways(faults), *_of_disk(faults), *_of_all(faults)]


def _of_requests(faults: Faults) -> list[Operation[Any]]:
    return [
        Operation(
            "faults/fail_next",
            FailNext,
            faults.fail_next,
            "The next so many requests are answered with this code, and not done unless the code says so.",
        ),
        Operation(
            "faults/fail",
            Fail,
            faults.fail,
            "Requests are answered with this code until the fault is taken away, or so many times.",
        ),
        Operation(
            "faults/slow",
            Slow,
            faults.slow,
            "Requests are done at once, and their answers come so much later, in real time.",
        ),
        Operation(
            "faults/lose_answer",
            LoseAnswer,
            faults.lose_answer,
            "Requests are done, and their answers are lost.",
        ),
        Operation(
            "faults/list",
            Nothing,
            faults.listed,
            "All faults for requests, and how often they hit.",
        ),
        Operation("faults/remove", Numbered, faults.remove, "Take away the fault of this number."),
    ]


def _of_ways(faults: Faults) -> list[Operation[Any]]:
    return [
        Operation(
            "faults/drop_connections",
            Drop,
            faults.drop_connections,
            "Close the connections of a client, or all; how many it were.",
        ),
        Operation(
            "faults/away",
            Away,
            faults.away,
            "The ports of the broker, or its own NameServer, refuse connections; those that are open are closed.",
        ),
        Operation("faults/back", Back, faults.back, "Who was away is there again."),
        Operation(
            "faults/split",
            Split,
            faults.split,
            "The broker does not reach its NameServers, or one of them; which.",
        ),
        Operation(
            "faults/heal",
            Nothing,
            faults.heal,
            "It reaches them again; returns when it is registered.",
        ),
    ]


def _of_disk(faults: Faults) -> list[Operation[Any]]:
    return [
        Operation(
            "faults/full_disk",
            FullDisk,
            faults.full_disk,
            "The store's disk is full, at once or after so many bytes (ENOSPC).",
        ),
        Operation(
            "faults/read_only",
            Nothing,
            faults.read_only,
            "The store's disk may not be written (EROFS).",
        ),
        Operation(
            "faults/mend_disk", Nothing, faults.mend_disk, "The disk has room, and may be written."
        ),
    ]


def _of_all(faults: Faults) -> list[Operation[Any]]:
    return [
        Operation("faults/state", Nothing, faults.state, "Everything that is wrong now."),
        Operation(
            "faults/clear",
            Nothing,
            faults.clear,
            "Nothing is wrong any more: requests, ways, disk.",
        ),
    ]

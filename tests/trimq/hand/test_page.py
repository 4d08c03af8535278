"""docs/hand.md names every operation, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

from trimq.hand.hand import Hand
from trimq.hand.process import Process
from trimq.settings.endpoints import Endpoint

PAGE = Path(__file__).parents[3] / "docs" / "hand.md"


def test_every_operation_is_on_the_page() -> None:
    hand = Hand()
    process = Process(hand, "127.0.0.1:1", Endpoint("127.0.0.1", 1), None, [])
    hand.add(process.operations)
    named = re.findall(r"\b((?:time|faults|looks|store|server)/[a-z_]+)", PAGE.read_text())
    assert set(named) == set(hand.operations)


def test_every_operation_has_a_sentence() -> None:
    for path, one in Hand().operations.items():
        assert one.doc.endswith("."), path
        assert path == one.path

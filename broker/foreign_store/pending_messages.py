"""All kinds of pending messages, and what is reported about those that a store has."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from trimq.broker.foreign_store.half_messages import HALVES
from trimq.broker.foreign_store.report import MessagesPending
from trimq.store.message_store import MessageStore

log: Final = logging.getLogger("trimq.server")

KINDS: Final = (HALVES,)


def pending(store: MessageStore) -> list[str]:
    """How many an open store has of each kind, in words. Blocks."""
    found = [(kind, kind.count(store)) for kind in KINDS]
    return [kind.said(one) for kind, one in found if one.count]


def refuse_pending(store: MessageStore, root: Path, leave: bool) -> None:
    """Raise MessagesPending when the store has any; warns instead if they are to be left. Blocks."""
    found = pending(store)
    if not found:
        return
    listed = ", ".join(found)
    if leave:
        log.warning(
            "another broker's pending messages are left where they are, and deleted with their files"
            " (leavePendingMessages=true): found=%s",
            listed,
        )
        return
    raise MessagesPending(
        f"{root} has what TriMQ cannot handle yet: {listed}. Run the broker that wrote it until "
        "nothing is left, or leave them: with --set leavePendingMessages=true they stay "
        "where they are, nobody"
        " gets them, and they are deleted with their files"
    )

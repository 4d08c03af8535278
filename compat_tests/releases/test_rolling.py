"""Three brokers are replaced one after the other, by the newest and back, while official clients send and consume.

Each takes no more messages before it stops, as docs/restarting.md says. No message is lost, and no client tells its
application of an error.
"""

from __future__ import annotations

from pathlib import Path

from compat_tests.releases.rolling import WAYS, play

# Of each client; it has sent ten times as many.
MESSAGES = 1000
SHOWN = 20


def test_no_message_and_no_error(tmp_path: Path) -> None:
    for client, cost in play("trimq", WAYS["writes-end-first"], tmp_path).items():
        assert cost.sent > MESSAGES
        assert cost.unanswered == 0
        assert cost.lines == [], "\n".join([f"{client}: {len(cost.lines)}", *cost.lines[:SHOWN]])

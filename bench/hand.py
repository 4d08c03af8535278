"""How long a snapshot, its restoring and a reset take: ``python -m bench.hand [--store DIR]``.

A server in the hand of a test (docs/hand.md), as a process of its own, with --messages in its store, every tenth of
them for later. What is printed are medians and the slowest of ten, in milliseconds, as the server says them.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Final

from bench.pages.figures import markdown
from trimq.admin import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.testing import TestServer, running_server

TOPICS: Final = ("Orders", "Payments", "Mail", "Later")
BODY: Final = b"x" * 256


def fill(server: TestServer, count: int) -> None:
    """So many messages in a few topics, some of which wait for their time."""
    with BlockingAdminClient(server.namesrv_addr) as admin:
        for number in range(count):
            later = (
                {}
                if number % 10
                else {"DELAY": "18"}
                if number % 20
                else {"TIMER_DELAY_SEC": "900"}
            )
            topic = TOPICS[number % len(TOPICS)]
            admin.send(NewMessage(topic=topic, body=BODY, properties=later))


def measured(server: TestServer, rounds: int, count: int) -> dict[str, list[float]]:
    """Milliseconds of each operation, round by round."""
    found: dict[str, list[float]] = {"snapshot": [], "restore": [], "reset": []}
    fill(server, count)
    for _ in range(rounds):
        found["snapshot"].append(_took(server, "store/snapshot", name="bench"))
        # Something is otherwise then.
        fill(server, 10)
        found["restore"].append(_took(server, "store/restore", name="bench"))
    for _ in range(rounds):
        found["reset"].append(_took(server, "store/reset"))
        fill(server, 10)
    return found


def _took(server: TestServer, path: str, **words: str) -> float:
    return float(server.hand.call(path, **words)["took_millis"])


def table(found: dict[str, list[float]]) -> str:
    rows = [
        [name, f"{statistics.median(took):.0f}", f"{sorted(took)[int(len(took) * 0.9)]:.0f}"]
        for name, took in found.items()
    ]
    return markdown(["ms", "median", "the slowest of ten"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.hand",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=30, help="of each operation (30)")
    parser.add_argument("--messages", type=int, default=200, help="in the store (200)")
    parser.add_argument("--store", type=Path, help="a folder on the disk that is meant")
    words = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="trimq-hand-", dir=words.store) as folder,
        running_server(folder, hand=True) as server,
    ):
        print(table(measured(server, words.rounds, words.messages)))


if __name__ == "__main__":
    main()

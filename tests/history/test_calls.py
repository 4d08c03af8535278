"""A journal is read back as it was noted, whoever appended to it."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

from tests.history import calls

Q = calls.Place("broker-a", "Tópic", 3)
DONE = ("C", "h:1", calls.Role.SLAVE, 0.25, 1.5, calls.Outcome.DONE, 0, Q)
BEGUN = ("P", "h:1", calls.Role.MASTER, 0.25, math.inf, calls.Outcome.UNKNOWN, 0, Q)
SEND = calls.Send(*BEGUN, ("a-1", "a-2"), (calls.digest_of(b"one"), calls.digest_of(b"two")), None)
NOTED: list[calls.Noted] = [
    calls.Pull(*DONE, "g", 7, (calls.Entry(7, "a-1", 5), calls.Entry(8, "a-2", 6))),
    calls.Commit(*DONE, "g", 9),
    calls.Query(*DONE, "g", None),
    calls.Mark(calls.Change.ROLE, "broker-a", 1.0, 2.0),
]
# Appends sends to a file until it is told to end.
APPENDING = """
import sys
from pathlib import Path
from tests.history.calls import Journal
from tests.history.test_calls import numbered
journal = Journal(Path(sys.argv[1]))
for number in range(500):
    journal.note(numbered(sys.argv[2], number))
"""


def numbered(name: str, number: int) -> calls.Send:
    return replace(SEND, client=name, attempts=(f"{name}-{number}",), digests=(number,))


def test_everything_comes_back(tmp_path: Path) -> None:
    journal = calls.Journal(tmp_path / "journal")
    journal.note(*NOTED)
    journal.note(SEND)
    journal.close()
    history = calls.read_journal(tmp_path / "journal")
    assert [*history.pulls, *history.commits, *history.queries, *history.marks] == NOTED
    assert history.sends == [SEND]
    assert len(history) == 4


def test_a_send_has_the_outcome_that_was_noted_last(tmp_path: Path) -> None:
    journal = calls.Journal(tmp_path / "journal")
    done = replace(SEND, end=2.0, outcome=calls.Outcome.DONE, offset=4)
    journal.note(SEND, numbered("b", 1))
    journal.note(done)
    assert journal.read().sends == [done, numbered("b", 1)]
    journal.close()


def test_threads_and_processes_append(tmp_path: Path) -> None:
    journal = calls.Journal(tmp_path / "journal")

    def append(name: str) -> None:
        for number in range(500):
            journal.note(numbered(name, number))

    command = [sys.executable, "-c", APPENDING, str(journal.path)]
    root = Path(__file__).parents[2]
    others = [subprocess.Popen([*command, name], cwd=root) for name in ("c", "d")]
    threads = [threading.Thread(target=append, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait() for other in others] == [0, 0]
    history: calls.History = journal.read()
    journal.close()
    for name in "abcd":
        mine = [send.attempts[0] for send in history.sends if send.client == name]
        assert mine == [f"{name}-{number}" for number in range(500)]

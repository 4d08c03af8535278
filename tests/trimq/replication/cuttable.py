"""`trimq` whose log can be cut while it runs, as a broker does that finds itself to be master no more:
``CUT=FILE python -m tests.trimq.replication.cuttable server ...``.

At SIGUSR1 the log ends at the offset that FILE holds; then FILE is gone, and FILE.done says where it ends now.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from compat_tests.mutants.catalogue import MUTANTS
from trimq.commands.main import main
from trimq.store.message_store import MessageStore
from trimq.wiring import broker as broker_wiring
from trimq.wiring.part import Part

PROGRAM: Final = "tests.trimq.replication.cuttable"
ASKED: Final = signal.SIGUSR1


async def _cut_when_asked(store: MessageStore, asked: Path) -> None:
    with trio.open_signal_receiver(ASKED) as signals:
        async for _ in signals:
            _cut(store, asked)


def _cut(store: MessageStore, asked: Path) -> None:
    report = store.cut(int(asked.read_text()))
    asked.unlink()
    done_of(asked).write_text(f"{report.end}\n")


def done_of(asked: Path) -> Path:
    return asked.with_name(asked.name + ".done")


def _make_cuttable(asked: Path) -> None:
    parts = broker_wiring.broker_parts

    def with_cuts(given: Any, common: Any) -> list[Part]:
        cut = partial(_cut_when_asked, given.store, asked)
        return [*parts(given, common), Part(name="cuts", services={"cut when asked": cut})]

    broker_wiring.broker_parts = with_cuts


if __name__ == "__main__":
    if name := os.environ.get("MUTANT"):
        next(mutant for mutant in MUTANTS if mutant.name == name).patch()
    _make_cuttable(Path(os.environ["CUT"]))
    main()

"""What drivers saw on the real server, kept: the real 5.5.0 does not change, and most of a run is waiting for it.

``records/DRIVER-BATCH.json`` holds the normalised outcomes of a batch and the fingerprint of everything that
they depend on: the server's version and settings, the driver's sources, how it is started and how outcomes are
normalised. A record with another fingerprint does not count. Every day another tenth of the batches is played
on the real server all the same, and a record that differs from a live run fails.

``make compat-live`` plays everything live, ``make compat-record`` writes the records.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat_tests import artifacts
from compat_tests.driver import Driver, Outcome
from compat_tests.normalise import normalise
from compat_tests.scenarios import Batch
from compat_tests.server import COMMON_SETTINGS, Server

FOLDER: Final = artifacts.HERE / "records"
# Decide what an outcome looks like, whatever the driver.
SHARED: Final = ("driver.py", "normalise.py")
PARTS: Final = 10


@dataclass(frozen=True)
class Seen:
    """An outcome without what belongs to its run; ``error`` is a scenario that could not end."""

    outcome: Any
    error: str | None = None

    @classmethod
    def of(cls, outcome: Outcome, server: Server) -> Seen:
        return cls(normalise(outcome, server), outcome.error)


def fingerprint(driver: Driver, batch: Batch, settings: Mapping[str, str]) -> str:
    """Changes when anything changes that the real server's outcomes depend on."""
    digest = hashlib.sha256()
    merged = {**COMMON_SETTINGS, **settings}
    about = [artifacts.SERVER, driver.name, repr(batch), json.dumps(merged, sort_keys=True)]
    digest.update("\0".join(about).encode())
    for file in (*driver.sources(), *(artifacts.HERE / name for name in SHARED)):
        digest.update(b"\0" + file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class Records:
    """The records of one session of tests."""

    def __init__(self, *, live: bool, writing: bool, folder: Path = FOLDER) -> None:
        """`live`: nothing is taken from a record. `writing`: what is seen live becomes the record."""
        self._live = live or writing
        self._writing = writing
        self._folder = folder
        # By name of the batch; kept to be written at the end.
        self._fresh: dict[str, tuple[str, dict[str, Seen]]] = {}

    def find(self, driver: Driver, batch: Batch, settings: Mapping[str, str]) -> dict[str, Seen]:
        """What was seen of each scenario; none without a record that counts, or when it is written anew."""
        file = self._folder / f"{_name(driver, batch)}.json"
        if self._writing or not file.exists():
            return {}
        record = json.loads(file.read_bytes())
        if record["fingerprint"] != fingerprint(driver, batch, settings):
            return {}
        return {name: Seen(outcome) for name, outcome in record["outcomes"].items()}

    def is_due(self, driver: Driver, batch: Batch, today: datetime.date | None = None) -> bool:
        """Whether the batch is played live although there is a record."""
        day = (today or datetime.date.today()).toordinal()
        return self._live or (zlib.crc32(_name(driver, batch).encode()) + day) % PARTS == 0

    def keep(
        self, driver: Driver, batch: Batch, settings: Mapping[str, str], seen: Mapping[str, Seen]
    ) -> None:
        """Outcomes of the real server that a check has found good."""
        mark = fingerprint(driver, batch, settings)
        self._fresh.setdefault(_name(driver, batch), (mark, {}))[1].update(seen)

    def write(self) -> None:
        if not self._writing:
            return
        self._folder.mkdir(exist_ok=True)
        for name, (mark, seen) in self._fresh.items():
            outcomes = {scenario: seen[scenario].outcome for scenario in sorted(seen)}
            text = json.dumps({"fingerprint": mark, "outcomes": outcomes}, sort_keys=True)
            (self._folder / f"{name}.json").write_text(text + "\n")


def _name(driver: Driver, batch: Batch) -> str:
    return f"{driver.name}-{batch.name}"

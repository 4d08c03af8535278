"""What the records of scenarios are of: all scenarios of a batch that one driver plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from compat_tests.comparing.records import Subject, settings_text
from compat_tests.scenarios.batches import Batch
from compat_tests.scenarios.driver import Driver
from compat_tests.servers import artifacts

# Decide what an outcome looks like, whatever the driver.
SHARED: Final = ("scenarios/driver.py", "comparing/normalise.py")


def subject(driver: Driver, batch: Batch, settings: Mapping[str, str]) -> Subject:
    shared = (artifacts.TESTS / name for name in SHARED)
    return Subject(
        f"scenarios/{driver.name}-{batch.name}",
        (driver.name, repr(batch), settings_text(settings)),
        (*driver.sources(), *shared),
    )

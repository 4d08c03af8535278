"""SQL92 with the official clients, where the broker allows it: the real server and TriMQ must agree."""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.driver import Driver
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import GoSubject, JavaSubject
from compat_tests.servers import artifacts

SUBJECT: Final = "filters"
ALLOWED: Final = Batch("filters", servers="filters")
KILLED: Final = Batch("filters_kill9", servers="filters", how="kill9")
JAVA: Final = (
    "filters_retry",
    "filters_push",
    "filters_changed",
    "filters_members",
    "filters_lite",
    "filters_pull",
    "filters_refused",
)
GO: Final = ("filters_push", "filters_unreadable")
KILLED_UNDER: Final = ("restart_filters",)


def _cases() -> list[Case]:
    clients = (artifacts.CLIENT_5, artifacts.CLIENT_4)
    java: list[Driver] = [JavaSubject(client, subject=SUBJECT) for client in clients]
    go = GoSubject(subject=SUBJECT)
    cases = [Case(driver, ALLOWED, scenario) for driver in java for scenario in JAVA]
    cases += [Case(go, ALLOWED, scenario) for scenario in GO]
    return cases + [
        Case(driver, KILLED, scenario) for driver in (*java, go) for scenario in KILLED_UNDER
    ]


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

"""The official push consumer in POP mode: the real server and TriMQ must agree."""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import JavaSubject
from compat_tests.servers import artifacts

CLIENT: Final = JavaSubject(artifacts.CLIENT_5, subject="pop")
POPS: Final = Batch("pop")
CASES: Final = [
    Case(CLIENT, POPS, scenario)
    for scenario in ("pop_consumed", "pop_tags", "pop_again", "pop_two")
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

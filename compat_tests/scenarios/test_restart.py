"""Clients and data through a clean restart and through kill -9 of the server."""

from __future__ import annotations

import pytest

from compat_tests.scenarios.batches import JAVA_RESTART, KILL9, RESTART, Case, cases
from compat_tests.scenarios.stage import Stage


@pytest.mark.parametrize(
    "case", cases(RESTART, *JAVA_RESTART) + cases(KILL9, *JAVA_RESTART), ids=str
)
def test_same_outcome_through_a_restart(stage: Stage, case: Case) -> None:
    stage.check(case)

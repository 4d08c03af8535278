"""Every scenario of the Java driver, with the 5.5.0 and the 4.9.8 client: real server and TriMQ must agree."""

from __future__ import annotations

import pytest

from compat_tests.scenarios.batches import (
    JAVA_5_MAIN,
    JAVA_MAIN,
    JAVA_READONLY,
    JAVA_STRICT,
    MAIN,
    READONLY,
    STRICT,
    Case,
    cases,
)
from compat_tests.scenarios.driver import JAVA_5
from compat_tests.scenarios.stage import Stage

CASES = (
    cases(MAIN, *JAVA_MAIN)
    + cases(MAIN, *JAVA_5_MAIN, drivers=(JAVA_5,))
    + cases(STRICT, *JAVA_STRICT)
    + cases(READONLY, *JAVA_READONLY)
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

"""The same over TLS, with clients that verify the server's certificate."""

from __future__ import annotations

import pytest

from compat_tests.scenarios import JAVA_TLS, TLS, Case, cases
from compat_tests.stage import Stage


@pytest.mark.parametrize("case", cases(TLS, *JAVA_TLS), ids=str)
def test_same_outcome_over_tls(stage: Stage, case: Case) -> None:
    stage.check(case)

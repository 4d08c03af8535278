"""Helm, where it is here or can be built; elsewhere what needs it says why it is skipped."""

from __future__ import annotations

import pytest

from compat_tests.releases.charts import NoHelm, helm


@pytest.fixture(scope="session")
def with_helm() -> str:
    try:
        return helm()
    except NoHelm as error:
        pytest.skip(str(error))

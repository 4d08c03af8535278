"""Without root, iproute2, nftables or a kernel that makes the networks, the tests here are skipped and say why."""

from __future__ import annotations

import pytest

from tests.net.spaces import why_not


@pytest.fixture(autouse=True, scope="session")
def _networks() -> None:
    if reason := why_not():
        pytest.skip(reason)

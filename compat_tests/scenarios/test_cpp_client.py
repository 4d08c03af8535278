"""The C++ client against TriMQ: its heartbeats have numbers where Java's have names."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from compat_tests.scenarios import cpp_client
from compat_tests.servers.artifacts import cache_root
from trimq.testing import running_server


@pytest.fixture(scope="module")
def package() -> Path:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("the C++ client's wheel is for Linux on x86_64")
    try:
        return cpp_client.fetch(cache_root())
    except RuntimeError as error:
        pytest.skip(f"the C++ client's wheel cannot be had: {error}")


def test_it_sends_and_consumes_what_it_subscribed(package: Path, tmp_path: Path) -> None:
    with running_server(tmp_path / "store") as server:
        seen = cpp_client.play(package, server.namesrv_addr, "CppTopic", tmp_path)
    assert seen["sent"] == 3 * cpp_client.EACH
    assert seen["got"] == sorted(f"{tag}{n}" for tag in "AB" for n in range(cpp_client.EACH))

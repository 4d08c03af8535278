"""The pytest fixtures that come with TriMQ.

``rocketmq_server``: a NameServer and a broker on free ports for the whole test run, data in a temporary
folder. ``fresh_rocketmq_server``: the same, new for each test. Both have ``namesrv_addr``,
``broker_addr`` and ``store``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trimq.testing import TestServer


@pytest.fixture(scope="session")
def rocketmq_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[TestServer]":
    """A RocketMQ-compatible server shared by all tests of this process: use topics of your own."""
    from trimq.testing import running_server

    with running_server(store=tmp_path_factory.mktemp("trimq")) as server:
        yield server


@pytest.fixture
def fresh_rocketmq_server(tmp_path: Path) -> "Iterator[TestServer]":
    """An empty RocketMQ-compatible server for one test."""
    from trimq.testing import running_server

    with running_server(store=tmp_path / "trimq") as server:
        yield server

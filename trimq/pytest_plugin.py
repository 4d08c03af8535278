"""The pytest fixtures that come with TriMQ.

``rocketmq_server``: a NameServer and a broker on free ports for the whole test run, data in a temporary
folder. ``fresh_rocketmq_server``: the same, new for each test. Both have ``namesrv_addr``,
``broker_addr`` and ``store``, and ``send`` and ``messages`` for tests in Python. Both are started with
what ``rocketmq_settings`` returns, which a conftest.py may override, and are in the hand of the tests, with ``time``
and faults, where ``rocketmq_in_hand`` returns True. Where ``rocketmq_grpc`` returns True, they serve the 5.x clients,
too, at ``grpc_endpoint``. Their log is in pytest's report of a test that fails.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trimq.testing import TestServer


@pytest.fixture(scope="session")
def rocketmq_settings() -> Mapping[str, object]:
    """``broker.conf`` keys and values for the servers of these fixtures: override it."""
    return {}


@pytest.fixture(scope="session")
def rocketmq_in_hand() -> bool:
    """Whether tests move these servers' time, and make them fail: override it."""
    return False


@pytest.fixture(scope="session")
def rocketmq_grpc() -> bool:
    """Whether these servers serve the 5.x clients, too: override it. Needs the extra ``trimq[grpc]``."""
    return False


@pytest.fixture(scope="session")
def rocketmq_server(
    tmp_path_factory: pytest.TempPathFactory,
    rocketmq_settings: Mapping[str, object],
    rocketmq_in_hand: bool,
    rocketmq_grpc: bool,
) -> "Iterator[TestServer]":
    """A RocketMQ-compatible server shared by all tests of this process: use topics of your own."""
    store = tmp_path_factory.mktemp("trimq")
    with _running(store, rocketmq_settings, rocketmq_in_hand, rocketmq_grpc) as server:
        yield server


@pytest.fixture
def fresh_rocketmq_server(
    tmp_path: Path,
    rocketmq_settings: Mapping[str, object],
    rocketmq_in_hand: bool,
    rocketmq_grpc: bool,
) -> "Iterator[TestServer]":
    """An empty RocketMQ-compatible server for one test."""
    with _running(tmp_path / "trimq", rocketmq_settings, rocketmq_in_hand, rocketmq_grpc) as server:
        yield server


@contextmanager
def _running(
    store: Path, settings: Mapping[str, object], in_hand: bool, grpc: bool
) -> "Iterator[TestServer]":
    # A run that does not use the server loads nothing of it.
    from trimq.testing import running_server

    log = logging.getLogger("trimq")
    before = log.level
    if before == logging.NOTSET:
        # Otherwise the report would have warnings only.
        log.setLevel(logging.INFO)
    try:
        with running_server(store, settings, in_hand, grpc) as server:
            yield server
    finally:
        log.setLevel(before)

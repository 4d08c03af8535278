"""Short by default; `--soak` looks further: more examples, more rounds, other seeds each time."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from trimq import compiled

# Fixtures of the store's tests make a folder of their own for each example.
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=QUIET,
)
settings.register_profile("wide", max_examples=3000, deadline=None, suppress_health_check=QUIET)

SOAK_TIMES = 50


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="crash, fuzz and property tests for long")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell lets its jobs in the background ignore it, and what they start inherits that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("wide" if config.getoption("--soak") else "same")


def pytest_report_header() -> str:
    return f"TriMQ's hot modules: {compiled.MODE}"


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> int:
    """How many times as long crash and fuzz tests run: 1, or many under --soak."""
    return SOAK_TIMES if request.config.getoption("--soak") else 1


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder that costs no disk, where the system has one: tests that write thousands of files."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(prefix="trimq-", dir=memory) as folder:
        yield Path(folder)

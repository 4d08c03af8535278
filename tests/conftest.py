"""Short by default; `--soak` looks further: more examples, more rounds, other seeds each time."""

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio.testing
import trustme
from hypothesis import HealthCheck, settings

from tests.run.meter import Meter
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
MEMORY_BYTES = 1 << 30
FEW_KILLS = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="crash, fuzz and property tests for long")
    parser.addoption("--fuzz-seed", type=int, help="play the frames of this seed alone")
    parser.addoption(
        "--server-kills",
        type=int,
        help="how often a server is killed in a test of it",
    )
    parser.addoption("--kill-seed", type=int, help="what such a test does is drawn from this")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell lets its jobs in the background ignore it, and what they start inherits that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(Meter())
    settings.load_profile("wide" if config.getoption("--soak") else "same")


def pytest_report_header() -> str:
    return f"TriMQ's hot modules: {compiled.MODE}"


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> int:
    """How many times as long crash and fuzz tests run: 1, or many under --soak."""
    return SOAK_TIMES if request.config.getoption("--soak") else 1


@dataclass(frozen=True)
class Kills:
    """How often a test of the whole server kills it with -9, and what it draws from (`random.Random`)."""

    count: int
    seed: int


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> Kills:
    """Few and always the same, or as many and as others as is asked for (make soak-kills)."""
    option = request.config.getoption
    count, seed = option("--server-kills"), option("--kill-seed")
    if seed is None:
        seed = 1 if count is None else random.randrange(1 << 30)
    return Kills(FEW_KILLS if count is None else count, seed)


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Virtual time runs on while a thread works, so work is done where it is asked for.

    By a patch of its own: tests undo theirs in the middle, and from there on threads would outrun the clock, and work
    on a store that was killed.
    """

    async def run(act: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return act(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio.to_thread, "run_sync", run)
        yield


@pytest.fixture
def patient_clock() -> trio.testing.MockClock:
    """For peers behind sockets: it stands still while anybody works, and jumps when nothing has come for a moment."""
    return trio.testing.MockClock(autojump_threshold=0.01)


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder that costs no disk, where the system has one: tests that write thousands of files."""
    memory = Path("/dev/shm")
    # Containers have 64 MB there by default, and tests that run side by side share them.
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < MEMORY_BYTES:
        yield tmp_path
        return
    with TemporaryDirectory(prefix="trimq-", dir=memory) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of an authority, and of a server's and a client's certificate for 127.0.0.1."""

    authority: str
    server: str
    server_key: str
    client: str
    client_key: str

    @property
    def strict(self) -> dict[str, str]:
        """Settings of a server that takes nothing but TLS, and nobody without a certificate."""
        return {
            "tls.server.mode": "enforcing",
            "tls.server.certPath": self.server,
            "tls.server.keyPath": self.server_key,
            "tls.server.need.client.auth": "require",
            "tls.server.trustCertPath": self.authority,
            "tls.client.certPath": self.client,
            "tls.client.keyPath": self.client_key,
            "tls.client.trustCertPath": self.authority,
        }


@pytest.fixture(scope="session")
def tls_files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name in ("server", "client"):
        issued = authority.issue_cert("127.0.0.1", "localhost")
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    names = ("ca.pem", "server.pem", "server.key", "client.pem", "client.key")
    return TlsFiles(*(str(folder / name) for name in names))


@pytest.fixture(autouse=True, scope="session")
def _environment_of_nobody() -> Iterator[None]:
    """What a developer has exported for RocketMQ's tools decides nothing in tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NAMESRV_ADDR", "ROCKETMQ_ZONE", "ROCKETMQ_ZONE_MODE"):
            patch.delenv(name, raising=False)
        yield

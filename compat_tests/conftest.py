"""Sessions of the compatibility tests: one real RocketMQ and one TriMQ, started once, shared by all.

``--subject=real`` compares the real server with itself: whatever differs then is a scenario's own chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.comparing.records import Records
from compat_tests.installs.plain_debian import SUITES
from compat_tests.scenarios.batches import Case
from compat_tests.scenarios.stage import Stage
from compat_tests.servers.containers import launcher
from compat_tests.servers.jvm import Launcher, prefer_short_lived
from compat_tests.servers.ours import builds
from compat_tests.servers.server import Server
from compat_tests.servers.versions import REFERENCE

_LAUNCHER = pytest.StashKey[Launcher]()
_STAGE = pytest.StashKey[Stage]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--subject",
        choices=("trimq", "pure", "compiled", "real"),
        default="trimq",
        help="what is compared with the real server: trimq in every build there is, one of them, or the real "
        "server's own second run",
    )
    parser.addoption(
        "--live",
        action="store_true",
        help="play everything on the real server, whatever is recorded",
    )
    parser.addoption(
        "--record",
        action="store_true",
        help="play everything live and record what the real server did",
    )
    parser.addoption(
        "--recorded",
        action="store_true",
        help="nothing is played on the real server, what is recorded counts: needs neither Java nor the real one",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=2,
        help="how often Spark's queries are killed (make soak-spark: 40)",
    )
    parser.addoption(
        "--broker-kills",
        type=int,
        default=3,
        help="how often each broker is killed under Spark's jobs (make soak-spark: 50)",
    )
    parser.addoption(
        "--order-seconds",
        type=int,
        default=60,
        help="for how long orderly consumers join and leave (make soak: 900)",
    )
    parser.addoption(
        "--plain-debian",
        action="append",
        choices=SUITES,
        default=[],
        help="play a newcomer's first minutes on a Debian of this suite, for twelve minutes (make soak: on each)",
    )
    parser.addoption(
        "--sql-questions",
        type=int,
        default=500,
        help="how many random expressions are compared with RocketMQ's own classes (make soak: 20000)",
    )


def pytest_configure() -> None:
    prefer_short_lived()


def _launcher(config: pytest.Config) -> Launcher:
    if _LAUNCHER not in config.stash:
        config.stash[_LAUNCHER] = launcher()
    return config.stash[_LAUNCHER]


def pytest_report_header(config: pytest.Config) -> str:
    subject = ", ".join(_builds(config)) or "the real one itself"
    if config.getoption("--recorded"):
        return f"what the real RocketMQ {REFERENCE} has shown, by compat_tests/records; compared with it: {subject}"
    return (
        f"real RocketMQ {REFERENCE}: {_launcher(config).description}; compared with it: {subject}"
    )


def _builds(config: pytest.Config) -> dict[str, Path]:
    subject = config.getoption("--subject")
    found = builds()
    if subject == "real":
        return {}
    if subject == "trimq":
        return found
    if subject not in found:
        raise pytest.UsageError("nothing is compiled: run 'make tree' first")
    return {subject: found[subject]}


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    again = config.stash[_STAGE].again if _STAGE in config.stash else []
    terminalreporter.section(f"{len(again)} scenarios and cases were played again, alone")
    for case, why in again:
        terminalreporter.write_line(f"{case}: {' | '.join(why.splitlines()[:4])}"[:400])


@pytest.fixture(scope="session")
def launch(request: pytest.FixtureRequest) -> Launcher:
    """How the real one is started on this machine."""
    return _launcher(request.config)


@pytest.fixture(scope="session")
def stage(
    request: pytest.FixtureRequest, launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Pairs of servers and what drivers saw on them; batches hold the selected cases only."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    cases = [case for case in (p.get("case") for p in params) if isinstance(case, Case)]
    folder = tmp_path_factory.mktemp("compat")
    records = Records(
        live=request.config.getoption("--live") or request.config.getoption("--subject") == "real",
        writing=request.config.getoption("--record"),
        only=request.config.getoption("--recorded"),
    )
    made = Stage(launch, folder, cases, _builds(request.config), records)
    request.config.stash[_STAGE] = made
    yield made
    made.close()


@pytest.fixture(scope="session")
def real(stage: Stage) -> Server:
    """The real NameServer and broker with the settings that all tests share."""
    return stage.group("plain").real


@pytest.fixture(scope="session")
def ours(stage: Stage) -> dict[str, Server]:
    """TriMQ with the same settings, by build."""
    return stage.group("plain").ours

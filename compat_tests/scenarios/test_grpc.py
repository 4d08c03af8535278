"""RocketMQ 5's own clients behind the official proxy: before the real broker and before TriMQ, with equal outcomes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import JavaSubject
from compat_tests.servers import artifacts
from compat_tests.servers.server import Tls


@dataclass(frozen=True)
class BehindProxy(JavaSubject):
    """Driver and proxy end together: it is asked to, and not killed. `whose`: words that name another proxy."""

    whose: tuple[str, ...] = ()

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        module = "compat_tests.scenarios.behind_proxy"
        wrapped = [sys.executable, "-m", module, *self.whose, str(folder)]
        return [*wrapped, *super().command(folder, tls)]


CLIENT: Final = BehindProxy(
    artifacts.CLIENT_5,
    parallel=8,
    subject="grpc",
    properties=(("proxy.grpc", "@grpc"), ("proxy.remoting", "@remoting")),
    jars=(artifacts.CLIENT_GRPC,),
)
MAIN: Final = Batch("grpc", servers="proxy")
KILL9: Final = Batch("grpc_kill9", servers="proxy", how="kill9")
# Its scenario takes the proxy away.
RESTARTED: Final = Batch("grpc_proxy", servers="proxy")
# The slow ones first.
SCENARIOS: Final = (
    "grpc_renewal",
    "grpc_lite",
    "grpc_dead_letters",
    "grpc_simple",
    "grpc_recall",
    "grpc_fifo",
    "grpc_transactions",
    "grpc_lite_exclusive",
    "grpc_filters",
    "grpc_delay",
    "grpc_normal",
    "grpc_shared",
    "grpc_remoting",
    "grpc_types",
)
CASES: Final = [
    *(Case(CLIENT, MAIN, scenario) for scenario in SCENARIOS),
    Case(CLIENT, KILL9, "grpc_kill9"),
    Case(CLIENT, RESTARTED, "grpc_proxy_restarted"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

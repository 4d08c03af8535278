"""RocketMQ 5's Go client behind the official proxy: before the real broker and before TriMQ, with equal outcomes.

The Go client v5.1.2 has producers and simple consumers, and nothing else: no push consumer, no recall.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import FOLDER, GoSubject
from compat_tests.servers.server import Tls

SUBJECT: Final = "grpc"
# Topics with a type are made by hand.
RAW: Final = FOLDER / "timers" / "go" / "raw.go"


@dataclass(frozen=True)
class GoBehindProxy(GoSubject):
    """Driver and proxy end together; beside the 4.x client the driver has the one that speaks gRPC.

    `whose`: words that name another proxy.
    """

    whose: tuple[str, ...] = ()

    def sources(self) -> Sequence[Path]:
        own = FOLDER / self.subject / "go"
        versions = [own / "go.mod", own / "go.sum"]
        # Those of the driver name one client only.
        replaced = {file.name for file in versions}
        others = [file for file in super().sources() if file.name not in replaced]
        return [*others, RAW, *versions]

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        env, *rest = super().command(folder, tls)
        module = "compat_tests.scenarios.behind_proxy"
        wrapped = [sys.executable, "-m", module, *self.whose, str(folder)]
        logs = f"rocketmq.client.logRoot={folder / 'logs'}"
        return [*wrapped, env, "PROXY_GRPC=@grpc", logs, *rest]


CLIENT: Final = GoBehindProxy(parallel=8, name="go-5.1.2", subject=SUBJECT)
MAIN: Final = Batch("grpc", servers="proxy")
# The slow ones first.
SCENARIOS: Final = (
    "grpc_dead_letters",
    "grpc_filters",
    "grpc_simple",
    "grpc_again",
    "grpc_fifo",
    "grpc_topics",
    "grpc_delay",
    "grpc_fifo_shared",
    "grpc_many",
    "grpc_shared",
    "grpc_normal",
    "grpc_refused",
)
CASES: Final = [Case(CLIENT, MAIN, scenario) for scenario in SCENARIOS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

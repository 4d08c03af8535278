"""Light queues (LMQ) read by the official clients' pulls: the real server and TriMQ must agree."""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import JavaSubject
from compat_tests.servers import artifacts

CLIENTS: Final = [
    JavaSubject(client, subject="lmq") for client in (artifacts.CLIENT_5, artifacts.CLIENT_4)
]
LIGHT: Final = Batch("lmq", servers="lmq")
CASES: Final = [
    Case(client, LIGHT, scenario)
    for client in CLIENTS
    for scenario in ("lmq_pulled", "lmq_offsets")
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

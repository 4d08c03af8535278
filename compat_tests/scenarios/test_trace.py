"""Traces that the official Java clients write: the real server and TriMQ must agree, and mqadmin find them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from compat_tests.mqadmin.tools import OfficialTool, OurTool
from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.stage import REAL, Stage
from compat_tests.scenarios.subject_drivers import JavaSubject
from compat_tests.servers import artifacts

SUBJECT: Final = "trace"
CLIENT_5: Final = JavaSubject(artifacts.CLIENT_5, subject=SUBJECT)
CLIENT_4: Final = JavaSubject(artifacts.CLIENT_4, subject=SUBJECT)
ON: Final = Batch("trace", servers="traced")
# The topic of traces is made by the first one, as any topic is by its first message.
OFF: Final = Batch("trace_off")
BOTH: Final = ("trace_consume", "trace_send", "trace_send_own_topic", "trace_transaction")
# Clients write traces of recalls only if they are told to.
RECALLER: Final = JavaSubject(
    artifacts.CLIENT_5,
    subject=SUBJECT,
    properties=(("com.rocketmq.recall.default.trace.enable", "true"),),
)
RECALLS: Final = Case(RECALLER, Batch("trace_recall", servers="traced"), "trace_recall")
_TRACED: Final = "TRACED "


def _cases() -> list[Case]:
    return [
        *(Case(driver, ON, scenario) for driver in (CLIENT_5, CLIENT_4) for scenario in BOTH),
        RECALLS,
        *(Case(driver, OFF, scenario) for driver in (CLIENT_5, CLIENT_4) for scenario in BOTH),
    ]


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)


@pytest.mark.parametrize(
    "case", [Case(CLIENT_5, ON, BOTH[0]), RECALLS, Case(CLIENT_5, OFF, BOTH[0])], ids=str
)
def test_mqadmin_finds_them(stage: Stage, case: Case, tmp_path: Path) -> None:
    """Both tools print the same, whatever kinds of traces a message has."""
    stage.check(case)
    servers = stage.group(case.batch.servers).ours
    official, ours = OfficialTool(tmp_path), OurTool(tmp_path)
    try:
        for side, topic, message_id in _traced(stage, case):
            words = ["queryMsgTraceById", "-i", message_id, "-t", topic]
            namesrv = servers[side].namesrv_addr
            printed = ours.run(namesrv, words)
            assert printed.code == 0, printed.err
            assert printed.out == official.run(namesrv, words).out
            assert "Pub" in printed.out
    finally:
        official.close()
        ours.close()


def _traced(stage: Stage, case: Case) -> list[tuple[str, str, str]]:
    """Side, topic of traces, and id of every message that the batch has asked about."""
    found = []
    for log in stage.logs(case):
        side = log.parts[-3].rpartition("-")[2]
        lines = log.read_text(errors="replace").splitlines()
        words = [line.split(" ") for line in lines if line.startswith(_TRACED)]
        found += [(side, topic, message_id) for _, topic, message_id in words if side != REAL]
    assert found
    return found

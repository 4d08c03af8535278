"""Timer messages and recalls with the official clients, through restarts too: the real server and TriMQ must agree.

How many messages came twice over a kill -9 is printed: the original promises nothing there.
"""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.driver import Driver
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import GoSubject, JavaSubject
from compat_tests.servers import artifacts

SUBJECT: Final = "timers"
JAVA: Final = JavaSubject(artifacts.CLIENT_5, subject=SUBJECT)
GO: Final = GoSubject(subject=SUBJECT)
# The servers of these let messages be taken back.
WAITING: Final = Batch("timers", servers="timers")
RESTARTED: Final = Batch("timers_restart", servers="timers", how="restart")
KILLED: Final = Batch("timers_kill9", servers="timers", how="kill9")
# By duration: the long ones begin.
SCENARIOS: Final[dict[Driver, tuple[str, ...]]] = {
    JAVA: (
        "timer_consumed_again",
        "recall_some",
        "timer_many",
        "recall_asynchronous",
        "recall_refused",
        "timer_delivered",
        "timer_due_already",
        "timer_refused",
    ),
    GO: ("recall_by_hand", "recall_raw", "timer_delivered", "timer_refused"),
}
ACROSS: Final = "restart_timers"
CASES: Final = [
    *(Case(driver, WAITING, name) for driver, names in SCENARIOS.items() for name in names),
    *(Case(driver, batch, ACROSS) for batch in (RESTARTED, KILLED) for driver in SCENARIOS),
]
_TOLD: Final = "TOLD "


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    stage.check(case)
    if case.scenario == ACROSS:
        with capsys.disabled():
            for log in stage.logs(case):
                for line in log.read_text(errors="replace").splitlines():
                    if line.startswith(_TOLD):
                        print(f"\n{log.parts[-3]}: {line.removeprefix(_TOLD)}")

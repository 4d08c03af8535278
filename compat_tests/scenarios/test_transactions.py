"""Transactions with the official producers: the real server and TriMQ must agree.

The servers ask about half messages every three seconds, so most of it is waiting: all drivers play at a time.
"""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.driver import Driver
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import GoSubject, JavaSubject
from compat_tests.servers import artifacts

SUBJECT: Final = "transactions"
BOTH: Final = ("transaction_ends", "transaction_questions", "transaction_given_up")
JAVA_ONLY: Final = (
    "transaction_failing",
    "transaction_other_member",
    "transaction_immune",
    "transaction_refused",
)
KILLED: Final = ("restart_transactions",)
ASKING: Final = Batch("transactions", servers=SUBJECT)
KILLING: Final = Batch("transactions_kill9", servers=SUBJECT, how="kill9")
# After a restart Go's producer is known again with its next heartbeat, up to 30 s later: with three questions, one a
# round, either server has given its messages up by then.
KILLING_GO: Final = Batch("transactions_kill9", servers="patient", how="kill9")


def _cases() -> list[Case]:
    clients = (artifacts.CLIENT_5, artifacts.CLIENT_4)
    java = [JavaSubject(client, subject=SUBJECT) for client in clients]
    go = GoSubject(subject=SUBJECT)
    drivers: list[Driver] = [*java, go]
    cases = [Case(driver, ASKING, scenario) for driver in drivers for scenario in BOTH]
    cases += [Case(driver, ASKING, scenario) for driver in java for scenario in JAVA_ONLY]
    cases += [Case(driver, KILLING, scenario) for driver in java for scenario in KILLED]
    return cases + [Case(go, KILLING_GO, scenario) for scenario in KILLED]


@pytest.fixture(scope="module")
def played(stage: Stage, request: pytest.FixtureRequest) -> Stage:
    """The stage when all selected batches of this module have been played: those that kill come last."""
    items = [item for item in request.session.items if item.path == request.path]
    cases = [item.callspec.params["case"] for item in items if isinstance(item, pytest.Function)]
    batches = {(case.driver, case.batch): case for case in cases}.values()
    asking = [[case] for case in batches if not case.batch.how]
    if asking:
        stage.play_together(*asking)
    for how in (KILLING, KILLING_GO):
        killing = [case for case in batches if case.batch == how]
        if killing:
            stage.play_together(killing)
    return stage


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_same_outcome(played: Stage, case: Case) -> None:
    played.check(case)

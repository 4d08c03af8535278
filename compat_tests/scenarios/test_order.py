"""Order from end to end, global and by key, with the official clients: the real server and TriMQ must agree.

Members join and leave, one is slow, one is killed, the broker is killed, messages are suspended too often. These
scenarios wait for locks to expire, so all drivers play at a time; those that kill the broker have servers of
their own. Who owned which queue when is printed: it depends on chance.
"""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.driver import Driver
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import GoSubject, JavaSubject
from compat_tests.servers import artifacts

SUBJECT: Final = "order"
WAITING: Final = ("order_joining_and_leaving", "order_member_killed", "order_limit")
# The Go client's API has no locks to ask for.
JAVA_ONLY: Final = ("order_leaving_frees",)
KILLED: Final = ("restart_order",)
# What it takes beside the time of joining and leaving: starts, locks that expire.
REST_SECONDS: Final = 600
_TOLD: Final = "TOLD "


def _cases(seconds: int) -> list[Case]:
    waiting = Batch("order", limit=seconds + REST_SECONDS)
    killing = Batch("order_kill9", servers="killed", how="kill9")
    times = (("order.seconds", str(seconds)),)
    clients = (artifacts.CLIENT_5, artifacts.CLIENT_4)
    java = [JavaSubject(client, subject=SUBJECT, properties=times) for client in clients]
    drivers: list[Driver] = [*java, GoSubject(subject=SUBJECT)]
    cases = [Case(driver, waiting, scenario) for driver in drivers for scenario in WAITING]
    cases += [Case(driver, waiting, scenario) for driver in java for scenario in JAVA_ONLY]
    return cases + [Case(driver, killing, scenario) for driver in drivers for scenario in KILLED]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seconds = metafunc.config.getoption("--order-seconds")
    metafunc.parametrize("case", _cases(seconds), ids=str)


@pytest.fixture(scope="module")
def played(stage: Stage, request: pytest.FixtureRequest) -> Stage:
    """The stage when all selected batches of this module have been played."""
    items = [item for item in request.session.items if item.path == request.path]
    cases = [item.callspec.params["case"] for item in items if isinstance(item, pytest.Function)]
    batches = {(case.driver, case.batch): case for case in cases}.values()
    killing = [case for case in batches if case.batch.how]
    side_by_side = [[case] for case in batches if not case.batch.how]
    stage.play_together(*side_by_side, *([killing] if killing else []))
    return stage


def test_same_outcome(played: Stage, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    played.check(case)
    with capsys.disabled():
        for log in played.logs(case):
            print(f"\n{log.parts[-3]}")
            for line in log.read_text(errors="replace").splitlines():
                if line.startswith(_TOLD) and case.scenario in line:
                    print(f"  {line.removeprefix(_TOLD)}")

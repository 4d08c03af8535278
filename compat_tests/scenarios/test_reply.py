"""Request-reply with the official clients: the real server and TriMQ must agree."""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.driver import Driver
from compat_tests.scenarios.stage import Stage
from compat_tests.scenarios.subject_drivers import GoSubject, JavaSubject
from compat_tests.servers import artifacts

SUBJECT: Final = "reply"
JAVA: Final = (
    "reply_requester_gone",
    "reply_late",
    "reply_timeout",
    "reply_properties",
    "reply_bodies",
    "reply_errors",
    "reply_sync",
    "reply_async",
    "reply_queue_choice",
    "reply_ways",
)
GO: Final = (
    "reply_requester_gone",
    "reply_timeout",
    "reply_without_body",
    "reply_sync",
    "reply_async",
)
RESTART: Final = "restart_reply"
REPLY: Final = Batch("reply")
# The Java client sends SEND_REPLY_MESSAGE with long names, as the Go client does.
LONG_NAMES: Final = Batch("reply_long_names")
RESTARTS: Final = (
    Batch("reply_restart", how="restart"),
    Batch("reply_kill9", how="kill9"),
)
NOT_SMART: Final = (("org.apache.rocketmq.client.sendSmartMsg", "false"),)


def _cases() -> list[Case]:
    clients = (artifacts.CLIENT_5, artifacts.CLIENT_4)
    java: list[Driver] = [JavaSubject(client, subject=SUBJECT) for client in clients]
    long_names = JavaSubject(artifacts.CLIENT_5, subject=SUBJECT, properties=NOT_SMART)
    cases = [Case(driver, REPLY, scenario) for driver in java for scenario in JAVA]
    cases += [Case(GoSubject(subject=SUBJECT), REPLY, scenario) for scenario in GO]
    cases += [Case(long_names, LONG_NAMES, name) for name in ("reply_sync", "reply_errors")]
    return cases + [Case(driver, batch, RESTART) for batch in RESTARTS for driver in java]


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)

"""Every scenario of the Go driver: the real server and TriMQ must agree."""

from __future__ import annotations

from typing import Final

import pytest

from compat_tests.scenarios.batches import KILL9, MAIN, RESTART, Batch, Case
from compat_tests.scenarios.go_driver import GO
from compat_tests.scenarios.stage import Stage

# By duration: the long ones begin.
GO_MAIN: Final = (
    "order_hand_over",
    "order_queues",
    "order_suspend",
    "push_broadcasting",
    "push_joining_and_leaving",
    "push_start_offsets",
    "push_goes_on",
    "push_messages",
    "retry_once",
    "retry_to_dead_letters",
    "filter_tags",
    "pull_held",
    "pull_offsets",
    "pull_poll",
    "pull_statuses",
    "pull_tags",
    "send_async",
    "send_autocreate",
    "send_batch",
    "send_big",
    "send_compressed",
    "send_delayed",
    "send_errors",
    "send_errors_client",
    "send_hash",
    "send_oneway",
    "send_round_robin",
    "send_sync",
    "send_vip",
    "admin_topics",
)
GO_RESTART: Final = ("restart_mid_consumption", "restart_live_clients")


def cases(batch: Batch, *scenarios: str) -> list[Case]:
    return [Case(GO, batch, scenario) for scenario in scenarios]


@pytest.mark.parametrize("case", cases(MAIN, *GO_MAIN), ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)


@pytest.mark.parametrize("case", cases(RESTART, *GO_RESTART) + cases(KILL9, *GO_RESTART), ids=str)
def test_same_outcome_through_a_restart(stage: Stage, case: Case) -> None:
    stage.check(case)

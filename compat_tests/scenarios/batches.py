"""Which scenarios there are, on which servers they run, and in which order.

The order is by duration: scenarios of a batch run side by side, so the long ones begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from compat_tests.scenarios.driver import JAVA_4, JAVA_5, Driver


@dataclass(frozen=True)
class Batch:
    """Scenarios that one process of a driver plays on one pair of servers."""

    name: str
    # A key of stage.OPTIONS: how the servers are started.
    servers: str = "plain"
    # What a scenario's request for a restart means.
    how: str | None = None
    # Seconds for all of it. No record depends on it.
    limit: float = field(default=700, repr=False)


@dataclass(frozen=True)
class Case:
    """One scenario, played by one driver on both servers of a batch."""

    driver: Driver
    batch: Batch
    scenario: str

    def __str__(self) -> str:
        return f"{self.driver.name}-{self.batch.name}-{self.scenario}"


MAIN: Final = Batch("main")
RESTART: Final = Batch("restart", how="restart")
KILL9: Final = Batch("kill9", how="kill9")
STRICT: Final = Batch("strict", servers="strict")
READONLY: Final = Batch("readonly", servers="readonly")
TLS: Final = Batch("tls", servers="tls")
# The servers know nothing of TLS, and the clients take any certificate.
TLS_UNASKED: Final = Batch("tls_unasked")
MIX: Final = Batch("mix")

JAVA_MAIN: Final = (
    "order_owner_dies",
    "many_topics",
    "many_connections",
    "push_joining_and_leaving",
    "order_hand_over",
    "filter_disagreement",
    "send_errors_broker",
    "pull_errors",
    "retry_send_back",
    "retry_to_dead_letters",
    "retry_with_levels",
    "filter_tags",
    "start_offsets_committed",
    "start_offsets",
    "lite_auto_commit",
    "lite_start",
    "order_dead_letters",
    "order_suspend",
    "lite_assign",
    "retry_once",
    "send_autocreate",
    "push_while_sending",
    "push_broadcasting",
    "push_crash",
    "pull_held",
    "client_fingerprints",
    "client_members",
    "client_requests",
    "client_topics",
    "lite_seek",
    "lite_subscribe",
    "retry_groups",
    "offsets_by_time",
    "offsets_of_group",
    "offsets_of_queue",
    "order_locks",
    "order_selector",
    "pull_limits",
    "pull_statuses",
    "pull_tags",
    "push_messages",
    "query_by_key",
    "query_by_unique_key",
    "send_async",
    "send_batch",
    "send_big",
    "send_compressed",
    "send_delayed",
    "send_errors_client",
    "send_errors_permission",
    "send_oneway",
    "send_properties",
    "send_queue_choice",
    "send_selector",
    "send_sync",
    "send_vip",
    "view_message",
)
# What 4.x clients cannot do.
JAVA_5_MAIN: Final = ("batch_queue",)
JAVA_RESTART: Final = ("restart_mid_consumption", "restart_live_clients", "restart_state")
JAVA_STRICT: Final = ("send_errors_autocreate_off",)
JAVA_READONLY: Final = ("send_errors_readonly",)
JAVA_TLS: Final = (
    "send_sync",
    "send_big",
    "pull_held",
    "push_joining_and_leaving",
    "order_suspend",
    "lite_seek",
)
JAVA_TLS_UNASKED: Final = ("send_sync", "pull_held", "push_messages")
JAVA_MIX: Final = ("mix_two_brokers",)

JAVA_DRIVERS: Final = (JAVA_5, JAVA_4)


def cases(batch: Batch, *scenarios: str, drivers: tuple[Driver, ...] = JAVA_DRIVERS) -> list[Case]:
    """Each scenario with each Java client."""
    return [Case(driver, batch, scenario) for driver in drivers for scenario in scenarios]

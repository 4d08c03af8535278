"""Every module that looks at the wall clock, and what becomes of it when that is set.

A new one has to be entered here. How long something took is asked of `Clock.steady_millis`, or of Trio.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.trimq.clock.users import ROOT, wall_users

# It writes down, or says, what the time is, and compares nothing.
STAMP = "stamp"
# It compares a time with one that a client or a file names: the tests say what is right then. In this folder.
RULE = "rule"
# The same, tested beside its other tests.
THERE = "there"

TABLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "base/clock.py": (STAMP, ()),
    "broker/delivery/delays.py": (RULE, ("test_delay_levels",)),
    "broker/elastic/log.py": (STAMP, ()),
    "broker/elastic/maps.py": (STAMP, ()),
    "broker/elastic/partition_routing.py": (STAMP, ()),
    "broker/stats/broker_stats.py": (RULE, ("test_rates",)),
    "broker/filters/consumer_filters.py": (RULE, ("test_filters_of_groups_that_are_gone",)),
    "broker/groups/offsets/committed.py": (STAMP, ()),
    "broker/lite/acknowledgements.py": (RULE, ("test_blocks_of_ordered_pops",)),
    "broker/lite/checks.py": (RULE, ("test_a_clients_clock_that_is_not_this_one",)),
    "broker/lite/lifecycle.py": (RULE, ("test_lite_topics",)),
    # An own time of visibility is a new checkpoint; that they come off the wheel is `timers`.
    "broker/pop/acknowledgements.py": (STAMP, ()),
    "broker/pop/checkpoints/notes.py": (STAMP, ()),
    "broker/pop/order/rules.py": (
        RULE,
        ("test_blocks_of_ordered_pops", "test_batches_that_nobody_uses"),
    ),
    # Pops from before the start are not counted, by the clock, as there. A figure.
    "broker/pop/checkpoints/in_flight.py": (STAMP, ()),
    "broker/pop/order/timeouts.py": (RULE, ("test_blocks_of_ordered_pops",)),
    "broker/pop/order/blocks.py": (RULE, ("test_batches_that_nobody_uses",)),
    "broker/pop/order/orderly.py": (RULE, ("test_blocks_of_ordered_pops",)),
    "broker/pop/popping.py": (
        RULE,
        ("test_pops_and_notifications_that_wait", "test_a_clients_clock_that_is_not_this_one"),
    ),
    "broker/pop/reading/long_polling.py": (RULE, ("test_pops_and_notifications_that_wait",)),
    "broker/pop/revive/service.py": (THERE, ("tests/processors/pop/test_pop.py",)),
    "broker/produce/sends/admission.py": (RULE, ("test_sends_are_accepted_from_a_time_on",)),
    "broker/produce/sends/properties.py": (STAMP, ()),
    "broker/produce/returns/recalling.py": (RULE, ("test_recalls",)),
    "broker/produce/returns/reply_pushes.py": (STAMP, ()),
    "broker/tables/data_version.py": (STAMP, ()),
    "broker/timers/delivery.py": (RULE, ("test_timers",)),
    "broker/timers/enqueue.py": (RULE, ("test_timers",)),
    "broker/timers/metrics.py": (STAMP, ()),
    "broker/timers/copy_writer.py": (RULE, ("test_timers",)),
    "broker/timers/schedule_rule.py": (RULE, ("test_timers",)),
    "broker/timers/service.py": (RULE, ("test_timers", "test_nothing_else_fails")),
    "broker/transactions/checking.py": (RULE, ("test_half_messages",)),
    "broker/transactions/ending.py": (RULE, ("test_half_messages",)),
    "processors/lite/pop_lite_message.py": (STAMP, ()),
    "processors/pop/notification.py": (RULE, ("test_pops_and_notifications_that_wait",)),
    "processors/progress/query_consume_time_span.py": (STAMP, ()),
    "replication/slave.py": (STAMP, ()),
    "store/appending/appender.py": (STAMP, ()),
    "store/index/message_index.py": (RULE, ("test_index_files",)),
    "store/upkeep/cleaning.py": (
        RULE,
        ("test_files_of_the_commit_log", "test_files_that_are_held_by_a_reader"),
    ),
    # The clock of a server that is in the hand of a test follows nobody else's.
    "trimq/hand/clock.py": (THERE, ("tests/trimq/hand/test_clock.py",)),
    "trimq/hand/faults/faults.py": (THERE, ("tests/trimq/hand/test_ways.py",)),
    "trimq/hand/looks/snapshots.py": (STAMP, ()),
    "trimq/hand/process.py": (STAMP, ()),
    "trimq/hand/time.py": (THERE, ("tests/trimq/hand/test_time.py",)),
    "trimq/serving/running.py": (STAMP, ()),
    # A period's length, and no clock.
    "trimq/wiring/parts/operation/stats.py": (STAMP, ()),
    "trimq/wiring/parts/features/lite.py": (RULE, ("test_batches_that_nobody_uses",)),
}


def test_every_user_of_the_wall_clock_is_in_the_table() -> None:
    assert wall_users() == set(TABLE)


def test_every_rule_has_its_tests() -> None:
    known = {
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for path, (kind, names) in TABLE.items():
        assert bool(names) == (kind != STAMP), path
        if kind == RULE:
            assert set(names) <= known, path
        else:
            assert all((ROOT / name).exists() for name in names), path

"""Every module that goes by the machine's time and not by the broker's clock, and why.

What clients and messages ask for goes by `Clock`: its `sleep`, `move_on_after`, `millis`. So a test can have that time
in its hand (trimq/hand/clock.py). Others must not go by it: who waits for a disk, a socket or another server, gives
others their turn, or only measures. What a test moves, these take all the same. A new one has to be entered here.
"""

from __future__ import annotations

import ast
from typing import Final

from tests.trimq.clock.users import FOLDERS, ROOT

OTHERS = "clients and other servers have the machine's time"
DISK = "the disk takes the time that it takes, and a write that failed is tried again"
TURN = "others have their turn meanwhile"
MEASURE = "it says how long something took"
SETTING = "a setting is looked at again"
LOAD = "how much there is to do is counted in the machine's time"

# Whole folders end with a slash.
TABLE: dict[str, str] = {
    "base/clock.py": "it is the clock",
    "base/staggered_wakeups.py": TURN,
    "base/step_queue.py": TURN,
    "base/waits.py": TURN,
    "broker/cluster/": OTHERS,
    "broker/compaction/compaction.py": DISK,
    # The look that a client gets five seconds after a message that it does not want.
    "broker/consume/arrivals.py": OTHERS,
    # shortPollingTimeMills: where long polling is off.
    "broker/consume/long_polling.py": TURN,
    "broker/delivery/delays.py": DISK,
    "broker/elastic/kept_records.py": DISK,
    "broker/elastic/partition_load.py": LOAD,
    "broker/elastic/scaling.py": LOAD,
    "broker/elastic/shared_topics.py": OTHERS,
    "broker/pop/checkpoints/offsets.py": MEASURE,
    "broker/services/background.py": DISK,
    "broker/services/deletion_lists.py": DISK,
    "broker/services/housekeeping.py": DISK,
    "broker/services/metadata_sync.py": OTHERS,
    "broker/services/siblings.py": OTHERS,
    "broker/steps.py": TURN,
    "broker/tables/writer.py": DISK,
    "broker/timers/copy_writer.py": DISK,
    "broker/timers/delivery.py": DISK,
    "broker/timers/enqueue.py": DISK,
    "broker/timers/service.py": MEASURE,
    "broker/transactions/checking.py": TURN,
    "broker/transactions/recovery.py": MEASURE,
    "namesrv/": OTHERS,
    "remoting/": OTHERS,
    "replication/": OTHERS,
    "store/appending/appender.py": MEASURE,
    "store/index/search.py": TURN,
    "store/opening/derived_points.py": MEASURE,
    "trimq/commands/": MEASURE,
    "trimq/hand/": "it has the time in its hand, and says when something takes too long",
    "trimq/logs/": MEASURE,
    "trimq/process/": MEASURE,
    "trimq/serving/": MEASURE,
    "trimq/settings/": SETTING,
    "trimq/supervising/": "another process is looked after",
    "trimq/wiring/effect_recovery.py": DISK,
    "trimq/wiring/parts/brokers/replication.py": OTHERS,
    "trimq/wiring/parts/features/lite.py": OTHERS,
    "trimq/wiring/parts/features/transactions.py": DISK,
}
_TRIO: Final = frozenset(
    (
        "sleep",
        "sleep_until",
        "move_on_after",
        "move_on_at",
        "fail_after",
        "fail_at",
        "current_time",
        "current_effective_deadline",
    )
)
_TIME: Final = frozenset(
    ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep", "time", "time_ns")
)


def _goes_by_the_machine(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        names = {"trio": _TRIO, "time": _TIME}.get(node.value.id, frozenset[str]())
        return node.attr in names
    if isinstance(node, ast.ImportFrom) and node.module in ("time", "trio"):
        names = {"trio": _TRIO, "time": _TIME}[node.module]
        return any(one.name in names for one in node.names)
    return False


def _users() -> set[str]:
    """With the folder instead of the file where the folder is in the table."""
    found = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.resolve().is_relative_to(ROOT / folder):
                # The folders are links in `trimq`, too.
                continue
            if any(map(_goes_by_the_machine, ast.walk(ast.parse(path.read_text())))):
                name = str(path.relative_to(ROOT))
                whole = [one for one in TABLE if one.endswith("/") and name.startswith(one)]
                found.add(whole[0] if whole else name)
    return found


def test_everybody_else_goes_by_the_clock() -> None:
    assert _users() == set(TABLE)

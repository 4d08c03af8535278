"""Which files of the product belong to a subject that only some live parts look at.

A file belongs to a subject when only the parts beside it can see it misbehave: what it does is asked for by nobody
else. What all parts need, or what nobody is sure of, is `EVERYWHERE` and has all of them played. A new file of the
product is claimed here or stands there: tests/run/test_watched.py fails until then.

Every server runs all subjects, idle. So code that breaks what is idle is seen by any part that is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Subject:
    """Files, and folders with all that is in them; and names of parts."""

    claims: tuple[str, ...]
    parts: tuple[str, ...]


SUBJECTS: Final[Mapping[str, Subject]] = {
    "timers": Subject(
        (
            "broker/produce/returns/recalling.py",
            "broker/produce/puts/timer_copies.py",
            "broker/timers",
            "processors/produce/recall_message.py",
            "processors/timers",
            "store/timers",
            "trimq/wiring/parts/features/timers.py",
        ),
        # POP keeps its notes on the wheel. A put asks the rule of timers before it looks at a delay's level.
        (
            *("clients", "clients-asking", "clients-delayed", "java", "mqadmin", "proxy"),
            *("releases", "replication", "spark", "store", "store-aging", "store-turns", "wire"),
        ),
    ),
    "transactions": Subject(
        (
            "broker/produce/sends/half_messages.py",
            "broker/transactions",
            "processors/_end_replies.py",
            "processors/transactions",
            "trimq/wiring/parts/features/transactions.py",
        ),
        # Traces of transactions are asked about, too.
        ("clients-asking", "clients-delayed", "proxy", "releases", "store", "store-turns", "wire"),
    ),
    "pop": Subject(
        (
            "broker/pop",
            "processors/pop",
            "processors/_peek_checks.py",
            "trimq/wiring/parts/features/pop.py",
        ),
        ("clients", "mqadmin", "proxy", "releases", "store-turns", "wire"),
    ),
    "lite": Subject(
        ("broker/lite", "processors/lite", "trimq/wiring/parts/features/lite.py"),
        # Lite topics are popped, and every pop's answer asks whether it is of one.
        ("clients", "mqadmin", "proxy", "releases", "store-turns", "wire"),
    ),
    "elastic": Subject(
        (
            "broker/consume/elastic_pulls.py",
            "broker/elastic",
            "processors/elastic",
            "trimq/wiring/parts/features/elastic.py",
        ),
        # Puts, commits and pulls of other topics pass it: exact answers, order, clients, tools that reset offsets.
        ("clients", "cluster", "elastic", "mqadmin", "order", "releases", "wire"),
    ),
    "filters": Subject(
        (
            "broker/filters",
            "codec/sql",
            "processors/clients/check_client_config.py",
            "trimq/wiring/parts/features/filters.py",
        ),
        (
            *("clients", "clients-asking", "elastic", "filters", "java", "mqadmin", "proxy"),
            *("spark", "spark-away", "store", "wire"),
        ),
    ),
    "reply": Subject(
        (
            "broker/produce/returns/reply_pushes.py",
            "broker/produce/returns/replying.py",
            "processors/_reply_answers.py",
            "processors/produce/send_reply_message.py",
            "processors/produce/send_reply_message_v2.py",
        ),
        ("clients-asking", "wire"),
    ),
    "compaction": Subject(
        ("broker/compaction", "store/compaction", "trimq/wiring/parts/features/compaction.py"),
        # Topics say whether they are compacted.
        ("mqadmin", "releases", "store-aging", "wire"),
    ),
    "replication": Subject(
        (
            "broker/services/masters_address.py",
            "broker/services/metadata_sync.py",
            "broker/services/log_comparison.py",
            "broker/services/slave_deletions.py",
            "processors/replication",
            "replication",
            "store/slave",
            "trimq/wiring/parts/brokers/replication.py",
        ),
        # Old masters are in `cluster`. The others ask about slaves.
        ("cluster", "mqadmin", "replication", "replication-copies", "wire"),
    ),
    "namesrv": Subject(
        (
            "namesrv",
            "processors/namesrv",
            "trimq/wiring/namesrv.py",
            "trimq/wiring/parts/namesrv",
        ),
        # Where routes change, NameServers are asked much, or one has a process of its own.
        (
            *("clients", "cluster", "java", "mqadmin", "proxy", "releases", "replication"),
            *("replication-copies", "spark", "spark-away", "wire"),
        ),
    ),
    "spark": Subject(
        (
            "pyspark_rocketmq.py",
            "pyspark_rocketmq_offsets.py",
            "pyspark_rocketmq_store.py",
            "spark",
            "trimq/commands/offsets.py",
            "trimq/commands/spark.py",
        ),
        # Spark reads packed bodies in `clients`, and is installed in `installs`.
        ("clients", "installs", "reports", "spark", "spark-away"),
    ),
    "images": Subject(
        # Scripts and containers alone call RocketMQ's commands by their names.
        (
            *(
                ".dockerignore",
                "deploy/Dockerfile",
                "deploy/bin",
                "deploy/building",
                "deploy/conf",
            ),
            "trimq/commands/original",
            # Recipes that are run.
            *("docs/in-tests.md", "docs/testing.md", "compat_tests/scenarios/java"),
        ),
        ("images",),
    ),
    "mqadmin": Subject(
        ("mqadmin", "trimq/commands/health.py", "trimq/commands/health_lines.py"),
        # Documented commands, traces, static topics, and moves to TriMQ.
        ("clients", "clients-asking", "cluster", "mqadmin", "proxy", "replication"),
    ),
    "inspecting": Subject(
        (
            "store/checking",
            "store/inspecting",
            "trimq/commands/check.py",
            "trimq/commands/inspect.py",
            "trimq/commands/inspected.py",
            "trimq/commands/popped.py",
        ),
        # Spark reads a store with them; others check what a server has left.
        (
            *("clients", "replication", "replication-copies", "reports", "spark"),
            *("spark-away", "store"),
        ),
    ),
    # TriMQ's own, a process that nobody else loads: only clients of the 5.x line ask it.
    "proxy": Subject(
        (
            "building/protos.py",
            "proxy",
            "trimq/commands/proxy.py",
            "trimq/serving/own_proxy.py",
            "trimq/serving/proxy.py",
            "trimq/serving/supervised_proxy.py",
            *(
                f"trimq/settings/{name}.py"
                for name in ("proxy", "proxy_extra", "proxy_file", "proxy_keys", "proxy_seat")
            ),
        ),
        ("images", "installs", "proxy", "proxy-calls", "proxy-ours", "proxy-own"),
    ),
    # Several brokers under one supervisor are looked at by unit tests only. These start the command in many ways.
    # Nothing of it is loaded by a server that is in nobody's hand.
    "hand": Subject(("deploy/hand/go", "deploy/hand/java", "trimq/hand"), ("hand", "images")),
    # Services that are tested with it.
    "hand-projects": Subject(("deploy/hand/examples",), ("hand",)),
    "supervising": Subject(("trimq/supervising",), ("cluster", "installs", "service", "wire")),
    # What it makes of a server under a service manager is everybody's: trimq/process, trimq/settings.
    "systemd": Subject(
        (
            "deploy/systemd",
            "trimq/commands/install_service.py",
            "trimq/commands/service_access.py",
            "trimq/commands/service_units.py",
        ),
        ("installs", "service"),
    ),
    # Nothing but the chart's own tests reads it.
    "chart": Subject(("deploy/helm",), ("chart",)),
    # What an archive of the sources holds beside them.
    "packaging": Subject(("LICENSE", "MANIFEST.in"), ("installs", "wheels")),
}

# Claimed by no subject: all parts are played. A claim above goes before a folder here.
EVERYWHERE: Final = (
    "admin",
    "base",
    *(f"broker/{name}.py" for name in ("__init__", "config", "identity", "records", "steps")),
    *("broker/store_views.py", "broker/cluster", "broker/consume", "broker/delivery"),
    *("broker/stats", "broker/groups", "broker/foreign_store", "broker/produce", "broker/services"),
    "broker/settings",
    *("broker/tables", "broker/topics"),
    "building",
    "codec",
    *(f"processors/{name}.py" for name in ("__init__", "_config_update", "_pull_replies")),
    *(
        f"processors/{name}.py"
        for name in ("_listed_names", "_queue_requests", "_send_replies", "_steps")
    ),
    *("processors/assignment", "processors/clients", "processors/consume", "processors/delays"),
    *("processors/stats", "processors/groups", "processors/messages", "processors/offsets"),
    *("processors/produce", "processors/progress", "processors/retention"),
    *("processors/settings", "processors/topics"),
    "remoting",
    "setup.py",
    *("store/__init__.py", "store/config.py", "store/errors.py", "store/message_store.py"),
    *("store/appending", "store/disk", "store/index", "store/log", "store/messages"),
    *("store/native", "store/opening", "store/queues", "store/reading", "store/upkeep"),
    *(f"trimq/{name}.py" for name in ("__init__", "__main__", "compiled", "pytest_plugin")),
    *("trimq/testing.py", "trimq/commands/__init__.py", "trimq/commands/cli.py"),
    *("trimq/commands/main.py", "trimq/commands/refusals.py"),
    *("trimq/logs", "trimq/process", "trimq/serving", "trimq/settings", "trimq/wiring"),
)


def subjects_of(file: str) -> list[str]:
    """Those that claim a file of the product."""
    return [name for name, one in SUBJECTS.items() if any(lies_in(file, c) for c in one.claims)]


def watchers_of(file: str) -> set[str] | None:
    """The parts that look at what a file of the product belongs to; None: all of them."""
    subjects = subjects_of(file)
    if not subjects:
        return None
    return {part for name in subjects for part in SUBJECTS[name].parts}


def lies_in(file: str, claim: str) -> bool:
    return file == claim or file.startswith(f"{claim}/")

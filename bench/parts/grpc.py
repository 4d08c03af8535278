"""RocketMQ 5's own clients through a proxy: RocketMQ and its proxy against TriMQ and its own."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Final

from bench.loads.filling import QUEUES
from bench.loads.proxied import Stage, through_proxy
from bench.pages import verdicts
from bench.parts.clients5 import SENT, SIZE, THREADS, TOPIC, prepare
from bench.run import Run
from bench.servers.proxies import proxies
from compat_tests.servers.versions import module_version

MESSAGES: Final = 500_000
SEND: Final = f"sends/s, {THREADS} threads"
SEND_LATE: Final = f"p99 of a send, ms, {THREADS} threads"
ONE: Final = "sends/s, one thread"
ONE_LATE: Final = "p99 of a send, ms, one thread"
RECEIVE: Final = f"messages/s received and acknowledged, {THREADS} threads"
RECEIVE_LATE: Final = f"p99 of a receive and its acknowledgements, ms, {THREADS} threads"


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    with ExitStack() as stack:
        both = stack.enter_context(proxies(run.folder, own=True))
        stage = Stage(run, both, java_home, counts_all=True)
        fleet = stack.enter_context(run.fleet({"enableLmq": "true", "enableMultiDispatch": "true"}))
        fleet.start()
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                prepare(server, MESSAGES // (50 if run.smoke else 1))
        many, one = [SENT, str(THREADS), str(SIZE), "send"], [SENT, "1", str(SIZE), "send"]
        through_proxy(stage, fleet, SEND, many, late=SEND_LATE)
        through_proxy(stage, fleet, ONE, one, late=ONE_LATE)
        received = [TOPIC, str(THREADS), str(SIZE), "receive", f"received{time.time_ns()}"]
        through_proxy(stage, fleet, RECEIVE, received, late=RECEIVE_LATE)
    return (
        f"rocketmq-client-java 5.1.0 through a proxy: RocketMQ's {module_version('proxy')} (512 MB) before RocketMQ,"
        f" and `trimq proxy` before TriMQ. Threads send messages of {SIZE} B; as many receive 32 at a time from"
        f" {MESSAGES:,} messages in {QUEUES} queues and acknowledge each. All servers are counted: broker, NameServer"
        f" and proxy.\n\n{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [SEND, ONE, RECEIVE])}"
    )

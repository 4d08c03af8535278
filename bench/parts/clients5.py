"""POP by official clients: the Java push consumer, and RocketMQ 5's own clients through one proxy, lite topics too."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Final

from bench.loads import rows
from bench.loads.filling import QUEUES, fill, wait_for_route
from bench.loads.proxied import Stage, counted, through_proxy
from bench.loads.resident import Resident, residents
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages import verdicts
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.proxies import proxies
from bench.servers.subjects import Subject
from compat_tests.servers.versions import module_version
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import CreateTopicListRequestBody, TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient

TOPIC: Final = "BenchClients5"
SENT: Final = "BenchClients5Sent"
LITE: Final = "BenchClients5Lite"
LITE_GROUP: Final = "bench_lite"
LITE_TOPICS: Final = 10_000
MESSAGES: Final = 1_000_000
SIZE: Final = 128
THREADS: Final = 16
PUSH: Final = "messages/s, Java push consumer that pops"
SEND: Final = f"sends/s through the proxy, {THREADS} threads"
RECEIVE: Final = f"messages/s received and acknowledged through the proxy, {THREADS} threads"
LITE_SEND: Final = f"sends/s to {LITE_TOPICS:,} lite topics"
LITE_CONSUMED: Final = f"messages/s consumed meanwhile from {LITE_TOPICS:,} lite topics"
# What lite topics need.
SETTINGS: Final = {"enableLmq": "true", "enableMultiDispatch": "true"}


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    with ExitStack() as stack:
        stage = Stage(run, stack.enter_context(proxies(run.folder)), java_home)
        fleet = stack.enter_context(run.fleet(SETTINGS))
        fleet.start()
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                prepare(server, MESSAGES // (50 if run.smoke else 1))
        _push(stage, fleet)
        through_proxy(stage, fleet, SEND, [SENT, str(THREADS), str(SIZE), "send"])
        received = [TOPIC, str(THREADS), str(SIZE), "receive", f"received{time.time_ns()}"]
        through_proxy(stage, fleet, RECEIVE, received)
        count = LITE_TOPICS // (100 if run.smoke else 1)
        through_proxy(
            stage,
            fleet,
            LITE_SEND,
            [LITE, str(THREADS), str(SIZE), "lite", LITE_GROUP, str(count)],
            LITE_CONSUMED,
        )
    return (
        f"{MESSAGES:,} messages of {SIZE} B in {QUEUES} queues are popped by a group of Java's push consumer, whose "
        "mode was set as `mqadmin setConsumeMode` does; each turn has a group of its own. Behind one proxy "
        f"{module_version('proxy')} with 512 MB, rocketmq-client-java 5.1.0: {THREADS} threads send; as many receive "
        f"32 at a time from the same messages and acknowledge each; they send to {LITE_TOPICS:,} lite topics in turn "
        f"while a lite push consumer reads all of them.\n\n{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [PUSH, SEND, RECEIVE, LITE_SEND, LITE_CONSUMED])}"
    )


def prepare(server: Subject, count: int) -> None:
    """The proxy asks what type a topic is of; lite topics belong to a group."""
    kinds = {TOPIC: "NORMAL", SENT: "NORMAL", LITE: "LITE"}
    topics = [
        TopicConfig(
            topic_name=name,
            read_queue_nums=QUEUES,
            write_queue_nums=QUEUES,
            attributes={"+message.type": kind},
        )
        for name, kind in kinds.items()
    ]
    attributes = {"+lite.bind.topic": LITE, "+lite.sub.client.quota": str(2 * LITE_TOPICS)}
    group = SubscriptionGroupConfig(group_name=LITE_GROUP, attributes=attributes)
    with BlockingClient(server.broker_addr, timeout=60) as client:
        for code, body in (
            (
                RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
                CreateTopicListRequestBody(topic_config_list=topics),
            ),
            (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, group),
        ):
            answer = client.request(code, body=encode_body(body))
            if answer.code != ResponseCode.SUCCESS:
                raise RuntimeError(f"not prepared: {answer.code} {answer.remark}")
    fill(server.broker_addr, TOPIC, count, SIZE)
    for name in kinds:
        wait_for_route(server.namesrv_addr, name)


def _push(stage: Stage, fleet: Fleet) -> None:
    group = f"push{time.time_ns()}"
    with residents(
        lambda _, namesrv: Resident("Backlog", [namesrv, TOPIC, group, "pop"], stage.home), "rate"
    ) as clients:

        def warm(kind: str, server: Subject) -> WarmUp:
            return clients.warm(kind, server.namesrv_addr, stage.run.pace)

        def turn(kind: str, server: Subject) -> dict[str, float]:
            found, cpu = counted(stage, clients, kind, [server.broker_pid])
            return {PUSH: found["rate"], stage.cpu(PUSH): cpu / found["consumed"] * 1e6}

        rows.measure(stage.run, fleet, [Row(PUSH, warm, turn)])

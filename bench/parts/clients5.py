"""POP by official clients: the Java push consumer, and RocketMQ 5's own clients through one proxy, lite topics too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.loads import rows
from bench.loads.filling import QUEUES, fill, wait_for_route
from bench.loads.resident import Resident, Residents, residents
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages import verdicts
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.process import usage
from bench.servers.proxies import Proxies, proxies
from bench.servers.subjects import Subject
from compat_tests.servers import artifacts
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


@dataclass(frozen=True)
class _Stage:
    """`home` is where the clients' classes and files lie."""

    run: Run
    proxies: Proxies
    home: Path


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    with ExitStack() as stack:
        stage = _Stage(run, stack.enter_context(proxies(run.folder)), java_home)
        fleet = stack.enter_context(run.fleet(SETTINGS))
        fleet.start()
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                _prepare(server, MESSAGES // (50 if run.smoke else 1))
        _push(stage, fleet)
        _through_proxy(stage, fleet, SEND, [SENT, str(THREADS), str(SIZE), "send"])
        received = [TOPIC, str(THREADS), str(SIZE), "receive", f"received{time.time_ns()}"]
        _through_proxy(stage, fleet, RECEIVE, received)
        count = LITE_TOPICS // (100 if run.smoke else 1)
        _through_proxy(
            stage, fleet, LITE_SEND, [LITE, str(THREADS), str(SIZE), "lite", LITE_GROUP, str(count)]
        )
    return (
        f"{MESSAGES:,} messages of {SIZE} B in {QUEUES} queues are popped by a group of Java's push consumer, whose "
        "mode was set as `mqadmin setConsumeMode` does; each turn has a group of its own. Behind one proxy "
        f"{module_version('proxy')} with 512 MB, rocketmq-client-java 5.1.0: {THREADS} threads send; as many receive "
        f"32 at a time from the same messages and acknowledge each; they send to {LITE_TOPICS:,} lite topics in turn "
        f"while a lite push consumer reads all of them.\n\n{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [PUSH, SEND, RECEIVE, LITE_SEND, LITE_CONSUMED])}"
    )


def _prepare(server: Subject, count: int) -> None:
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


def _push(stage: _Stage, fleet: Fleet) -> None:
    group = f"push{time.time_ns()}"
    with residents(
        lambda _, namesrv: Resident("Backlog", [namesrv, TOPIC, group, "pop"], stage.home), "rate"
    ) as clients:

        def warm(kind: str, server: Subject) -> WarmUp:
            return clients.warm(kind, server.namesrv_addr, stage.run.pace)

        def turn(kind: str, server: Subject) -> dict[str, float]:
            found, cpu = _counted(clients, kind, server, stage.run)
            return {PUSH: found["rate"], _cpu(PUSH): cpu / found["consumed"] * 1e6}

        rows.measure(stage.run, fleet, [Row(PUSH, warm, turn)])


def _through_proxy(stage: _Stage, fleet: Fleet, name: str, words: list[str]) -> None:
    @contextmanager
    def proxied(kind: str, server: Subject) -> Iterator[str]:
        with stage.proxies.turn(kind, server) as endpoint:
            time.sleep(stage.run.ramp)
            yield endpoint

    def start(_: str, endpoint: str) -> Resident:
        return Resident("ThroughProxy", [endpoint, *words], stage.home, artifacts.CLIENT_GRPC)

    with residents(start, "rate") as clients:

        def warm(kind: str, server: Subject) -> WarmUp:
            with proxied(kind, server) as endpoint:
                return clients.warm(kind, endpoint, stage.run.pace)

        def turn(kind: str, server: Subject) -> dict[str, float]:
            with proxied(kind, server):
                found, cpu = _counted(clients, kind, server, stage.run)
            if "consumed" not in found:
                return {name: found["rate"], _cpu(name): cpu / found["count"] * 1e6}
            if found["consumed"] < found["sent"]:
                raise RuntimeError(f"{found['consumed']} of {found['sent']} came ({kind})")
            return {
                name: found["rate"],
                LITE_CONSUMED: found["consumed_rate"],
                _cpu(name): cpu / found["sent"] * 1e6,
            }

        rows.measure(stage.run, fleet, [Row(name, warm, turn)])


def _counted(
    clients: Residents, kind: str, server: Subject, run: Run
) -> tuple[dict[str, float], float]:
    """What a client found in one turn, and the broker's processor time meanwhile."""
    # All were stopped: what that cost is over then.
    clients.turn(kind, run.ramp)
    before = usage(server.broker_pid)
    found = clients.turn(kind, run.seconds)
    cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    if not found["rate"]:
        raise RuntimeError(f"nothing went through ({kind})")
    return found, cpu


def _cpu(name: str) -> str:
    return f"CPU of the broker, us each of: {name}"

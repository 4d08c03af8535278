"""A static topic over two brokers: made, written, moved back and forth; and what clients see of it.

Raw frames ask both brokers at every step, so that refusals and forwarded answers are seen as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from compat_tests.mqadmin.tools import Printed
from compat_tests.servers.jvm import IDLE, Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealBroker, RealNameServer, wait_until_known
from compat_tests.servers.server import Options
from compat_tests.wire import asks, reading, records
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import AdminError
from trimq.admin.topics.static_topics import leaders_of

A, B = "broker-a", "broker-b"
MAX_OFFSET, MIN_OFFSET = 30, 31
SECOND: Final = Options({"brokerName": B})
SMALL_HEAP: Final = ["-Xms256m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m", *IDLE]
# From before the first part to behind the third: parts begin at multiples of 10,000.
OFFSETS: Final = (-1, 0, 2, 3, 9_999, 10_000, 10_001, 10_002, 20_000, 20_001, 99_999)
# What no two servers have in common, or what depends on the order in which a tool counts.
OWN_FIELDS: Final = frozenset({"msgId", "transactionId", "MSG_REGION", "TRACE_ON"})
GROUP: Final = "StaticGroup"
# Brokers close a connection that is silent for 120 s, and a tool's JVM has taken longer on a busy machine.
IDLE_SECONDS: Final = 60.0
SUCCESS: Final = 0
SYSTEM_ERROR: Final = 1
Seen = dict[str, Any]


class Tool(Protocol):
    """Either mqadmin."""

    def run(self, namesrv: str, words: list[str]) -> Printed: ...


@dataclass(frozen=True)
class Cluster:
    """A NameServer and the brokers under it, by name."""

    kind: str
    namesrv_addr: str
    brokers: dict[str, str]


@contextmanager
def real_cluster(launch: Launcher, home: Path) -> Iterator[Cluster]:
    """Three JVMs."""
    with ExitStack() as stack:
        namesrv = RealNameServer(launch, home / "namesrv")
        stack.callback(namesrv.kill)
        namesrv.start()
        brokers = {
            name: RealBroker(launch, home / name, namesrv.addr, options, SMALL_HEAP)
            for name, options in ((A, Options()), (B, SECOND))
        }
        for broker in brokers.values():
            stack.callback(broker.kill)
            broker.start()
        addrs = {name: broker.addr for name, broker in brokers.items()}
        wait_until_known(namesrv.addr, addrs)
        yield Cluster("real", namesrv.addr, addrs)


@contextmanager
def trimq_cluster(home: Path, tree: Path) -> Iterator[Cluster]:
    """The first broker has the NameServer inside."""
    with ExitStack() as stack:
        first = TrimqServer(home / A, Options(), tree=tree).start()
        stack.callback(first.stop)
        second = TrimqServer(home / B, SECOND, namesrv=first.namesrv_addr, tree=tree).start()
        stack.callback(second.stop)
        addrs = {A: first.broker_addr, B: second.broker_addr}
        wait_until_known(first.namesrv_addr, addrs)
        yield Cluster("trimq", first.namesrv_addr, addrs)


class StaticTopic:
    """One static topic of two queues, one on each broker; the one on broker-a is looked at."""

    def __init__(self, cluster: Cluster, tool: Tool, name: str) -> None:
        self._cluster = cluster
        self._tool = tool
        self.name = name
        # With the time when it was used last.
        self._links: dict[str, tuple[Link, float]] = {}
        # The queue's number: which of the two it is, chance decides.
        self.number = -1

    def life(self) -> Seen:
        """All that is seen from its creation on, by what was done before."""
        with ExitStack() as stack, BlockingAdminClient(self._cluster.namesrv_addr) as admin:
            stack.callback(self._close_links)
            self._brokers_know_each_other()
            seen: Seen = {"not there": self._asked(A, self._send("early"))}
            seen["made"] = self._run("updateStaticTopic", "-b", f"{A},{B}", "-qn", "2")
            self.number = next(
                number
                for number, item in leaders_of(admin.topic_configs(self.name)).items()
                if item.bname == A
            )
            seen["on a"] = self._look(admin, {A})
            seen["moved to b"] = self._run("remappingStaticTopic", "-b", B)
            seen["on b"] = self._look(admin, {B})
            seen["held on b"] = self._held(B)
            seen["moved to a"] = self._run("remappingStaticTopic", "-b", A)
            seen["on a again"] = self._look(admin, {A})
            seen["grown"] = self._run("updateStaticTopic", "-b", f"{A},{B}", "-qn", "4")
            seen["four queues"] = self._place(admin)
            seen["not shrunk"] = self._run("updateStaticTopic", "-b", A, "-qn", "3")
            return seen

    def _link(self, broker: str) -> Link:
        """Its connection; another one when the tool took so long that a broker may have closed it as idle."""
        link, used_at = self._links.pop(broker, (None, 0.0))
        now = time.monotonic()
        if link is None or now - used_at > IDLE_SECONDS:
            if link is not None:
                link.close()
            link = Link(self._cluster.brokers[broker])
        self._links[broker] = link, now
        return link

    def _close_links(self) -> None:
        while self._links:
            self._links.popitem()[1][0].close()

    def _run(self, command: str, *words: str) -> bool:
        """Whether the tool says that it has done it."""
        printed = self._tool.run(self._cluster.namesrv_addr, [command, "-t", self.name, *words])
        text = printed.out + printed.err
        return not any(sign in text for sign in ("Exception", "mqadmin: ", "Error"))

    def _brokers_know_each_other(self) -> None:
        """The real ones look for others 10 s after their start, and every 5 s then."""
        plain = f"{self.name}Probe"
        self._tool.run(
            self._cluster.namesrv_addr,
            ["updateStaticTopic", "-t", plain, "-b", f"{A},{B}", "-qn", "2"],
        )
        for target in (B, A):
            self._tool.run(
                self._cluster.namesrv_addr, ["remappingStaticTopic", "-t", plain, "-b", target]
            )
            until(partial(self._knows, target, plain), f"{target} asks the other broker")

    def _knows(self, broker: str, topic: str) -> bool:
        """Whether the broker finds out where the queues that it leads begin."""
        frames = (self._frame(asks.queue_question(MIN_OFFSET), topic, n) for n in range(2))
        return all(self._link(broker).ask(frame).code != SYSTEM_ERROR for frame in frames)

    def _look(self, admin: BlockingAdminClient, leaders: set[str]) -> Seen:
        """The route, and what both brokers say to everything that clients ask."""
        self._wait_for_route(admin, leaders)
        seen: Seen = {"place": self._place(admin)}
        for broker in (A, B):
            seen[f"{broker} sends"] = [
                self._asked(broker, self._send(f"{broker}-{leaders}-{count}")) for count in range(2)
            ]
            short = self._reply(
                broker, asks.send_v2(b"short", queueId=self.number, defaultTopicQueueNums=2)
            )
            self._wait_until_served(broker, short)
            seen[f"{broker} sends short"] = self._told(short, reading.as_text)
            seen[f"{broker} pulls"] = {
                offset: self._asked(
                    broker, asks.pull(queueOffset=offset), reading_body=self._bodies
                )
                for offset in OFFSETS
            }
            seen[f"{broker} pulls one"] = self._asked(
                broker, asks.pull(queueOffset=0, maxMsgNums=1), reading_body=self._bodies
            )
            for code in (MAX_OFFSET, MIN_OFFSET):
                seen[f"{broker} {code}"] = self._asked(broker, asks.queue_question(code))
            # For later times the real broker's answer depends on where the parts lie.
            seen[f"{broker} searches"] = self._asked(broker, asks.search_offset(0))
            seen[f"{broker} unknown"] = self._asked(
                broker, asks.queue_question(MAX_OFFSET), number=77
            )
            seen[f"{broker} own"] = self._asked(
                broker, asks.queue_question(MAX_OFFSET, lo=False), number=0
            )
        for offset in (None, 1, 10_001, 20_001):
            for broker in (A, B):
                if offset is not None:
                    seen[f"{broker} commits {offset}"] = self._asked(
                        broker, asks.commit_offset(offset)
                    )
                seen[f"{broker} committed {offset}"] = self._asked(broker, asks.query_offset())
        return seen

    def _wait_until_served(self, broker: str, sent: Frame) -> None:
        """The real broker puts what it stored into the queue a little later."""
        if sent.code != SUCCESS:
            return
        last = asks.pull(queueOffset=int(sent.ext["queueOffset"]))
        until(
            lambda: self._reply(broker, last).code == SUCCESS, f"{broker} serves the last message"
        )

    def _held(self, broker: str) -> Any:
        """A pull at the end waits for the next message, whose offset is told as a global one."""
        end = int(self._reply(broker, asks.queue_question(MAX_OFFSET)).ext["offset"])
        flags = asks.PULL_SUSPEND | asks.PULL_SUBSCRIPTION
        pull = self._frame(
            asks.pull(queueOffset=end, sysFlag=flags, suspendTimeoutMillis=15_000),
            self.name,
            self.number,
        )
        link = self._link(broker)
        opaque = link.post(pull)
        is_held = not link.has_reply(opaque, 0.5)
        with_other = Link(self._cluster.brokers[broker])
        try:
            with_other.ask(self._frame(self._send("wakes"), self.name, self.number))
        finally:
            with_other.close()
        return is_held, self._told(link.reply(opaque), self._bodies)

    def _place(self, admin: BlockingAdminClient) -> Seen:
        """How many queues each broker leads, by the route; and the parts of the queue."""
        route = admin.topic_route(self.name)
        mappings = route.topic_queue_mapping_by_broker or {}
        configs = admin.topic_configs(self.name)
        parts: Seen = {}
        for name, config in configs.items():
            detail = config.mapping_detail
            assert detail is not None
            parts[name] = [
                (item.bname, item.gen, item.logic_offset, item.start_offset, item.end_offset)
                for item in detail.hosted_queues.get(self.number, [])
            ]
        return {
            "led": {name: len(mapping.curr_id_map) for name, mapping in mappings.items()},
            "one epoch": len({mapping.epoch for mapping in mappings.values()}) == 1,
            "total": sorted({mapping.total_queues for mapping in mappings.values()}),
            "queues": {
                data.broker_name: (data.read_queue_nums, data.write_queue_nums)
                for data in route.queue_datas
            },
            "parts": parts,
        }

    def _wait_for_route(self, admin: BlockingAdminClient, leaders: set[str]) -> None:
        def is_told() -> bool:
            try:
                mappings = admin.topic_route(self.name).topic_queue_mapping_by_broker or {}
            except AdminError:
                return False
            led = {name for name, one in mappings.items() if self.number in one.curr_id_map}
            return led == leaders and len({one.epoch for one in mappings.values()}) == 1

        until(is_told, f"the route of {self.name} leads to {leaders}")

    def _send(self, body: str) -> Frame:
        properties = asks.properties(UNIQ_KEY=f"U{body}", WAIT="true")
        return asks.send(body.encode(), properties=properties, defaultTopic="None")

    def _asked(
        self,
        broker: str,
        frame: Frame,
        *,
        number: int | None = None,
        reading_body: reading.Reader = reading.as_text,
    ) -> Any:
        return self._told(self._reply(broker, frame, number), reading_body)

    def _reply(self, broker: str, frame: Frame, number: int | None = None) -> Frame:
        asked = self._frame(frame, self.name, self.number if number is None else number)
        return self._link(broker).ask(asked)

    def _frame(self, frame: Frame, topic: str, number: int) -> Frame:
        names = {"$T": topic, "$G": f"{GROUP}{topic}", "$P": "StaticProducer"}
        frame.ext = {key: names.get(value, value) for key, value in frame.ext.items()}
        frame.ext["e" if "e" in frame.ext else "queueId"] = str(number)
        return frame

    def _told(self, frame: Frame, reader: Callable[[bytes], Any]) -> Any:
        told = reading.reply(frame, reader)
        told["ext"] = {key: value for key, value in told["ext"].items() if key not in OWN_FIELDS}
        mine = f"{self.name}-{self.number}"
        if told["remark"] is not None:
            told["remark"] = told["remark"].replace(mine, "<queue>").replace(self.name, "<topic>")
        if told["ext"].get("queueId") == str(self.number):
            told["ext"]["queueId"] = "<queue>"
        return told

    def _bodies(self, body: bytes) -> Any:
        """Of each message what does not depend on the other queue: its offset is its broker's own."""
        found = records.read_records(body)
        return [(one.queue_offset, one.body.decode(), one.topic == self.name) for one in found]

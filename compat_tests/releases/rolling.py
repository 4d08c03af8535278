"""Three brokers that are replaced one after the other while official clients send and consume.

``python -m compat_tests.releases.rolling BROKERS WAY`` plays it once and says what it cost: BROKERS are trimq (the
release before, the newest, and back) or real (the real RocketMQ, each started again once), WAY is one of `WAYS`.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from compat_tests.releases.house import BEFORE, NEWEST, build
from compat_tests.servers import artifacts
from compat_tests.servers.jvm import IDLE, JvmLauncher
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.processes import Child
from compat_tests.servers.real import RealBroker, RealNameServer, wait_until_known
from compat_tests.servers.server import Options
from tests.patience import until
from trimq.admin import BlockingAdminClient, TopicConfig

NAMES: Final = ("broker-a", "broker-b", "broker-c")
CLIENTS: Final = (artifacts.CLIENT_5, artifacts.CLIENT_4)
SOURCE: Final = Path(__file__).with_name("java") / "Rolling.java"
QUEUES: Final = 4
SMALL_HEAP: Final = ["-Xms256m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m", *IDLE]
# Messages that a broker has taken since it was replaced, of each client.
ENOUGH: Final = 100
# How long a broker has taken no message when it counts as one that takes none: longer than clients wait for an answer.
SILENT_SECONDS: Final = 4.0


class Way(NamedTuple):
    """How brokers are stopped, and how often clients ask for routes."""

    writes_end_first: bool
    route_millis: int


# Clients ask for routes every 30 s by default. With a second there is less to wait for.
WAYS: Final = {
    "plain": Way(False, 30_000),
    "writes-end-first": Way(True, 1_000),
    "writes-end-first-slowly": Way(True, 30_000),
}


class Broker(Protocol):
    """Of either kind."""

    @property
    def broker_addr(self) -> str: ...

    def replace(self, which: str) -> None:
        """A clean stop, and a start of that build, where builds differ."""


class OurBroker:
    """At first of the release before."""

    def __init__(self, home: Path, namesrv: str, options: Options) -> None:
        self._server = TrimqServer(home, options, namesrv=namesrv, tree=build(BEFORE))
        self.kill = self._server.kill
        self.start = self._server.start
        self.broker_addr = self._server.broker_addr

    def replace(self, which: str) -> None:
        self._server.stop()
        self._server.tree = build(which)
        self._server.start()


class ForeignBroker:
    """RocketMQ's own, of one version."""

    def __init__(self, home: Path, namesrv: str, options: Options) -> None:
        self._server = RealBroker(JvmLauncher(), home, namesrv, options, SMALL_HEAP)
        self.kill = self._server.kill
        self.start = self._server.start
        self.broker_addr = self._server.addr

    def replace(self, which: str) -> None:
        self._server.stop()
        self._server.start()


def our_namesrv(folder: Path, stack: ExitStack) -> str:
    namesrv = TrimqNameServer(folder)
    stack.callback(namesrv.stop)
    return namesrv.start().addr


def foreign_namesrv(folder: Path, stack: ExitStack) -> str:
    namesrv = RealNameServer(JvmLauncher(), folder)
    stack.callback(namesrv.kill)
    namesrv.start()
    return namesrv.addr


KINDS: Final = {"trimq": (our_namesrv, OurBroker), "real": (foreign_namesrv, ForeignBroker)}
# Which builds brokers become, one round after the other. A real one has taken 44 s to start again.
ROUNDS: Final = {"trimq": (NEWEST, BEFORE), "real": (NEWEST,)}


class Cluster:
    """A NameServer and three brokers under it."""

    def __init__(self, kind: str, folder: Path, stack: ExitStack) -> None:
        start_namesrv, make = KINDS[kind]
        self.namesrv = start_namesrv(folder / "namesrv", stack)
        self._brokers: dict[str, Broker] = {}
        for name in NAMES:
            one = make(folder / name, self.namesrv, Options({"brokerName": name}))
            stack.callback(one.kill)
            one.start()
            self._brokers[name] = one
        wait_until_known(self.namesrv, NAMES)

    def create(self, topic: str) -> None:
        config = TopicConfig(topic_name=topic, read_queue_nums=QUEUES, write_queue_nums=QUEUES)
        with BlockingAdminClient(self.namesrv) as admin:
            for one in self._brokers.values():
                admin.put_topic(one.broker_addr, config)

    def replace(self, name: str, which: str) -> None:
        self._brokers[name].replace(which)

    def end_writes(self, name: str, topics: list[str]) -> None:
        """Return when clients have heard that the broker takes no messages, and send it none."""
        with BlockingAdminClient(self.namesrv) as admin:
            admin.wipe_write_perm(self.namesrv, name)
        seen, since = self._stored(name, topics), time.monotonic()
        while time.monotonic() < since + SILENT_SECONDS:
            time.sleep(0.2)
            now = self._stored(name, topics)
            if now != seen:
                seen, since = now, time.monotonic()

    def wait_for_more(self, name: str, topics: list[str]) -> None:
        """Until it takes messages of each topic again."""
        before = self._stored(name, topics)

        def took() -> bool:
            now = self._stored(name, topics)
            return all(now[topic] >= before[topic] + ENOUGH for topic in topics)

        until(took, f"{name} takes messages again")

    def _stored(self, name: str, topics: list[str]) -> dict[str, int]:
        """How many messages of each topic that broker has taken."""
        found = {}
        with BlockingAdminClient(self.namesrv) as admin:
            for topic in topics:
                places = [one for one in admin.read_queues(topic) if one.queue.broker_name == name]
                found[topic] = sum(admin.max_offset(one) for one in places)
        return found


class Cost(NamedTuple):
    """What an application has seen."""

    sent: int
    # Messages that a consumer got once more.
    again: int
    # Sends that nobody was told about.
    unanswered: int
    # A line for every error and every loss.
    lines: list[str]


class Application:
    """Rolling.java with one line of the official client."""

    def __init__(self, client: str, namesrv: str, folder: Path, route_millis: int) -> None:
        folder.mkdir()
        self.topic = topic_of(client)
        self._folder = folder
        path = artifacts.program(f"rolling-{client}", client, [SOURCE])
        java = shutil.which("java") or "java"
        options = ["-Xms128m", "-Xmx256m", "-XX:+UseSerialGC", f"-Duser.home={folder}"]
        words = [namesrv, self.topic, str(folder), str(route_millis)]
        command = [java, *options, "-cp", path, "Rolling", *words]
        self.child = Child(command, folder / "output.log")

    def wait_until_running(self) -> None:
        running = self._folder / "running"
        until(lambda: running.exists() or not self.child.running, "messages come")
        assert self.child.running, self.child.output()[-3000:]

    def end(self) -> Cost:
        (self._folder / "stop").touch()
        result = self._folder / "result"
        until(lambda: result.exists() or not self.child.running, "it has seen its messages")
        assert result.exists(), self.child.output()[-3000:]
        counts: Counter[str] = Counter()
        lines = []
        for line in result.read_text().splitlines():
            word, _, rest = line.partition(" ")
            if rest.isdecimal():
                counts[word] = int(rest)
            else:
                lines.append(line)
        return Cost(counts["sent"], counts["again"], counts["unanswered"], lines)


def topic_of(client: str) -> str:
    return f"Rolling{client.rsplit('-', 1)[1].replace('.', '')}"


@contextmanager
def applications(
    cluster: Cluster, folder: Path, route_millis: int
) -> Iterator[Mapping[str, Application]]:
    """One for each line of the client, which send and consume."""
    with ExitStack() as stack:
        found = {}
        for client in CLIENTS:
            cluster.create(topic_of(client))
            found[client] = Application(client, cluster.namesrv, folder / client, route_millis)
            stack.callback(found[client].child.kill)
        for one in found.values():
            one.wait_until_running()
        yield found


def play(kind: str, way: Way, folder: Path) -> dict[str, Cost]:
    """What rounds of three replacements cost the application of each client. Prints how far it is."""
    with ExitStack() as stack:
        cluster = Cluster(kind, folder, stack)
        clients = stack.enter_context(applications(cluster, folder, way.route_millis))
        topics = [one.topic for one in clients.values()]
        for which in ROUNDS[kind]:
            for name in NAMES:
                began = time.monotonic()
                if way.writes_end_first:
                    cluster.end_writes(name, topics)
                ended = time.monotonic()
                cluster.replace(name, which)
                replaced = time.monotonic()
                cluster.wait_for_more(name, topics)
                times = f"{ended - began:.1f}, {replaced - ended:.1f}, {time.monotonic() - replaced:.1f}"
                print(f"{name}: {times} s until no writes, replaced, writes again")
        costs = {client: one.end() for client, one in clients.items()}
    for client, cost in costs.items():
        print(
            f"{client}: {cost.sent} messages, {cost.again} of them came again,"
            f" {cost.unanswered} sends without an answer, {len(cost.lines)} errors or losses"
        )
    return costs


def main() -> None:
    kind, way = sys.argv[1:]
    # Nobody is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        for client, cost in play(kind, WAYS[way], Path(folder)).items():
            print("".join(f"{client}: {line}\n" for line in cost.lines), end="")


if __name__ == "__main__":
    main()

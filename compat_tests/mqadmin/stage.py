"""The same state on the real server and on TriMQ, and what each tool prints of it on each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from compat_tests.mqadmin.case import BROKER, CLUSTER, AdminCase
from compat_tests.mqadmin.masks import mask
from compat_tests.mqadmin.tools import OfficialTool, OurTool, Printed, temporary
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options, Server
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.brokers.namesrv import ORDER_TOPICS
from trimq.admin.errors import AdminError, NotFound
from trimq.admin.messages.finding import MessageQuery
from trimq.codec.names import TRACE_TOPIC
from trimq.codec.records.record import parse_record
from trimq.mqadmin.common.traces import traces_of
from trimq.remoting.errors import TransportError

VECTORS: Final = ROOT / "tests" / "vectors"

SENT: Final = "AdminSent"
# A topic whose messages leave traces, and who consumes it.
TRACED: Final = "AdminTraced"
TRACER: Final = "AdminTracer"
TRACE_MAKER: Final = "AdminTraceMaker"
# Clients do not make the topic of their traces.
SETTINGS: Final = Options(settings={"traceTopicEnable": "true"})
MEMBER: Final = "AdminMember"
MAKER: Final = "AdminMaker"
# A group that cases move, with its topic; and one whose two members want different tags.
MOVER, MOVED = "AdminMover", "AdminMoved"
SPLIT: Final = "AdminSplit"
# (body, key, tag, queue) of each message that the stage sends.
MESSAGES: Final = (
    ("body-0", "key-0", "TagA", 0),
    ("body-1", "key-1", "TagB", 1),
    ("body-2", "key-2", "TagA", 2),
    ("body-3", "key-1", "TagA", 1),
)

R = TypeVar("R")
# Commands behind which the real broker still has to put messages into their queues, or topics into routes.
SENDING: Final = frozenset({"sendMessage", "checkMsgSendRT", "sendMsgStatus"})
CREATING: Final = frozenset({"updateTopic", "updateStaticTopic"})
# For the stage's own questions: what is compared is what the tools print.
ANSWER_SECONDS: Final = 30.0
KINDS: Final = ("real", "trimq")
# The sides that are compared with the official tool on the real server.
Side = tuple[str, str]
REFERENCE: Final[Side] = ("official", "real")
COMPARED: Final[tuple[Side, ...]] = (("official", "trimq"), ("ours", "real"), ("ours", "trimq"))


class AdminStage:
    """Both servers, each with both tools; each case is run once on every side, when it is first asked for.

    The servers take their turns beside each other: mostly a tool waits, or its server.
    """

    def __init__(self, launch: Launcher, folder: Path, tree: Path) -> None:
        self._stack = ExitStack()
        self._printed: dict[str, dict[Side, list[Printed]]] = {}
        # Cases that differed at first.
        self._played_again: set[str] = set()
        self._folder = folder
        self._pool = self._stack.enter_context(ThreadPoolExecutor(len(KINDS)))
        try:
            self.ours = self._our_tool(folder)
            self.official: dict[str, OfficialTool] = {}
            self._our_tools: dict[str, OurTool] = {}
            for kind in KINDS:
                self._tools_folder(kind).mkdir()
                tool = self.official[kind] = OfficialTool(self._tools_folder(kind))
                self._stack.callback(tool.close)
                self._our_tools[kind] = self._our_tool(self._tools_folder(kind))
            real = RealServer(launch, folder / "real", SETTINGS)
            self._stack.callback(real.kill)
            trimq = TrimqServer(folder / "trimq", SETTINGS, tree=tree)
            self._stack.callback(trimq.stop)
            self.servers: dict[str, Server] = {"real": real, "trimq": trimq}
            self._files = _write_files(folder)
            self._words = self._beside(self._begin)
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        self._stack.close()

    def _our_tool(self, folder: Path) -> OurTool:
        tool = OurTool(folder)
        self._stack.callback(tool.close)
        return tool

    def printed(self, case: AdminCase) -> dict[Side, list[Printed]]:
        """What every line of the case printed, by side."""
        if str(case) not in self._printed:
            done = self._beside(lambda kind: self._run_on(case, kind))
            self._printed[str(case)] = {**done["real"], **done["trimq"]}
        return self._printed[str(case)]

    def play_again(self, case: AdminCase) -> bool:
        """Forget what the case printed, once; whether it was remembered."""
        is_first = str(case) not in self._played_again
        if is_first:
            self._played_again.add(str(case))
            self._printed.pop(str(case), None)
        return is_first

    def shown(self, case: AdminCase, side: Side) -> str:
        """The case's text without what belongs to this run."""
        text = "".join(one.out for one in self.printed(case)[side])
        text = text.replace(str(self._out(case, side)), "<out>")
        text = text.replace(str(temporary(self._tools_folder(side[1]))), "<tmp>")
        text = mask(text, self.servers[side[1]])
        for pattern, replacement in case.masks:
            text = re.sub(pattern, replacement, text)
        return text

    def words(
        self, line: str, kind: str, case: AdminCase | None = None, out: Path | None = None
    ) -> list[str]:
        """A command line with this server's names in it."""
        slug = re.sub(r"\W", "", str(case).title())
        values = {**self._words[kind], "topic": f"Topic{slug}", "group": f"Group{slug}", "out": out}
        return [word.format(**values) for word in line.split(" ")]

    def _beside(self, act: Callable[[str], R]) -> dict[str, R]:
        """What acting on each server gives, all at once."""
        return dict(zip(KINDS, self._pool.map(act, KINDS), strict=True))

    def _tools_folder(self, kind: str) -> Path:
        return self._folder / f"tools-{kind}"

    def _begin(self, kind: str) -> dict[str, str]:
        server = self.servers[kind]
        server.start()
        return self._fill(server, self.official[kind])

    def _run_on(self, case: AdminCase, kind: str) -> dict[Side, list[Printed]]:
        return {(tool, kind): self._run(case, (tool, kind)) for tool in ("official", "ours")}

    def _out(self, case: AdminCase, side: Side) -> Path:
        return self._folder / "out" / "-".join(side) / str(case)

    def _run(self, case: AdminCase, side: Side) -> list[Printed]:
        """What every line printed; what files hold that were written stands behind it."""
        tool = (self.official if side[0] == "official" else self._our_tools)[side[1]]
        server = self.servers[side[1]]
        out = self._out(case, side)
        lines = [self.words(line, side[1], case, out) for line in case.lines]
        endless = lines.pop() if case.interrupted_after else None
        try:
            printed = []
            for line in lines:
                printed.append(_with_files(tool.run(server.namesrv_addr, line)))
                _settle(server, line)
            if endless is not None:
                count = case.interrupted_after
                printed.append(tool.interrupt(server.namesrv_addr, endless, count))
            return printed
        finally:
            self._clean(server, *self.words("{topic} {group}", side[1], case))
            if any("{mover}" in line for line in case.lines):
                with admin_of(server) as admin:
                    wait_until_consumed(admin, MOVER, MOVED)

    def _clean(self, server: Server, topic: str, group: str) -> None:
        with admin_of(server) as admin:
            admin.delete_kv(ORDER_TOPICS, topic)
            for name in (topic, f"%RETRY%{group}", f"%DLQ%{group}"):
                with suppress(AdminError):
                    admin.delete_topic(name, CLUSTER)
            with suppress(AdminError):
                admin.delete_group(server.broker_addr, group, True)

    def _traced(self, official: OfficialTool, ns: str, admin: BlockingAdminClient) -> str:
        """The id of a message whose sending and consumption have been traced by the official client."""
        message_id = official.ask("trace", ns, TRACE_MAKER, TRACED, "traced").out.strip()
        query = MessageQuery(topic=TRACE_TOPIC, key=message_id)

        def kinds() -> set[str]:
            with suppress(AdminError, TransportError):
                found = admin.query_messages(query)
                return {one.kind for message in found for one in traces_of(message, message_id)}
            return set()

        until(lambda: len(kinds()) == 2, "both traces are stored")
        return message_id

    def _fill(self, server: Server, official: OfficialTool) -> dict[str, str]:
        """Topics, messages, clients: by the official tool and client only."""
        ns = server.namesrv_addr
        # A held pull learns of a reset when it ends: after 15 seconds otherwise.
        setting = ["-b", server.broker_addr, "-k", "longPollingEnable", "-v", "false"]
        official.run(ns, ["updateBrokerConfig", *setting])
        for topic in (SENT, MOVED, SPLIT):
            _create(official, server, topic, 4)
        for queue in range(4):
            where = ["-b", BROKER, "-i", str(queue)]
            _send(official, ns, "-t", MOVED, "-p", f"moved-{queue}", *where)
        for body, key, tag, queue in MESSAGES:
            where = ["-b", BROKER, "-i", str(queue)]
            _send(official, ns, "-t", SENT, "-p", body, "-k", key, "-c", tag, *where)
        official.ask("consumer", ns, MEMBER, SENT, "TagA || TagB")
        official.ask("producer", ns, MAKER, SENT)
        official.ask("consumer", ns, MOVER, MOVED, "*")
        for tag in ("TagA", "TagB"):
            # Members that are new may differ: the tools wait two minutes.
            official.ask("consumer", ns, SPLIT, SPLIT, tag, "300")
        _create(official, server, TRACED, 1)
        official.ask("consumer", ns, TRACER, TRACED, "*", "traced")
        with admin_of(server) as admin:
            wait_until_consumed(admin, MEMBER, SENT)
            wait_until_consumed(admin, MOVER, MOVED)
            pulled = admin.pull(admin.place_of(SENT, BROKER, 2), 0)
            assert pulled.messages, f"{server}: {pulled.status}"
            message = pulled.messages[0]
            (client,) = admin.consumer_connection(MEMBER).connection_set
            traced = self._traced(official, ns, admin)
            wait_until_consumed(admin, TRACER, TRACED, queues=1)
            for group in (MEMBER, MOVER, SPLIT, TRACER):
                wait_until_retries_are_read(admin, group)
        return {
            "b": server.broker_addr,
            "sent": SENT,
            "member": MEMBER,
            "maker": MAKER,
            "mover": MOVER,
            "moved": MOVED,
            "split": SPLIT,
            **self._files,
            "client": client.client_id or "",
            "offset_id": message.offset_id,
            "unique_id": message.message_id,
            "traced": traced,
        }


def admin_of(server: Server) -> BlockingAdminClient:
    return BlockingAdminClient(server.namesrv_addr, timeout=ANSWER_SECONDS)


def _settle(server: Server, line: Sequence[str]) -> None:
    """Until what the command line has done shows: the real broker answers a send before it is in its queue, and a
    new topic when all NameServers know it or when that has taken 3 s.
    """
    if line[0] not in SENDING | CREATING:
        return
    with admin_of(server) as admin:

        def is_quiet() -> bool:
            return admin.broker_runtime(server.broker_addr)["dispatchBehindBytes"] == "0"

        if line[0] in SENDING:
            until(is_quiet, "all messages are in their queues")
        else:
            topic = line[line.index("-t") + 1]
            until(lambda: _has_route(admin, topic), f"{topic} has a route")


def _has_route(admin: BlockingAdminClient, topic: str) -> bool:
    with suppress(NotFound):
        return bool(admin.topic_route(topic))
    return False


def _create(official: OfficialTool, server: Server, topic: str, queues: int) -> None:
    words = ["updateTopic", "-b", server.broker_addr, "-t", topic]
    words += ["-r", str(queues), "-w", str(queues)]

    def is_created() -> bool:
        return "success" in official.run(server.namesrv_addr, words).out

    # The tool gives a busy broker 5 s.
    until(is_created, f"{topic} is there")


def _send(official: OfficialTool, ns: str, *words: str) -> None:
    """By the official tool, which sends nothing while the NameServer does not know of a new topic yet."""

    def sent() -> bool:
        printed = official.run(ns, ["sendMessage", *words])
        assert "SEND_OK" in printed.out or f"The broker[{BROKER}] not exist" in printed.err, printed
        return "SEND_OK" in printed.out

    until(sent, "the topic has a route")


def _with_files(printed: Printed) -> Printed:
    """The text, and behind it what is in the files that it names."""
    named = re.findall(r"(?:written to file|export) (\S+)", printed.out)
    texts = [f"\n{name}:\n{Path(name).read_text()}\n" for name in named]
    return replace(printed, out="".join([printed.out, *texts]))


def wait_until_consumed(
    admin: BlockingAdminClient, group: str, topic: str, queues: int = 4
) -> None:
    """Until the group has committed the end of all queues."""

    def is_consumed() -> bool:
        with suppress(AdminError, TransportError):
            stats = admin.consume_stats(group, topic)
            return len(stats.offsets) == queues and not stats.behind
        return False

    until(is_consumed, f"{group} has consumed everything")


def wait_until_retries_are_read(admin: BlockingAdminClient, group: str) -> None:
    """Until the group has an offset in its retry topic."""

    def are_read() -> bool:
        with suppress(AdminError, TransportError):
            return any(
                queue.topic == f"%RETRY%{group}" for queue in admin.consume_stats(group).offsets
            )
        return False

    until(are_read, f"{group} reads its retries")


def _printable_log() -> bytes:
    """Golden records, without those that the official tool fails to print: a % is a format to it."""
    data = (VECTORS / "commitlog-head.bin").read_bytes()
    records, at = [], 0
    while at < len(data):
        size = parse_record(data, at).total_size
        records.append(data[at : at + size])
        at += size
    return b"".join(record for record in records if b"%" not in record)


def _write_files(folder: Path) -> dict[str, str]:
    """Lists for the commands that read them from files."""
    texts = {
        "topics_file": '[{"topicName":"ListedTopic","readQueueNums":2,"writeQueueNums":3,"perm":6}]',
        "groups_file": '[{"groupName":"ListedGroup","retryMaxTimes":3}]',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "log_file").write_bytes(_printable_log())
    return {name: str(folder / name) for name in (*texts, "log_file")}

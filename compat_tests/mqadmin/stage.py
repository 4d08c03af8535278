"""The same state on the real server and on TriMQ, and what each tool prints of it on each."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from admin.blocking import BlockingAdminClient
from admin.errors import AdminError
from admin.namesrv import ORDER_TOPICS
from compat_tests.mqadmin.case import BROKER, CLUSTER, AdminCase
from compat_tests.mqadmin.masks import mask
from compat_tests.mqadmin.tools import OfficialTool, OurTool, Printed
from compat_tests.ours import TrimqServer
from compat_tests.real import Launcher, RealServer
from compat_tests.server import Server

SENT: Final = "AdminSent"
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

# The sides that are compared with the official tool on the real server.
Side = tuple[str, str]
REFERENCE: Final[Side] = ("official", "real")
COMPARED: Final[tuple[Side, ...]] = (("official", "trimq"), ("ours", "real"), ("ours", "trimq"))


class AdminStage:
    """Both servers, both tools; each case is run once on every side, when it is first asked for."""

    def __init__(self, launch: Launcher, folder: Path, tree: Path) -> None:
        self._stack = ExitStack()
        self._printed: dict[str, dict[Side, list[Printed]]] = {}
        try:
            self.official = OfficialTool(folder)
            self._stack.callback(self.official.close)
            self.ours = OurTool(folder)
            real = RealServer(launch, folder / "real").start()
            self._stack.callback(real.kill)
            trimq = TrimqServer(folder / "trimq", tree=tree).start()
            self._stack.callback(trimq.stop)
            self.servers: dict[str, Server] = {"real": real, "trimq": trimq}
            self._files = _write_files(folder)
            self._words = {kind: self._fill(server) for kind, server in self.servers.items()}
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        self._stack.close()

    def printed(self, case: AdminCase) -> dict[Side, list[Printed]]:
        """What every line of the case printed, by side."""
        if str(case) not in self._printed:
            self._printed[str(case)] = {
                side: self._run(case, side)
                for side in (REFERENCE, *COMPARED)
                if case.waits_for is None or side != ("official", "trimq")
            }
        return self._printed[str(case)]

    def shown(self, case: AdminCase, side: Side) -> str:
        """The case's text without what belongs to this run."""
        text = "".join(one.out for one in self.printed(case)[side])
        text = mask(text, self.servers[side[1]])
        for pattern, replacement in case.masks:
            text = re.sub(pattern, replacement, text)
        return text

    def words(self, line: str, kind: str, case: AdminCase | None = None) -> list[str]:
        """A command line with this server's names in it."""
        slug = re.sub(r"\W", "", str(case).title())
        values = {**self._words[kind], "topic": f"Topic{slug}", "group": f"Group{slug}"}
        return [word.format(**values) for word in line.split(" ")]

    def _run(self, case: AdminCase, side: Side) -> list[Printed]:
        tool = self.official if side[0] == "official" else self.ours
        server = self.servers[side[1]]
        lines = [self.words(line, side[1], case) for line in case.lines]
        try:
            return [tool.run(server.namesrv_addr, line) for line in lines]
        finally:
            self._clean(server, *self.words("{topic} {group}", side[1], case))
            if any("{mover}" in line for line in case.lines):
                with BlockingAdminClient(server.namesrv_addr) as admin:
                    wait_until_consumed(admin, MOVER, MOVED)

    def _clean(self, server: Server, topic: str, group: str) -> None:
        with BlockingAdminClient(server.namesrv_addr) as admin:
            admin.delete_kv(ORDER_TOPICS, topic)
            for name in (topic, f"%RETRY%{group}", f"%DLQ%{group}"):
                with suppress(AdminError):
                    admin.delete_topic(name, CLUSTER)
            with suppress(AdminError):
                admin.delete_group(server.broker_addr, group, True)

    def _fill(self, server: Server) -> dict[str, str]:
        """Topics, messages, clients: by the official tool and client only."""
        ns = server.namesrv_addr
        # A held pull learns of a reset when it ends: after 15 seconds otherwise.
        setting = ["-b", server.broker_addr, "-k", "longPollingEnable", "-v", "false"]
        self.official.run(ns, ["updateBrokerConfig", *setting])
        for topic in (SENT, MOVED, SPLIT):
            queues = ["-b", server.broker_addr, "-t", topic, "-r", "4", "-w", "4"]
            self.official.run(ns, ["updateTopic", *queues])
        for queue in range(4):
            where = ["-b", BROKER, "-i", str(queue)]
            self.official.run(ns, ["sendMessage", "-t", MOVED, "-p", f"moved-{queue}", *where])
        for body, key, tag, queue in MESSAGES:
            where = ["-b", BROKER, "-i", str(queue)]
            self.official.run(
                ns, ["sendMessage", "-t", SENT, "-p", body, "-k", key, "-c", tag, *where]
            )
        self.official.ask("consumer", ns, MEMBER, SENT, "TagA || TagB")
        self.official.ask("producer", ns, MAKER, SENT)
        self.official.ask("consumer", ns, MOVER, MOVED, "*")
        for tag in ("TagA", "TagB"):
            # Members that are new may differ: the tools wait two minutes.
            self.official.ask("consumer", ns, SPLIT, SPLIT, tag, "300")
        with BlockingAdminClient(ns) as admin:
            wait_until_consumed(admin, MEMBER, SENT)
            wait_until_consumed(admin, MOVER, MOVED)
            pulled = admin.pull(admin.place_of(SENT, BROKER, 2), 0)
            assert pulled.messages, f"{server}: {pulled.status}"
            message = pulled.messages[0]
            (client,) = admin.consumer_connection(MEMBER).connection_set
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
        }


def wait_until_consumed(
    admin: BlockingAdminClient, group: str, topic: str, seconds: float = 60
) -> None:
    """Until the group has committed the end of all four queues."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(AdminError):
            stats = admin.consume_stats(group, topic)
            if len(stats.offsets) == 4 and not stats.behind:
                return
        if time.monotonic() > deadline:
            raise AssertionError(f"{group} did not consume everything within {seconds} s")
        time.sleep(0.1)


def _write_files(folder: Path) -> dict[str, str]:
    """Lists for the commands that read them from files."""
    texts = {
        "topics_file": '[{"topicName":"ListedTopic","readQueueNums":2,"writeQueueNums":3,"perm":6}]',
        "groups_file": '[{"groupName":"ListedGroup","retryMaxTimes":3}]',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in texts}

"""The same state on the real server and on TriMQ, and what each tool prints of it on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, TypeVar

from compat_tests.mqadmin.case import CLUSTER, AdminCase
from compat_tests.mqadmin.exchanges import Exchange
from compat_tests.mqadmin.filling import (
    MOVED,
    MOVER,
    SETTINGS,
    admin_of,
    fill,
    wait_until_consumed,
)
from compat_tests.mqadmin.recorded import Recorded, used_values
from compat_tests.mqadmin.relay import RelayedTool
from compat_tests.mqadmin.texts import shown, with_files, words_of, write_files
from compat_tests.mqadmin.tools import OfficialTool, OurTool, Printed, temporary
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Server
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.brokers.namesrv import ORDER_TOPICS
from trimq.admin.errors import AdminError, NotFound

R = TypeVar("R")
# Commands behind which the real broker still has to put messages into their queues, or topics into routes.
SENDING: Final = frozenset({"sendMessage", "checkMsgSendRT", "sendMsgStatus"})
CREATING: Final = frozenset({"updateTopic", "updateStaticTopic"})
KINDS: Final = ("real", "trimq")
# The sides that are compared with the official tool on the real server.
Side = tuple[str, str]
REFERENCE: Final[Side] = ("official", "real")
COMPARED: Final[tuple[Side, ...]] = (("official", "trimq"), ("ours", "real"), ("ours", "trimq"))


class AdminStage:
    """Both servers, each with both tools; each case is run once on every side, when it is first asked for.

    The servers take their turns beside each other: mostly a tool waits, or its server.
    """

    def __init__(
        self, launch: Launcher, folder: Path, tree: Path, *, recording: bool = False
    ) -> None:
        """`recording`: what our tool asks the real server is kept, see `recorded`."""
        self._stack = ExitStack()
        self._printed: dict[str, dict[Side, list[Printed]]] = {}
        # Cases that differed at first.
        self._played_again: set[str] = set()
        # By case, where it is recorded.
        self._heard: dict[str, list[list[Exchange]]] = {}
        self._folder = folder
        self._pool = self._stack.enter_context(ThreadPoolExecutor(len(KINDS)))
        try:
            self.ours = self._our_tool(folder)
            self.official: dict[str, OfficialTool] = {}
            self._our_tools: dict[str, OurTool | RelayedTool] = {}
            for kind in KINDS:
                self._tools_folder(kind).mkdir()
                tool = self.official[kind] = OfficialTool(self._tools_folder(kind))
                self._stack.callback(tool.close)
                self._our_tools[kind] = self._our_tool(self._tools_folder(kind))
            real = RealServer(launch, folder / "real", SETTINGS)
            self._stack.callback(real.kill)
            trimq = TrimqServer(folder / "trimq", SETTINGS, tree=tree)
            self._stack.callback(trimq.stop)
            self.servers: dict[str, RealServer | TrimqServer] = {"real": real, "trimq": trimq}
            self._relayed: RelayedTool | None = None
            if recording:
                self._relayed = RelayedTool(
                    self._our_tool(self._tools_folder("real")), real, folder
                )
                self._our_tools["real"] = self._relayed
            self._files = write_files(folder)
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
        temp = temporary(self._tools_folder(side[1]))
        server, out = self.servers[side[1]], self._out(case, side)
        return shown(case, self.printed(case)[side], server, out, temp)

    def fail(self, line: str, kind: str) -> Printed:
        """What our tool says of a line that cannot be done."""
        if self._relayed is not None:
            self._relayed.lines.clear()
        return self._our_tools[kind].run(self.servers[kind].namesrv_addr, self.words(line, kind))

    def recorded(self, case: AdminCase) -> Recorded:
        """What the real server and the official tool on it have shown of a case, to be kept."""
        return self._recorded(case.lines, self._heard[str(case)], self.shown(case, REFERENCE))

    def recorded_failure(self, line: str) -> Recorded:
        """The same of the line that has failed last."""
        assert self._relayed is not None
        return self._recorded([line], list(self._relayed.lines), "")

    def _recorded(self, lines: Sequence[str], heard: list[list[Exchange]], text: str) -> Recorded:
        assert self._relayed is not None
        move = self._relayed.recording.text
        values = used_values(lines, self._words["real"])
        moved = {name: move(value) for name, value in values.items()}
        return Recorded(moved, heard, move(text))

    def words(
        self, line: str, kind: str, case: AdminCase | None = None, out: Path | None = None
    ) -> list[str]:
        """A command line with this server's names in it."""
        return words_of(line, self._words[kind], case, out)

    def _beside(self, act: Callable[[str], R]) -> dict[str, R]:
        """What acting on each server gives, all at once."""
        return dict(zip(KINDS, self._pool.map(act, KINDS), strict=True))

    def _tools_folder(self, kind: str) -> Path:
        return self._folder / f"tools-{kind}"

    def _begin(self, kind: str) -> dict[str, str]:
        server = self.servers[kind]
        server.start()
        return {**fill(server, self.official[kind]), **self._files}

    def _run_on(self, case: AdminCase, kind: str) -> dict[Side, list[Printed]]:
        found = {("official", kind): self._run(case, ("official", kind))}
        if kind == "real" and self._relayed is not None:
            self._relayed.lines.clear()
        found["ours", kind] = self._run(case, ("ours", kind))
        if kind == "real" and self._relayed is not None:
            self._heard[str(case)] = list(self._relayed.lines)
        return found

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
                printed.append(with_files(tool.run(server.namesrv_addr, line)))
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

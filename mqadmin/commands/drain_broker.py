"""drainBroker: until a broker has nothing any more that somebody waits for, so that it can be stopped. A command of
our own."""

import time
from typing import Final

import click

from trimq.admin.brokers.leaving import Remainder
from trimq.codec.headers.namesrv import UnRegisterBrokerRequestHeader
from trimq.codec.names import MASTER_ID
from trimq.mqadmin.common.drain_bar import DrainBar, saying_what_next
from trimq.mqadmin.common.members import master_named
from trimq.mqadmin.common.planning import would
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run, admin_command, dry_run_option

_POLL_SECONDS: Final = 1.0
# A broker that changes one of its topics tells NameServers of all of them, with their own permissions.
_WIPE_SECONDS: Final = 10.0
ROUTE_SECONDS: Final = 30.0
"""Clients ask for routes that often (ClientConfig.pollNameServerInterval)."""


@admin_command("drainBroker")
@click.option("-b", "--brokerName", "broker_name", required=True, help="The broker's name.")
@click.option(
    "--drain-settle",
    type=click.FloatRange(min=0),
    default=ROUTE_SECONDS,
    show_default=True,
    help="How long producers may go on sending before they have asked for new routes.",
)
@click.option(
    "--drain-timeout",
    type=click.FloatRange(min=0),
    help="Give up after so many seconds.  [default: wait for as long as it takes]",
)
@click.option(
    "--ignore-group",
    "ignored",
    multiple=True,
    metavar="GROUP",
    help="Do not wait for this group: it will not come back. May be given several times.",
)
@dry_run_option
def command(
    run: Run,
    broker_name: str,
    drain_settle: float,
    drain_timeout: float | None,
    ignored: tuple[str, ...],
    dry_run: bool,
) -> None:
    drain = Drain(run, broker_name, frozenset(ignored))
    if dry_run:
        left = drain.look()
        would(run, f"stop writes to {broker_name}, and wait for:", broker=broker_name)
        drain.tell_all(left)
        return
    drain.run(drain_settle, drain_timeout)


class Drain:
    """One broker that is to leave."""

    def __init__(self, run: Run, broker_name: str, ignored: frozenset[str]) -> None:
        self._run = run
        self._name = broker_name
        self._ignored = ignored
        self._broker = master_named(run, broker_name)
        self._addr = self._broker.broker_addrs[MASTER_ID]
        self._wiped = False
        self._progress = _Progress(run, f"draining {broker_name}")

    def look(self) -> Remainder:
        """What is left now."""
        return self._run.admin.remainder(self._addr, self._ignored)

    def tell_all(self, left: Remainder) -> None:
        """A line for each that holds it up."""
        out = self._run.out
        for one in left.unread:
            text = f"{one.group} has {one.messages} messages of {one.topic} to read"
            out.row(text, {"group": one.group, "topic": one.topic, "messages": one.messages})
        for what, number in left.waiting.items():
            out.row(f"{number} {what}", {"what": what, "messages": number})
        if not left.messages:
            out.row("nothing", {"messages": 0})

    def run(self, route_seconds: float, timeout: float | None) -> None:
        """Failed, with what to do next, when it is interrupted or takes too long."""
        with saying_what_next(self._undo):
            with self._progress:
                self._wait(route_seconds, timeout)
            self._leave()

    def _undo(self) -> str:
        if not self._wiped:
            return "nothing was changed"
        return (
            f"{self._name} takes no messages: run this again to go on, or mqadmin addWritePerm -b {self._name}"
            " to take it back"
        )

    def _wait(self, route_seconds: float, timeout: float | None) -> None:
        began = time.monotonic()
        wiped_at = -_WIPE_SECONDS
        while True:
            now = time.monotonic()
            if now - wiped_at >= _WIPE_SECONDS:
                self._wipe()
                wiped_at = now
            left = self.look()
            to_wait = began + route_seconds - now
            if not left.messages and to_wait <= 0:
                return
            if timeout is not None and now - began >= timeout:
                self.tell_all(left)
                raise Failed(f"not empty after {timeout:g} s; {self._undo()}")
            self._progress.show(left, to_wait)
            time.sleep(_POLL_SECONDS)

    def _wipe(self) -> None:
        for addr in self._run.admin.name_servers:
            self._run.admin.wipe_write_perm(addr, self._name)
            self._wiped = True

    def _leave(self) -> None:
        header = UnRegisterBrokerRequestHeader(
            broker_name=self._name,
            broker_addr=self._addr,
            cluster_name=self._broker.cluster,
            broker_id=MASTER_ID,
        )
        for addr in self._run.admin.name_servers:
            self._run.admin.unregister(addr, header)
        self._run.out.row(
            f"{self._name} is empty and unregistered: stop it now, within half a minute it registers again",
            {"broker": self._name, "addr": self._addr, "empty": True},
        )


class _Progress(DrainBar):
    """Of one broker."""

    def show(self, left: Remainder, to_wait: float) -> None:
        """What holds it up most, and how many messages are left in all."""
        text = "empty, waiting for new routes"
        if left.messages:
            text = f"{left.messages} messages left: {_most(left)}"
        if not self.watched:
            self.line(text, {"messages": left.messages, "most": _most(left)})
            return
        if not left.messages:
            text = f"empty, {max(to_wait, 0):.0f} s until producers have new routes"
        self.draw(left.messages, text)


def _most(left: Remainder) -> str:
    named = [(one.messages, f"{one.group} in {one.topic}") for one in left.unread]
    named += [(number, what) for what, number in left.waiting.items()]
    if not named:
        return ""
    number, what = max(named)
    return f"{what} {number}"

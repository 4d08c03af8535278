"""clusterList: brokers with version, rates and waiting times; with -m message counts by day.

Java: ClusterListSubCommand. A broker that does not answer gets a line with empty values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

from trimq.codec.bodies.cluster import ClusterInfo
from trimq.mqadmin.common.repeating import repeat
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import hash_order, java

_HEAD: Final = (
    "{:<22}  {:<22}  {:<4}  {:<22} {:<16}  {:>16}  {:>30}  {:<22}  {:<11}  {:<12}  {:<8}  {:<10}"
)
_ROW: Final = (
    "{:<22}  {:<22}  {:<4}  {:<22} {:<16}  {:>16}  {:>30}  {:<22}  {:>11}  {:<12}  {:<8}  {:>10}"
)
_TITLES: Final = [
    "#Cluster Name",
    "#Broker Name",
    "#BID",
    "#Addr",
    "#Version",
    "#InTPS(LOAD)",
    "#OutTPS(LOAD)",
    "#Timer(Progress)",
    "#PCWait(ms)",
    "#Hour",
    "#SPACE",
    "#ACTIVATED",
]
_COUNTS: Final = "{:<16}  {:<32} {:>14} {:>14} {:>14} {:>14}"
_COUNT_TITLES: Final = [
    "#Cluster Name",
    "#Broker Name",
    "#InTotalYest",
    "#OutTotalYest",
    "#InTotalToday",
    "#OutTotalToday",
]
_HOUR: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Member:
    """A broker of a cluster; `values` are its runtime values, empty when it did not answer."""

    cluster: str
    name: str
    broker_id: int
    addr: str
    values: dict[str, str]

    def number(self, key: str) -> float:
        """A value's first word as a number; 0 where there is none."""
        words = self.values.get(key, "").split()
        try:
            return float(words[0])
        except (IndexError, ValueError):
            return 0.0


@admin_command("clusterList")
@click.option("-m", "--moreStats", "more", is_flag=True, help="Message counts by day instead.")
@click.option(
    "-i", "--interval", type=click.IntRange(min=1), metavar="SECONDS", help="Repeat until Ctrl-C."
)
@click.option("-c", "--clusterName", "cluster", help="Only this cluster.")
def command(run: Run, more: bool, interval: int | None, cluster: str | None) -> None:
    if interval is None:
        _print(run, more, cluster)
    else:
        repeat(lambda: _print(run, more, cluster), interval)


def _print(run: Run, more: bool, cluster: str | None) -> None:
    info = run.admin.cluster_info()
    clusters = [cluster] if cluster else hash_order(info.cluster_addr_table)
    run.out.head(_COUNTS.format(*_COUNT_TITLES) if more else _HEAD.format(*_TITLES))
    for member in _members(run, info, clusters):
        run.out.line(_counts(member) if more else _load(member, run.admin.link.now()))
        run.out.value(
            {
                "cluster": member.cluster,
                "brokerName": member.name,
                "brokerId": member.broker_id,
                "addr": member.addr,
                "runtime": member.values,
            }
        )


def _members(run: Run, info: ClusterInfo, clusters: list[str]) -> Iterator[Member]:
    for cluster in clusters:
        for name in sorted(info.cluster_addr_table.get(cluster, ())):
            broker = info.broker_addr_table.get(name)
            for broker_id, addr in sorted(broker.broker_addrs.items()) if broker else ():
                values: dict[str, str] = {}
                try:
                    values = run.admin.broker_runtime(addr)
                except FAILURES as error:
                    run.problem(error)
                yield Member(cluster, name, broker_id, addr, values)


def _load(member: Member, now: int) -> str:
    values = member.values
    # Java prints what a broker did not say as null, and what it could not ask for as nothing.
    missing = None if values else ""

    def said(key: str) -> str:
        return java(values.get(key, missing))

    def queue(kind: str) -> str:
        absent = "N" if kind == "ack" and values else missing
        size = java(values.get(f"{kind}ThreadPoolQueueSize", absent))
        wait = java(values.get(f"{kind}ThreadPoolQueueHeadWaitTimeMills", absent))
        return f"{size},{wait}ms"

    earliest = int(member.number("earliestMessageTimeStamp"))
    hours = (now - earliest) / _HOUR if values.get("earliestMessageTimeStamp") else 0.0
    timer = (
        f"{int(member.number('timerReadBehind'))}-{int(member.number('timerOffsetBehind'))}"
        f"({member.number('timerCongestNum') / 10000:.1f}w,"
        f" {member.number('timerEnqueueTps'):.1f}, {member.number('timerDequeueTps'):.1f})"
    )
    return _ROW.format(
        member.cluster,
        member.name,
        member.broker_id,
        member.addr,
        said("brokerVersionDesc"),
        f"{member.number('putTps'):9.2f}({queue('send')})",
        f"{member.number('getTransferredTps'):9.2f}({queue('pull')}|{queue('ack')})",
        timer,
        said("pageCacheLockTimeMills"),
        f"{hours:2.2f}",
        f"{member.number('commitLogDiskRatio'):.4f}",
        java(values.get("brokerActive", "").lower() == "true"),
    )


def _counts(member: Member) -> str:
    def between(kind: str, earlier: str, later: str) -> int:
        first = member.number(f"msg{kind}Total{earlier}")
        return int(member.number(f"msg{kind}Total{later}") - first)

    return _COUNTS.format(
        member.cluster,
        member.name,
        between("Put", "YesterdayMorning", "TodayMorning"),
        between("Get", "YesterdayMorning", "TodayMorning"),
        between("Put", "TodayMorning", "TodayNow"),
        between("Get", "TodayMorning", "TodayNow"),
    )

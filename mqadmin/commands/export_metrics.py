"""exportMetrics: load, sizes and client versions of a cluster, to a file. Java: ExportMetricsCommand.

A broker without a master is left out: nobody there can be asked.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import click

from trimq.admin.errors import AdminError
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.progress import BrokerStatsData
from trimq.codec.names import MASTER_ID, SCHEDULE_TOPIC, TRANS_HALF_TOPIC
from trimq.codec.versions import version_name
from trimq.mqadmin.files.exports import folder_option, write_export
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import filled_order, hash_order, java, string_map

_PUTS: Final = "TOPIC_PUT_NUMS"
# The version that this tool stands for, as the official one names its own (MQVersion V5_5_0): 5.5.1's is not published.
_OWN_VERSION: Final = 513
_RATES: Final = ("normalInTps", "normalOutTps", "transInTps", "scheduleInTps")
_DAILY: Final = (
    "normalOneDayInNum",
    "normalOneDayOutNum",
    "transOneDayInNum",
    "scheduleOneDayInNum",
)


@admin_command("exportMetrics")
@click.option("-c", "--clusterName", "cluster", required=True, help="The cluster.")
@folder_option
def command(run: Run, cluster: str, folder: str) -> None:
    report: dict[str, dict[str, Any]] = {}
    rates: dict[str, float] = {}
    daily: Counter[str] = Counter()
    members = run.admin.members(cluster)
    for name in hash_order(members):
        addr = members[name].get(MASTER_ID)
        if addr is None:
            run.problem(f"broker {name!r} has no master")
            continue
        groups = run.admin.user_groups(addr).subscription_group_table
        runtime = run.admin.broker_runtime(addr)
        quota = _quota(run, addr, runtime, len(groups))
        for rate, value in quota["tps"].items():
            rates[rate] = rates.get(rate, 0.0) + value
        daily.update(quota["oneDayNum"])
        report[name] = string_map(
            {
                "runtimeEnv": _environment(runtime, run.admin.broker_config(addr)),
                "runtimeQuota": quota,
                "runtimeVersion": _versions(run, groups),
            }
        )
    total = {
        "totalTps": string_map({_total(name): rates.get(name, 0.0) for name in _RATES}),
        "totalOneDayNum": string_map({name: daily.get(name, 0) for name in _DAILY}),
    }
    result = {"evaluateReport": string_map(report), "totalData": string_map(total)}
    write_export(run, folder, "metrics.json", string_map(result))


def _environment(runtime: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, Any]:
    """The real broker's default for that setting is its number of processors."""
    return string_map(
        {
            "cpuNum": settings.get("clientCallbackExecutorThreads"),
            "totalMemKBytes": runtime.get("totalMemKBytes"),
        }
    )


def _quota(run: Run, addr: str, runtime: Mapping[str, str], groups: int) -> dict[str, Any]:
    half = _counter(run, addr, TRANS_HALF_TOPIC)
    delayed = _counter(run, addr, SCHEDULE_TOPIC)
    rates = (
        _rate(runtime, "putTps"),
        _rate(runtime, "getTransferredTps"),
        _tps(half),
        _tps(delayed),
    )
    daily = (_yesterday(runtime, "Put"), _yesterday(runtime, "Get"), _sum(half), _sum(delayed))
    ratios = ("commitLogDiskRatio", "consumeQueueDiskRatio")
    return string_map(
        {
            "diskRatio": string_map({key: runtime.get(key) for key in ratios}),
            "tps": string_map(dict(zip(_RATES, rates, strict=True))),
            "oneDayNum": string_map(dict(zip(_DAILY, daily, strict=True))),
            "messageAverageSize": runtime.get("putMessageAverageSize"),
            "topicSize": len(run.admin.user_topics(addr).topic_config_table),
            "groupSize": groups,
        }
    )


def _versions(run: Run, groups: Mapping[str, SubscriptionGroupConfig]) -> dict[str, Any]:
    """Languages and versions of the groups' consumers; groups without one are skipped."""
    clients: dict[str, None] = {}
    for name in filled_order(groups):
        try:
            connections = run.admin.consumer_connection(name).connection_set
        except AdminError:
            continue
        for one in connections:
            clients[f"{java(one.language)}%{version_name(one.version)}"] = None
    return string_map(
        {"rocketmqVersion": version_name(_OWN_VERSION), "clientInfo": hash_order(clients)}
    )


def _counter(run: Run, addr: str, topic: str) -> BrokerStatsData | None:
    try:
        return run.admin.broker_counter(addr, _PUTS, topic)
    except AdminError:
        # Nothing was counted yet.
        return None


def _tps(counter: BrokerStatsData | None) -> float:
    minute = counter.stats_minute if counter else None
    return minute.tps if minute else 0.0


def _sum(counter: BrokerStatsData | None) -> int:
    """The figure for the longest time that has one (StatsAllSubCommand.compute24HourSum)."""
    if counter is None:
        return 0
    spans = (counter.stats_day, counter.stats_hour, counter.stats_minute)
    return next((span.sum for span in spans if span and span.sum), 0)


def _rate(runtime: Mapping[str, str], key: str) -> float:
    """The first of the rates over 10, 60 and 600 seconds."""
    words = runtime.get(key, "").split()
    return float(words[0]) if words else 0.0


def _yesterday(runtime: Mapping[str, str], kind: str) -> int:
    first, last = (
        int(runtime.get(f"msg{kind}Total{day}Morning", "0")) for day in ("Yesterday", "Today")
    )
    return last - first


def _total(name: str) -> str:
    return f"total{name[0].upper()}{name[1:]}"

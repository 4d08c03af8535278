"""getLiteGroupInfo: how far a group is behind in lite topics. Java: GetLiteGroupInfoSubCommand."""

from typing import Final

import click

from trimq.codec.bodies.lite import GetLiteGroupInfoResponseBody, LiteLagInfo
from trimq.mqadmin.common.lite import group_option, on_brokers, parent_option, time_or
from trimq.mqadmin.framework import Run, admin_command, number_option

_TOPIC_ROW: Final = "{:<50} {:<16} {:<16} {:<16} {:<30}"
_TOPIC_TITLES: Final = (
    "#Broker Name",
    "#BrokerOffset",
    "#ConsumeOffset",
    "#LagCount",
    "#LastUpdate",
)
_LAG_ROW: Final = "{:<6} {:<40} {:<12} {:<30}"
_LAG_TITLES: Final = ("NO", "Lite Topic", "Lag Count", "UnconsumedTimestamp")


@admin_command("getLiteGroupInfo")
@parent_option
@group_option
@click.option("-l", "--liteTopic", "lite_topic", help="Only this lite topic.")
@number_option("-k", "--topK", "limit", default=20, help="How many from each broker.")
def command(run: Run, parent: str, group: str, lite_topic: str | None, limit: int) -> None:
    route = run.admin.topic_route(parent)
    found: list[GetLiteGroupInfoResponseBody] = []
    run.out.line(f"Lite Group Info: [{group}] [{parent}]")
    if lite_topic:
        run.out.head(_TOPIC_ROW.format(*_TOPIC_TITLES))

    def ask(broker_name: str, addr: str) -> None:
        info = run.admin.lite_group_info(addr, group, lite_topic or None, limit)
        found.append(info)
        if lite_topic:
            run.out.line(_topic_row(broker_name, info))
        run.out.value({"brokerName": broker_name, "info": info})

    on_brokers(run, route, ask)
    _print_total(run, found)
    if not lite_topic:
        _print_worst(run, found)


def _topic_row(broker_name: str, info: GetLiteGroupInfoResponseBody) -> str:
    progress = info.lite_topic_offset_wrapper
    if progress is None:
        return _TOPIC_ROW.format(broker_name, *"----")
    behind = progress.broker_offset - progress.consumer_offset
    last = time_or(progress.last_timestamp, "-")
    columns = (progress.broker_offset, progress.consumer_offset, behind, last)
    return _TOPIC_ROW.format(broker_name, *columns)


def _print_total(run: Run, found: list[GetLiteGroupInfoResponseBody]) -> None:
    now = run.admin.link.now()
    waiting = [one.earliest_unconsumed_timestamp for one in found]
    earliest = min([now, *(time for time in waiting if time > 0)])
    behind = sum(max(one.total_lag_count, 0) for one in found)
    seconds = (run.admin.link.now() - earliest) // 1000
    run.out.line(f"Total Lag Count: {behind}")
    run.out.line(f"Min Unconsumed Timestamp: {earliest} ({seconds} s ago)")
    run.out.line()


def _print_worst(run: Run, found: list[GetLiteGroupInfoResponseBody]) -> None:
    most = [lag for one in found for lag in one.lag_count_top_k or ()]
    oldest = [lag for one in found for lag in one.lag_timestamp_top_k or ()]
    run.out.line("------TopK by lag count-----")
    _print_lags(run, sorted(most, key=lambda lag: -lag.lag_count))
    run.out.line()
    run.out.line("------TopK by lag time------")
    _print_lags(run, sorted(oldest, key=lambda lag: lag.earliest_unconsumed_timestamp))


def _print_lags(run: Run, lags: list[LiteLagInfo]) -> None:
    run.out.head(_LAG_ROW.format(*_LAG_TITLES))
    for number, lag in enumerate(lags, 1):
        last = time_or(lag.earliest_unconsumed_timestamp, "-")
        run.out.line(_LAG_ROW.format(number, lag.lite_topic or "null", lag.lag_count, last))

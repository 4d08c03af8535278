"""statsAll: how much each topic receives and delivers, group by group. Java: StatsAllSubCommand."""

from typing import Final

import click

from trimq.admin.errors import AdminError, Refused
from trimq.codec.bodies.progress import BrokerStatsData, BrokerStatsItem
from trimq.codec.names import DLQ_PREFIX, MASTER_ID, RETRY_PREFIX
from trimq.mqadmin.common.gathering import progress_of
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import cut
from trimq.mqadmin.text.listing import in_order
from trimq.remoting.errors import TransportError

_HEAD: Final = "{:<64}  {:<64} {:>12} {:>11} {:>11} {:>14} {:>14}"
_TITLES: Final = (
    "#Topic",
    "#Consumer Group",
    "#Accumulation",
    "#InTPS",
    "#OutTPS",
    "#InMsg24Hour",
    "#OutMsg24Hour",
)
# Counters of the broker (Stats).
_PUT: Final = "TOPIC_PUT_NUMS"
_GET: Final = "GROUP_GET_NUMS"


@admin_command("statsAll")
@click.option("-a", "--activeTopic", "active_only", is_flag=True, help="Only topics in use.")
@click.option("-t", "--topic", "only", help="Only this topic.")
def command(run: Run, active_only: bool, only: str | None) -> None:
    names = in_order(run, run.admin.topic_names())
    run.out.head(_HEAD.format(*_TITLES))
    own = (RETRY_PREFIX, DLQ_PREFIX)
    chosen = [name for name in names if not name.startswith(own) and only in (None, "", name)]
    for topic in run.out.progress(chosen, "topics"):
        try:
            _show_topic(run, topic, active_only)
        except AdminError:
            # Deleted since the list was made, or a broker of it does not know it.
            continue
        except TransportError as error:
            run.problem(error)


def _show_topic(run: Run, topic: str, active_only: bool) -> None:
    brokers = run.admin.topic_route(topic).broker_datas
    addrs = [one.broker_addrs[MASTER_ID] for one in brokers if MASTER_ID in one.broker_addrs]
    taken = _Rate(run, addrs, _PUT, topic)
    try:
        groups = in_order(run, run.admin.topic_groups(topic))
    except TransportError as error:
        run.problem(error)
        return
    for group in groups:
        given = _Rate(run, addrs, _GET, f"{topic}@{group}")
        if active_only and not taken.day and not given.day:
            continue
        behind = max(0, _behind(run, group, topic))
        columns = (cut(topic, 64), cut(group, 64), behind)
        rates = (f"{taken.tps:.2f}", f"{given.tps:.2f}", taken.day, given.day)
        run.out.line(_HEAD.format(*columns, *rates))
        run.out.value(_value(topic, group, behind, taken, given))
    if not groups and (taken.day or not active_only):
        last = (f"{taken.tps:.2f}", "", taken.day, "NO_CONSUMER")
        run.out.line(_HEAD.format(cut(topic, 64), "", 0, *last))
        run.out.value(_value(topic, None, 0, taken, None))


class _Rate:
    """A counter of all brokers together: a second, and in the last 24 hours."""

    def __init__(self, run: Run, addrs: list[str], name: str, key: str) -> None:
        self.tps = 0.0
        self.day = 0
        for addr in addrs:
            try:
                counter = run.admin.broker_counter(addr, name, key)
            except Refused:
                # Nothing was counted there yet.
                continue
            except TransportError as error:
                run.problem(error)
                continue
            self.tps += (counter.stats_minute or BrokerStatsItem()).tps
            self.day += _day(counter)


def _day(counter: BrokerStatsData) -> int:
    """The longest time that there is a figure for (StatsAllSubCommand.compute24HourSum)."""
    items = (counter.stats_day, counter.stats_hour, counter.stats_minute)
    return next((item.sum for item in items if item is not None and item.sum), 0)


def _behind(run: Run, group: str, topic: str) -> int:
    try:
        return progress_of(run, group, topic).behind
    except AdminError:
        return 0
    except TransportError as error:
        run.problem(error)
        return 0


def _value(
    topic: str, group: str | None, behind: int, taken: _Rate, given: _Rate | None
) -> dict[str, object]:
    return {
        "topic": topic,
        "group": group,
        "accumulation": behind,
        "inTps": taken.tps,
        "outTps": given.tps if given else None,
        "inMsg24Hour": taken.day,
        "outMsg24Hour": given.day if given else None,
    }

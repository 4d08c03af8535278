"""startMonitoring: report at intervals which groups are behind or stuck. Ctrl-C ends it.

Java: StartMonitoringSubCommand, MonitorService. The official tool waits 20 seconds before its first round and
writes to its log.
"""

from typing import Final

import click

from trimq.admin.errors import AdminError
from trimq.admin.groups.groups import ConsumeStats
from trimq.codec.bodies.clients import ConsumerConnection
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo
from trimq.codec.java.hashes import string_hash
from trimq.codec.names import RETRY_PREFIX
from trimq.mqadmin.common.gathering import progress_of
from trimq.mqadmin.common.group_names import group_of
from trimq.mqadmin.common.repeating import ENDLESS, repeat
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.consumers import same_subscriptions, stuck_queues
from trimq.mqadmin.text.java import hash_order, queue_hash
from trimq.remoting.errors import TransportError

_PREFIX: Final = "[MONITOR] "
_NOTICE: Final = _PREFIX + " [NOTIFY] reportConsumerRunningInfo: ConsumerGroup: "
_RULE: Final = "=" * 41


@admin_command("startMonitoring")
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between the end of a round and the next one.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), default=None, help="Stop after this many rounds."
)
def command(run: Run, interval: float, rounds: int | None) -> None:
    def one_round() -> None:
        run.said.clear()
        run.out.line(f"{_PREFIX}{_RULE}beginRound")
        try:
            names = hash_order(run.admin.topic_names())
        except FAILURES as error:
            run.problem(error)
            names = []
        for name in names:
            if name.startswith(RETRY_PREFIX):
                _report(run, group_of(name))
        run.out.line(f"{_PREFIX}{_RULE}endRound")

    repeat(one_round, interval, rounds or ENDLESS)


def _report(run: Run, group: str) -> None:
    """A group without members is not monitored; one that cannot be asked is a problem."""
    try:
        stats = progress_of(run, group)
        connection = run.admin.consumer_connection(group)
    except AdminError:
        return
    except FAILURES as error:
        run.problem(f"group {group}: {error}")
        return
    # Topics that share a bucket are in the order of their queues.
    queues = hash_order(stats.offsets, queue_hash)
    for topic in hash_order(dict.fromkeys(queue.topic for queue in queues), string_hash):
        _report_backlog(run, group, topic, stats)
    _report_members(run, group, connection)


def _report_backlog(run: Run, group: str, topic: str, stats: ConsumeStats) -> None:
    behind, delays = [], []
    for queue in hash_order(stats.offsets, queue_hash):
        progress = stats.offsets[queue]
        if queue.topic != topic:
            continue
        behind.append(max(0, progress.broker_offset - progress.consumer_offset))
        if progress.last_timestamp > 0:
            delays.append(_newest(run, queue) - progress.last_timestamp)
    values = {
        "consumerGroup": group,
        "topic": topic,
        "undoneMsgsTotal": sum(behind),
        "undoneMsgsSingleMQ": max(behind, default=0),
        "undoneMsgsDelayTimeMills": max([0, *delays]),
    }
    text = ", ".join(f"{name}={value}" for name, value in values.items())
    run.out.row(f"{_PREFIX}reportUndoneMsgs: UndoneMsgs [{text}]", values)


def _newest(run: Run, queue: MessageQueue) -> int:
    """When the queue's last message was stored; 0 if that cannot be read any more."""
    try:
        place = run.admin.place_of(queue.topic, queue.broker_name, queue.queue_id)
        last = run.admin.max_offset(place) - 1
        messages = run.admin.pull(place, last, limit=1).messages if last >= 0 else []
    except FAILURES as error:
        run.problem(error)
        return 0
    return messages[0].store_timestamp if messages else 0


def _report_members(run: Run, group: str, connection: ConsumerConnection) -> None:
    infos: dict[str, ConsumerRunningInfo] = {}
    for client in connection.connection_set:
        name = client.client_id or ""
        try:
            infos[name] = run.admin.running_info(group, name)
        except (AdminError, TransportError) as error:
            run.problem(f"group {group}: {error}")
    if not infos:
        return
    now = run.admin.now()
    if not same_subscriptions(infos, now):
        notice = {"consumerGroup": group, "notice": "Subscription different"}
        run.out.row(f"{_NOTICE}{group}, Subscription different", notice)
    for name in sorted(infos):
        stuck = stuck_queues(name, infos[name], now)
        if stuck:
            text = "".join(f"{one}\n" for one in stuck)
            run.out.line(f"{_NOTICE}{group}, ClientId: {name}, {text}")
            run.out.value({"consumerGroup": group, "clientId": name, "stuck": stuck})

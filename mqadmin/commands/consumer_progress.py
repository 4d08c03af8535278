"""consumerProgress: a group's offsets queue by queue, or how far every group is behind.

Java: ConsumerProgressSubCommand. Groups are known by their retry topics.
"""

from typing import Final

import click

from trimq.admin.errors import AdminError
from trimq.admin.groups.groups import ConsumeStats
from trimq.codec.bodies.clients import ConsumerConnection
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.java.moments import local_seconds
from trimq.codec.names import RETRY_PREFIX
from trimq.codec.versions import version_name
from trimq.mqadmin.common.gathering import progress_of
from trimq.mqadmin.common.group_names import group_of
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command, boolean_option
from trimq.mqadmin.text.java import cut, java
from trimq.mqadmin.text.listing import in_order

_TITLES: Final = ("#Topic", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset")
_HEAD: Final = "{:<64}  {:<32}  {:<4}  {:<20}  {:<20}  {:<20} {:<20}{}"
_ROW: Final = "{:<64}  {:<32}  {:<4}  {:<20}  {:<20}  {:<20} {:<20} {}"
_CLIENT_HEAD: Final = "{:<64}  {:<32}  {:<4}  {:<20}  {:<20}  {:<20} {:<20} {:<20}{}"
_CLIENT_ROW: Final = "{:<64}  {:<32}  {:<4}  {:<20}  {:<20}  {:<20} {:<20} {:<20} {}"
_GROUP: Final = "{:<64}  {:<6}  {:<24} {:<5}  {:<14}  {:<7}  {}"
_GROUP_TITLES: Final = ("#Group", "#Count", "#Version", "#Type", "#Model", "#TPS", "#Diff Total")


@admin_command("consumerProgress")
@click.option("-g", "--groupName", "group", help="The group; without it, all groups.")
@click.option("-t", "--topicName", "topic", help="Only this topic of the group.")
@boolean_option(
    "-s", "--showClientIP", "with_clients", default=False, help="Also show who has each queue."
)
@click.option("-c", "--cluster", help="Accepted as by the official tool; lite topics need it.")
def command(
    run: Run, group: str | None, topic: str | None, with_clients: bool, cluster: str | None
) -> None:
    if group is None:
        _all_groups(run)
    else:
        stats = progress_of(run, group, topic)
        if stats.offsets or not run.partly_failed:
            _one_group(run, stats, group, with_clients)


def _one_group(run: Run, stats: ConsumeStats, group: str, with_clients: bool) -> None:
    owners = _owners(run, group, with_clients)
    titles = ("#Diff", "#Inflight", "#LastTime")
    if with_clients:
        run.out.head(_CLIENT_HEAD.format(*_TITLES, "#Client IP", *titles))
    else:
        run.out.head(_HEAD.format(*_TITLES, *titles))
    in_flight = 0
    for queue in sorted(stats.offsets, key=lambda one: (one.topic, one.broker_name, one.queue_id)):
        progress = stats.offsets[queue]
        in_flight += progress.pull_offset - progress.consumer_offset
        client = owners.get(queue, "N/A") if with_clients else None
        run.out.line(_queue_line(queue, progress, client))
        value = {
            "queue": queue,
            "progress": progress,
            "diff": progress.broker_offset - progress.consumer_offset,
            "inflight": progress.pull_offset - progress.consumer_offset,
            "client": owners.get(queue),
        }
        run.out.value(value)
    run.out.line()
    run.out.line(f"Consume TPS: {stats.consume_tps:.2f}")
    run.out.line(f"Consume Diff Total: {stats.behind}")
    run.out.line(f"Consume Inflight Total: {in_flight}")


def _owners(run: Run, group: str, with_clients: bool) -> dict[MessageQueue, str]:
    """Who has which queue. JSON has it in any case, as far as it is known."""
    if not with_clients and not run.out.as_json:
        return {}
    try:
        return run.admin.queue_owners(group)
    except FAILURES as error:
        if with_clients:
            run.problem(error)
        return {}


def _queue_line(queue: MessageQueue, progress: OffsetWrapper, client: str | None) -> str:
    last = local_seconds(progress.last_timestamp) if progress.last_timestamp else "N/A"
    columns = [
        cut(queue.topic, 64),
        cut(queue.broker_name, 32),
        queue.queue_id,
        progress.broker_offset,
        progress.consumer_offset,
    ]
    rest = (
        progress.broker_offset - progress.consumer_offset,
        progress.pull_offset - progress.consumer_offset,
        last,
    )
    if client is None:
        return _ROW.format(*columns, *rest)
    return _CLIENT_ROW.format(*columns, client, *rest)


def _all_groups(run: Run) -> None:
    run.out.head(_GROUP.format(*_GROUP_TITLES))
    names = in_order(run, run.admin.topic_names())
    groups = [group_of(name) for name in names if name.startswith(RETRY_PREFIX)]
    for group in run.out.progress(groups, "groups"):
        stats, connection = _state_of(run, group)
        count = len(connection.connection_set) if connection else 0
        version = kind = model = ""
        if connection:
            lowest = min(one.version for one in connection.connection_set)
            version = version_name(lowest)
            kind = "PULL" if connection.consume_type == "CONSUME_ACTIVELY" else "PUSH"
            model = java(connection.message_model) if kind == "PUSH" else ""
        columns = (count, version or "OFFLINE", kind, model, int(stats.consume_tps), stats.behind)
        keys = ("group", "count", "version", "type", "model", "tps", "behind")
        run.out.row(
            _GROUP.format(cut(group, 64), *columns),
            {**dict(zip(keys, (group, *columns), strict=True)), "diff": stats.behind},
        )


def _state_of(run: Run, group: str) -> tuple[ConsumeStats, ConsumerConnection | None]:
    """Progress and connections; a group without members or offsets is not a failure."""
    stats, connection = ConsumeStats(), None
    try:
        stats = progress_of(run, group)
    except AdminError:
        pass
    except FAILURES as error:
        run.problem(error)
    try:
        connection = run.admin.consumer_connection(group)
    except AdminError:
        pass
    except FAILURES as error:
        run.problem(error)
    return stats, connection

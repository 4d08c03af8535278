"""updateTopic: create or change a topic on a broker or on a cluster's masters.

Java: UpdateTopicSubCommand. `--drain` is ours: see mqadmin.draining.
"""

import sys

import click

from trimq.admin.brokers.namesrv import ORDER_TOPICS
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import TopicSysFlag
from trimq.mqadmin.common.drain_options import drain_options
from trimq.mqadmin.common.draining import Drain, Goal
from trimq.mqadmin.common.elastic import check_update
from trimq.mqadmin.common.planning import hidden_messages, would
from trimq.mqadmin.framework import (
    Run,
    admin_command,
    boolean_option,
    broker_or_cluster,
    chosen_addrs,
    dry_run_option,
    topic_option,
)
from trimq.mqadmin.text.attributes import read_changes
from trimq.mqadmin.text.configs import topic_text
from trimq.mqadmin.text.java import hash_order

_QUEUES = click.IntRange(min=1)
_DEFAULT_QUEUES = 8
# What a drain leaves as it is.
_NOT_DRAINED = ("attributes", "perm", "order", "unit", "unit_sub")


@admin_command("updateTopic")
@broker_or_cluster
@topic_option
@click.option("-a", "--attributes", metavar="+KEY=VALUE,-KEY", help="Attributes to set or remove.")
@click.option("-r", "--readQueueNums", "reads", type=_QUEUES, help="8 unless given.")
@click.option("-w", "--writeQueueNums", "writes", type=_QUEUES, help="8 unless given.")
@click.option(
    "-p", "--perm", type=click.IntRange(0, 7), default=6, help="2 write, 4 read, 6 both (default)."
)
@boolean_option("-o", "--order", default=False, help="The topic is an ordered one.")
@boolean_option("-u", "--unit", default=False, help="The topic belongs to a unit.")
@boolean_option(
    "-s", "--hasUnitSub", "unit_sub", default=False, help="Groups of units subscribe to the topic."
)
@drain_options
@dry_run_option
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    topic: str,
    attributes: str | None,
    reads: int | None,
    writes: int | None,
    perm: int,
    order: bool,
    unit: bool,
    unit_sub: bool,
    drain: bool,
    drain_timeout: float | None,
    drain_settle: float,
    ignored: tuple[str, ...],
    dry_run: bool,
) -> None:
    changes = read_changes(attributes)
    addrs = chosen_addrs(run, broker_addr, cluster)
    if drain:
        _check_drain(ctx, reads, writes, dry_run)
    elastic = check_update(run, topic, addrs, drain=drain, order=order, numbers=reads or writes)
    if drain:
        wanted = (reads or writes or 0, writes or reads or 0)
        goal = Goal(topic, *wanted, drain_timeout, drain_settle, frozenset(ignored))
        Drain(run, hash_order(addrs), goal).run()
        return
    flags = (TopicSysFlag.UNIT if unit else 0) | (TopicSysFlag.UNIT_SUB if unit_sub else 0)
    config = TopicConfig(
        topic_name=topic,
        read_queue_nums=reads or _DEFAULT_QUEUES,
        write_queue_nums=writes or _DEFAULT_QUEUES,
        perm=perm,
        topic_sys_flag=flags,
        order=order,
        attributes=changes,
    )
    kept = sys.maxsize if elastic else config.read_queue_nums
    hidden = {addr: hidden_messages(run, addr, topic, kept) for addr in addrs}
    if dry_run:
        _plan(run, config, hidden)
        return
    if broker_addr is not None:
        run.admin.put_topic(broker_addr, config)
        _warn_of_hidden(run, config, hidden)
        if order:
            _set_broker_order(run, broker_addr, config)
        run.out.line(f"create topic to {broker_addr} success.")
    else:
        created: list[str] = []
        run.on_each(hash_order(addrs), lambda addr: _create(run, addr, config, created))
        if not created:
            return
        _warn_of_hidden(run, config, {addr: hidden[addr] for addr in created})
        if order and cluster is not None:
            _set_cluster_order(run, cluster, config)
    run.out.row(topic_text(config), config)


def _plan(run: Run, config: TopicConfig, hidden: dict[str, tuple[int, int]]) -> None:
    reads, writes = config.read_queue_nums, config.write_queue_nums
    for addr, (before, messages) in hidden.items():
        what = (
            f"change topic {config.topic_name!r}" if before else f"make topic {config.topic_name!r}"
        )
        text = f"{what} on {addr}: {reads} queues to read, {writes} to write"
        if before:
            text += f"; to read there are {before} now"
        if messages:
            text += f", and {messages} messages would be out of sight"
        values = {"readQueuesBefore": before, "hiddenMessages": messages}
        would(run, text, addr=addr, readQueues=reads, writeQueues=writes, **values)


def _warn_of_hidden(run: Run, config: TopicConfig, hidden: dict[str, tuple[int, int]]) -> None:
    """A smaller number of queues takes effect at once, whatever is left in the others."""
    for addr, (before, messages) in hidden.items():
        if messages:
            reads = config.read_queue_nums
            run.warn(
                f"{addr}: {messages} messages in the queues {reads} to {before - 1} of"
                f" {config.topic_name!r} are out of sight now; -r {before} brings them back, and"
                " --drain removes queues only once they have been read"
            )


def _check_drain(ctx: click.Context, reads: int | None, writes: int | None, dry_run: bool) -> None:
    """--drain changes nothing but numbers of queues, which have to be given."""
    if dry_run:
        raise click.UsageError("--drain and --dry-run contradict each other")
    if reads is None and writes is None:
        raise click.UsageError("--drain needs the number of queues to keep: -r, -w or both")
    default = click.core.ParameterSource.DEFAULT
    if any(ctx.get_parameter_source(name) is not default for name in _NOT_DRAINED):
        raise click.UsageError(
            "--drain only changes numbers of queues: leave out -a, -p, -o, -u, -s"
        )


def _create(run: Run, addr: str, config: TopicConfig, created: list[str]) -> None:
    run.admin.put_topic(addr, config)
    created.append(addr)
    run.out.line(f"create topic to {addr} success.")


def _set_broker_order(run: Run, addr: str, config: TopicConfig) -> None:
    name = run.admin.broker_name_of(addr)
    run.admin.set_broker_order(config.topic_name, name, config.write_queue_nums)
    entry = f"{name}:{config.write_queue_nums}"
    run.out.line(f"set broker orderConf. isOrder=true, orderConf=[{entry}]")


def _set_cluster_order(run: Run, cluster: str, config: TopicConfig) -> None:
    names = hash_order(run.admin.broker_names(cluster))
    entries = ";".join(f"{name}:{config.write_queue_nums}" for name in names)
    run.admin.put_kv(ORDER_TOPICS, config.topic_name, entries)
    run.out.line(f"set cluster orderConf. isOrder=true, orderConf=[{entries}]")

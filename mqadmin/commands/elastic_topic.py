"""elasticTopic: ordered topics whose number of queues changes without losing order. A command of our own.

create, scale, split, merge, cancel, show, history, advise; see docs/elastic-ordering.md.
"""

import time
from typing import Final

import click

from trimq.admin.brokers.namesrv import ORDER_TOPICS
from trimq.admin.errors import NotFound
from trimq.codec.bodies.elastic_admin import ElasticPlan, ElasticView
from trimq.codec.names import MASTER_ID
from trimq.mqadmin.common.elastic import is_same_place, queues_in_use
from trimq.mqadmin.common.elastic_text import (
    advice,
    show_changes,
    show_groups,
    show_loads,
    show_old_producers,
    show_plan,
    show_queues,
)
from trimq.mqadmin.common.members import master_named
from trimq.mqadmin.common.planning import would
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run, admin_subcommand, dry_run_option, topic_option
from trimq.mqadmin.names import COMMANDS

_POLL_SECONDS: Final = 1.0
PRODUCER_SECONDS: Final = 60.0
"""When every producer has asked for the route again (ClientConfig.pollNameServerInterval is 30 s)."""

_EPILOG: Final = """\b
Examples:
  mqadmin elasticTopic create -b 127.0.0.1:10911 -t Orders -q 4
  mqadmin elasticTopic scale -t Orders -q 16 --dry-run
  mqadmin elasticTopic show -t Orders
"""

_no_wait: Final = click.option(
    "--no-wait", is_flag=True, help="Return at once; the broker goes on."
)


@click.group("elasticTopic", help=COMMANDS["elasticTopic"], epilog=_EPILOG)
def command() -> None:
    """Only a home for the commands below."""


@admin_subcommand(command, "create", "Make a topic elastic: a new one, or an existing ordered one.")
@click.option(
    "-b", "--broker", "broker", required=True, metavar="NAME|HOST:PORT", help="Its broker."
)
@topic_option
@click.option(
    "-q",
    "--queues",
    type=click.IntRange(min=1),
    help="A new topic's queues, 4 unless given; an existing topic keeps those it has.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait until producers have the new route.")
@dry_run_option
def create(
    run: Run, broker: str, topic: str, queues: int | None, no_wait: bool, dry_run: bool
) -> None:
    addr = _addr(run, broker)
    existing = run.admin.topics_of(addr).get(topic)
    if existing is not None and queues not in (None, existing.write_queue_nums):
        raise Failed(
            f"{topic!r} has {existing.write_queue_nums} queues: leave out -q, and scale it afterwards"
        )
    count = existing.write_queue_nums if existing is not None else queues or 4
    already = existing is not None and run.admin.find_elastic_view(addr, topic) is not None
    addr = _alone(run, addr, topic)
    # The broker knows best what it refuses.
    run.admin.elastic_create(addr, topic, count, dry_run=dry_run)
    if dry_run:
        text = f"create {topic!r} as an elastic topic with {count} queues on {addr}"
        if existing is not None:
            text = f"make the existing topic {topic!r} elastic with {count} queues on {addr}"
        if already:
            text = f"change nothing: {topic!r} is elastic on {addr}, with {count} queues"
        would(run, text, addr=addr, queues=count)
        return
    # By now NameServers know it.
    addr = _alone(run, addr, topic)
    _follow_order(run, addr, topic)
    done = {"topic": topic, "broker": addr, "queues": count, "existing": existing is not None}
    state = "was elastic already" if already else "is elastic"
    run.out.row(f"{topic} {state} on {addr}, with {count} queues.", done)
    run.out.line(
        "Order holds for producers that pick a queue by the key and their list of queues alone,"
        " from one thread for each key."
    )
    if existing is not None and not no_wait:
        run.out.aside(f"Waiting {PRODUCER_SECONDS:g} s until every producer has the new route.")
        time.sleep(PRODUCER_SECONDS)


@admin_subcommand(command, "scale", "Change the number of queues.")
@topic_option
@click.option("-q", "--queues", type=click.IntRange(min=1), required=True, help="How many.")
@click.option("--now", is_flag=True, help="Whether or not groups have passed the last changes.")
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="GROUP",
    help="This group need not have passed them. May be given several times.",
)
@_no_wait
@dry_run_option
def scale(
    run: Run,
    topic: str,
    queues: int,
    now: bool,
    ignored: tuple[str, ...],
    no_wait: bool,
    dry_run: bool,
) -> None:
    addr = run.admin.elastic_broker(topic)
    plan = run.admin.elastic_scale(addr, topic, queues, now=now, ignore=ignored, dry_run=dry_run)
    _follow(run, addr, topic, plan, wait=not (no_wait or dry_run), dry_run=dry_run)


@admin_subcommand(
    command, "split", "Move some of a queue's partitions to a new queue, or to another."
)
@topic_option
@click.option("-i", "--queueId", "queue", type=click.IntRange(min=0), required=True, help="Donor.")
@click.option(
    "--to", "receiver", type=click.IntRange(min=0), help="Receiver; a new one if left out."
)
@click.option(
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    help="Which ones; every second one if left out. May be given several times.",
)
@_no_wait
@dry_run_option
def split(
    run: Run,
    topic: str,
    queue: int,
    receiver: int | None,
    partitions: tuple[int, ...],
    no_wait: bool,
    dry_run: bool,
) -> None:
    addr = run.admin.elastic_broker(topic)
    target = -1 if receiver is None else receiver
    plan = run.admin.elastic_move(
        addr, topic, queue, target, partitions=partitions, dry_run=dry_run
    )
    _follow(run, addr, topic, plan, wait=not (no_wait or dry_run), dry_run=dry_run)


@admin_subcommand(command, "merge", "Move all partitions of the last queue to another one.")
@topic_option
@click.option("--to", "receiver", type=click.IntRange(min=0), required=True, help="Receiver.")
@_no_wait
@dry_run_option
def merge(run: Run, topic: str, receiver: int, no_wait: bool, dry_run: bool) -> None:
    addr = run.admin.elastic_broker(topic)
    last = queues_in_use(run.admin.elastic_view(addr, topic)) - 1
    plan = run.admin.elastic_move(addr, topic, last, receiver, merge=True, dry_run=dry_run)
    _follow(run, addr, topic, plan, wait=not (no_wait or dry_run), dry_run=dry_run)


@admin_subcommand(command, "cancel", "Give up the changes that have not happened yet.")
@topic_option
@dry_run_option
def cancel(run: Run, topic: str, dry_run: bool) -> None:
    addr = run.admin.elastic_broker(topic)
    if dry_run:
        # Nothing that changes is asked for: brokers of every version keep their plans.
        pending = run.admin.elastic_view(addr, topic).pending
        text = f"give up {pending} changes; those that have happened stay"
        would(run, text, topic=topic, cancelled=pending)
        return
    plan = run.admin.elastic_cancel(addr, topic)
    text = f"{len(plan.moves)} changes given up; those that have happened stay."
    run.out.row(text, {"topic": topic, "cancelled": len(plan.moves)})


@admin_subcommand(command, "show", "Show queues, groups, and what holds a group up.")
@topic_option
def show(run: Run, topic: str) -> None:
    addrs = run.admin.elastic_brokers(topic)
    if len(addrs) <= 1:
        _show(run, _view(run, topic))
        return
    views = {addr: run.admin.find_elastic_view(addr, topic) for addr in addrs}
    if not any(views.values()):
        raise Failed(f"{topic!r} is not an elastic topic, on none of {', '.join(addrs)}")
    run.warn(
        f"{topic!r} is on {len(addrs)} masters, so its keys have no order: what producers send to the one is not"
        " ordered with what they send to the other; delete the topic where it is not to be"
    )
    for addr, view in views.items():
        if view is None:
            text = f"{addr} has {topic} as an ordinary topic."
            run.out.row(text, {"topic": topic, "broker": addr, "elastic": False})
        else:
            run.out.line(f"On {addr}:")
            _show(run, view)


def _show(run: Run, view: ElasticView) -> None:
    topic = view.topic
    run.out.line(f"{topic}: {view.partitions} partitions, version {view.version}")
    if view.pending:
        run.out.line(f"{view.pending} changes are to come: {view.stage}")
    elif view.stage:
        run.out.line(view.stage)
    run.out.value(view)
    show_queues(run, view)
    show_loads(run, view)
    show_groups(run, view)
    show_old_producers(run, view)


@admin_subcommand(command, "history", "Show the changes that are still remembered.")
@topic_option
def history(run: Run, topic: str) -> None:
    show_changes(run, _view(run, topic))


@admin_subcommand(
    command, "advise", "Look at the queues for a while, and say what to split or merge."
)
@topic_option
@click.option(
    "--seconds",
    type=click.FloatRange(min=1, max=3600),
    default=10.0,
    show_default=True,
    help="How long to look.",
)
def advise(run: Run, topic: str, seconds: float) -> None:
    addr = run.admin.elastic_broker(topic)
    before = run.admin.elastic_view(addr, topic)
    run.out.aside(f"Looking for {seconds:g} s.")
    time.sleep(seconds)
    for one in advice(before, run.admin.elastic_view(addr, topic), seconds):
        run.out.row(one.text, one)


def _addr(run: Run, broker: str) -> str:
    """A master by its name or address."""
    if ":" in broker:
        return broker
    return master_named(run, broker).broker_addrs[MASTER_ID]


def _alone(run: Run, addr: str, topic: str) -> str:
    """No other broker may have the topic: a key's next message could go there. Its address as NameServers have it."""
    try:
        only = run.admin.elastic_broker(topic)
    except NotFound:
        return addr
    if not is_same_place(only, addr):
        raise Failed(f"topic {topic!r} is on {only}, not on {addr}: use -b {only}")
    return only


def _follow_order(run: Run, addr: str, topic: str) -> None:
    """Producers of a topic with an entry in ORDER_TOPIC_CONFIG take their list of queues from there."""
    name = run.admin.broker_name_of(addr)
    try:
        entry = run.admin.get_kv(ORDER_TOPICS, topic)
    except NotFound:
        return
    if any(one.partition(":")[0] == name for one in entry.split(";")):
        partitions = run.admin.elastic_view(addr, topic).partitions
        run.admin.set_broker_order(topic, name, partitions)


def _view(run: Run, topic: str) -> ElasticView:
    return run.admin.elastic_view(run.admin.elastic_broker(topic), topic)


def _follow(
    run: Run, addr: str, topic: str, plan: ElasticPlan, *, wait: bool, dry_run: bool
) -> None:
    """Show the plan, and what becomes of it until the last change has happened."""
    show_plan(run, plan, dry_run=dry_run)
    if not wait or not plan.moves:
        return
    said = None
    try:
        while (view := run.admin.elastic_view(addr, topic)).pending:
            text = f"{view.pending} of {len(plan.moves)} changes to come: {view.stage}"
            if text != said:
                run.out.aside(text)
                said = text
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        raise Failed(
            f"interrupted; the broker goes on: mqadmin elasticTopic show -t {topic}, or cancel"
        ) from None
    queues = queues_in_use(view)
    done = {"topic": topic, "version": view.version, "queues": queues}
    run.out.row(f"{topic} has {queues} queues, version {view.version}.", done)
    if view.stage:
        run.out.line(view.stage)

"""updateSubGroup: create or change a consumer group on a broker or on a cluster's masters.

Java: UpdateSubGroupSubCommand. What no flag names gets its default, even in an existing group.
"""

from typing import Any

import click

from trimq.codec.bodies.groups import GroupRetryPolicy, SubscriptionGroupConfig
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson
from trimq.mqadmin.framework import (
    Run,
    admin_command,
    boolean_option,
    broker_or_cluster,
    chosen_addrs,
)
from trimq.mqadmin.text.attributes import read_changes
from trimq.mqadmin.text.configs import group_text
from trimq.mqadmin.text.java import hash_order


@admin_command("updateSubGroup")
@broker_or_cluster
@click.option("-g", "--groupName", "group_name", required=True, help="The group.")
@boolean_option("-s", "--consumeEnable", "consume_enable", help="Default: true.")
@boolean_option(
    "-m",
    "--consumeFromMinEnable",
    "consume_from_min_enable",
    help="May it begin at the first message? Default: false.",
)
@boolean_option(
    "-d",
    "--consumeBroadcastEnable",
    "consume_broadcast_enable",
    help="May it broadcast? Default: false.",
)
@boolean_option(
    "-o", "--consumeMessageOrderly", "consume_message_orderly", help="Does it consume in order?"
)
@click.option("-q", "--retryQueueNums", "retry_queue_nums", type=int, help="Default: 1.")
@click.option("-r", "--retryMaxTimes", "retry_max_times", type=int, help="Default: 16.")
@click.option("-p", "--groupRetryPolicy", "policy", metavar="JSON", help="Waiting times for POP.")
@click.option("-i", "--brokerId", "broker_id", type=int, help="The broker to read from.")
@click.option(
    "-w",
    "--whichBrokerWhenConsumeSlowly",
    "which_broker_when_consume_slowly",
    type=int,
    help="The broker to read from when far behind.",
)
@boolean_option(
    "-a",
    "--notifyConsumerIdsChanged",
    "notify_consumer_ids_changed_enable",
    help="Tell members when one comes or goes (default).",
)
@click.option("--attributes", metavar="+KEY=VALUE,-KEY", help="Attributes to set or remove.")
def command(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    policy: str | None,
    attributes: str | None,
    **settings: Any,
) -> None:
    given = {name: value for name, value in settings.items() if value is not None}
    given.setdefault("consume_broadcast_enable", False)
    given.setdefault("consume_from_min_enable", False)
    if policy is not None:
        given["group_retry_policy"] = _policy(policy)
    group = SubscriptionGroupConfig(**given, attributes=read_changes(attributes))

    def create(addr: str) -> None:
        run.admin.put_group(addr, group)
        run.out.line(f"create subscription group to {addr} success.")

    run.on_each(hash_order(chosen_addrs(run, broker_addr, cluster)), create)
    if run.partly_failed and broker_addr is not None:
        return
    run.out.text(group_text(group))
    run.out.value(group)


def _policy(text: str) -> GroupRetryPolicy:
    try:
        return fastjson.loads_as(GroupRetryPolicy, text)
    except CodecError as error:
        raise click.UsageError(f"-p: {error}") from None

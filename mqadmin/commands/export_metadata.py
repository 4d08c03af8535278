"""exportMetadata: a broker's or a cluster's topics and groups, to a file. Java: ExportMetadataCommand.

For a cluster, queue numbers are the sums over its masters, so the file says what they have together.
"""

from typing import Any

import click

from trimq.admin.brokers.metadata import is_user_group, is_user_topic
from trimq.codec.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper
from trimq.codec.bodies.topics import TopicConfig, TopicConfigSerializeWrapper
from trimq.mqadmin.files.exports import folder_option, write_export
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import filled_order, hash_order, string_map


@admin_command("exportMetadata")
@broker_or_cluster
@folder_option
@click.option("-t", "--topic", "topics_only", is_flag=True, help="Only topics.")
@click.option("-g", "--subscriptionGroup", "groups_only", is_flag=True, help="Only groups.")
@click.option(
    "-s", "--specialTopic", "special", is_flag=True, help="Retry and dead-letter topics too."
)
def command(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    folder: str,
    topics_only: bool,
    groups_only: bool,
    special: bool,
) -> None:
    addrs = chosen_addrs(run, broker_addr, cluster)
    if cluster is not None:
        _of_cluster(run, addrs, folder, topics_only, groups_only, special)
    elif topics_only:
        write_export(run, folder, "topic.json", _topics(run, addrs[0], special))
    elif groups_only:
        write_export(run, folder, "subscriptionGroup.json", _groups(run, addrs[0]))
    else:
        raise click.UsageError("from one broker, either topics (-t) or groups (-g) are exported")


def _of_cluster(
    run: Run, masters: list[str], folder: str, topics_only: bool, groups_only: bool, special: bool
) -> None:
    topics: dict[str, TopicConfig] = {}
    groups: dict[str, SubscriptionGroupConfig] = {}
    for addr in hash_order(masters):
        for name, topic in _topics(run, addr, special).topic_config_table.items():
            if name in topics:
                topic.read_queue_nums += topics[name].read_queue_nums
                topic.write_queue_nums += topics[name].write_queue_nums
            topics[name] = topic
        for name, group in _groups(run, addr).subscription_group_table.items():
            if name in groups:
                group.retry_queue_nums += groups[name].retry_queue_nums
            groups[name] = group
    result: dict[str, Any] = {}
    if not groups_only or topics_only:
        result["topicConfigTable"] = string_map(topics)
    if not topics_only:
        result["subscriptionGroupTable"] = string_map(groups)
    result["exportTime"] = run.admin.link.now()
    name = "topic.json" if topics_only else "metadata.json"
    if groups_only and not topics_only:
        name = "subscriptionGroup.json"
    write_export(run, folder, name, string_map(result), line_end=True)


def _topics(run: Run, addr: str, special: bool) -> TopicConfigSerializeWrapper:
    """Users' topics; the official tool takes the others out of the table of all."""
    found = run.admin.all_topics(addr)
    system = run.admin.system_topics(addr)
    table = found.topic_config_table
    found.topic_config_table = {
        name: table[name]
        for name in filled_order(table)
        if is_user_topic(table[name], system, with_special=special)
    }
    return found


def _groups(run: Run, addr: str) -> SubscriptionGroupWrapper:
    found = run.admin.all_groups(addr)
    table = found.subscription_group_table
    found.subscription_group_table = {
        name: table[name] for name in filled_order(table) if is_user_group(name)
    }
    return found

"""updateTopicList: create or change many topics from a JSON file. Java: UpdateTopicListSubCommand."""

import click

from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.common.put_lists import put_list
from trimq.mqadmin.files.lists import read_list
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster


@admin_command("updateTopicList")
@broker_or_cluster
@click.option(
    "-f", "--filename", required=True, help="A JSON list of topics, with RocketMQ's property names."
)
def command(run: Run, broker_addr: str | None, cluster: str | None, filename: str) -> None:
    configs = read_list(TopicConfig, filename)
    put_list(run, broker_addr, cluster, "topic", configs, run.admin.put_topics)

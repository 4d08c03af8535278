"""updateTopicList: create or change many topics from a JSON file. Java: UpdateTopicListSubCommand."""

import click

from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.files.lists import read_list
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import hash_order


@admin_command("updateTopicList")
@broker_or_cluster
@click.option(
    "-f", "--filename", required=True, help="A JSON list of topics, with RocketMQ's property names."
)
def command(run: Run, broker_addr: str | None, cluster: str | None, filename: str) -> None:
    configs = read_list(TopicConfig, filename)
    if not configs:
        return

    def submit(addr: str) -> None:
        run.admin.put_topics(addr, configs)
        text = f"submit batch of topic config to {addr} success, please check the result later."
        run.out.row(text, {"addr": addr, "topics": len(configs)})

    run.on_each(hash_order(chosen_addrs(run, broker_addr, cluster)), submit)

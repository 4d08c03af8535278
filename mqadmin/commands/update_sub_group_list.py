"""updateSubGroupList: create or change many groups from a JSON file. Java: UpdateSubGroupListSubCommand."""

import click

from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.mqadmin.common.put_lists import put_list
from trimq.mqadmin.files.lists import read_list
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster


@admin_command("updateSubGroupList")
@broker_or_cluster
@click.option(
    "-f", "--filename", required=True, help="A JSON list of groups, with RocketMQ's property names."
)
def command(run: Run, broker_addr: str | None, cluster: str | None, filename: str) -> None:
    configs = read_list(SubscriptionGroupConfig, filename)
    put_list(run, broker_addr, cluster, "group", configs, run.admin.put_groups)

"""updateSubGroupList: create or change many groups from a JSON file. Java: UpdateSubGroupListSubCommand."""

import click

from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.mqadmin.files.lists import read_list
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import hash_order


@admin_command("updateSubGroupList")
@broker_or_cluster
@click.option(
    "-f", "--filename", required=True, help="A JSON list of groups, with RocketMQ's property names."
)
def command(run: Run, broker_addr: str | None, cluster: str | None, filename: str) -> None:
    configs = read_list(SubscriptionGroupConfig, filename)
    if not configs:
        return

    def submit(addr: str) -> None:
        run.admin.put_groups(addr, configs)
        text = f"submit batch of group config to {addr} success, please check the result later."
        run.out.row(text, {"addr": addr, "groups": len(configs)})

    run.on_each(hash_order(chosen_addrs(run, broker_addr, cluster)), submit)

"""getConsumerConfig: a group's settings on every broker. Java: GetConsumerConfigSubCommand."""

import click

from trimq.admin.brokers.cluster import preferred_addr
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.configs import group_parts
from trimq.mqadmin.text.java import hash_order, java


@admin_command("getConsumerConfig")
@click.option("-g", "--groupName", "group", required=True, help="The group.")
def command(run: Run, group: str) -> None:
    info = run.admin.cluster_info()
    found = False
    for name in hash_order(info.broker_addr_table):
        addr = preferred_addr(info.broker_addr_table[name])
        if addr is None:
            continue
        try:
            config = run.admin.groups_of(addr).get(group)
        except FAILURES as error:
            run.problem(error)
            continue
        if config is None:
            continue
        found = True
        clusters = info.cluster_addr_table
        cluster = next((one for one in hash_order(clusters) if name in clusters[one]), None)
        edge = "=" * 29
        run.out.line(f"{edge}{java(cluster)}:{name}{edge}")
        for key, value in group_parts(config).items():
            run.out.line(f"{key:<40}=  {'' if value is None else java(value)}")
        run.out.value({"cluster": cluster, "brokerName": name, "group": config})
    if not found and not run.partly_failed:
        raise Failed(f"no broker knows group {group!r}")

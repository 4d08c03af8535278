"""updateBrokerConfig: change a setting of running brokers. Java: UpdateBrokerConfigSubCommand."""

import click

from mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs, chosen_members
from mqadmin.java_text import hash_order


@admin_command("updateBrokerConfig")
@broker_or_cluster
@click.option("-a", "--updateAllBroker", "all_brokers", metavar="ANY", help="Slaves too.")
@click.option("-k", "--key", required=True, help="The setting.")
@click.option("-v", "--value", required=True, help="Its new value.")
def command(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    all_brokers: str | None,
    key: str,
    value: str,
) -> None:
    # The official tool takes -a with any value, also with "false".
    choose = chosen_addrs if all_brokers is None else chosen_members

    def change(addr: str) -> None:
        run.admin.update_broker_config(addr, {key: value})
        entry = {"addr": addr, "key": key, "value": value}
        run.out.row(f"update broker config success, {addr}", entry)

    run.on_each(hash_order(choose(run, broker_addr, cluster)), change)

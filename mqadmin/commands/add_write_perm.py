"""addWritePerm: on every NameServer. Java: AddWritePermSubCommand."""

import click

from trimq.mqadmin.common.write_perm import change_write_perm
from trimq.mqadmin.framework import Run, admin_command


@admin_command("addWritePerm")
@click.option("-b", "--brokerName", "broker_name", required=True, help="The broker's name.")
def command(run: Run, broker_name: str) -> None:
    change_write_perm(run, "add", broker_name, run.admin.add_write_perm)

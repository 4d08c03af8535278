"""addWritePerm: on every NameServer. Java: AddWritePermSubCommand."""

import click

from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command


@admin_command("addWritePerm")
@click.option("-b", "--brokerName", "broker_name", required=True, help="The broker's name.")
def command(run: Run, broker_name: str) -> None:
    what = f"add write perm of broker[{broker_name}]"
    for addr in run.admin.name_servers:
        try:
            topics = run.admin.add_write_perm(addr, broker_name)
        except FAILURES as error:
            run.out.line(f"{what} in name server[{addr}] Failed")
            run.problem(error)
            continue
        run.out.row(f"{what} in name server[{addr}] OK, {topics}", {"addr": addr, "topics": topics})

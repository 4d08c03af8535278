"""resetMasterFlushOffset: tell a slave how far its master has flushed.

Java: ResetMasterFlushOffsetSubCommand.
"""

import click

from trimq.mqadmin.framework import Run, admin_command, chosen_addrs


@admin_command("resetMasterFlushOffset")
@click.option(
    "-b", "--brokerAddr", "broker_addr", required=True, metavar="HOST:PORT", help="The slave."
)
@click.option("-o", "--offset", type=int, required=True, help="A position in the commit log.")
def command(run: Run, broker_addr: str, offset: int) -> None:
    (addr,) = chosen_addrs(run, broker_addr, None)
    run.admin.reset_master_flush_offset(addr, offset)
    value = {"addr": addr, "offset": offset}
    run.out.row(f"reset master flush offset to {offset} success", value)

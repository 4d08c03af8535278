"""setCommitLogReadAheadMode: how brokers read their commit logs ahead.

Java: CommitLogSetReadAheadSubCommand.
"""

from functools import partial

import click

from trimq.mqadmin.common.members import NO_MASTER, masters_with_slaves
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs

_MODES = ("0", "1")


@admin_command("setCommitLogReadAheadMode")
@broker_or_cluster
@click.option(
    "-m",
    "--commitLogReadAheadMode",
    "mode",
    type=click.Choice(_MODES),
    required=True,
    help="0 for normal reads, 1 for random reads.",
)
def command(run: Run, broker_addr: str | None, cluster: str | None, mode: str) -> None:
    if cluster is None or broker_addr is not None:
        addrs = chosen_addrs(run, broker_addr, cluster)
        run.on_each(addrs, lambda addr: _set(run, addr, addr, mode))
        return
    for master, slaves in masters_with_slaves(run, cluster):
        if master is not None:
            run.on_each([master], partial(_set, run, title=f"Master: {master}", mode=mode))
        for slave in slaves:
            title = f"My Master: {master or NO_MASTER}=====Slave: {slave}"
            run.on_each([slave], partial(_set, run, title=title, mode=mode))


def _set(run: Run, addr: str, title: str, mode: str) -> None:
    run.out.line(f" ============{title}============")
    answer = run.admin.set_read_ahead(addr, int(mode))
    run.out.row(f"commitLog set readAhead mode rstStr{answer}", {"addr": addr, "answer": answer})

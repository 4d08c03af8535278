"""deleteExpiredCommitLog: delete expired commit-log files now. Java: DeleteExpiredCommitLogSubCommand."""

import click

from trimq.codec.codes import RequestCode
from trimq.mqadmin.cleaning import clean
from trimq.mqadmin.framework import Run, admin_command


@admin_command("deleteExpiredCommitLog")
@click.option("-b", "--brokerAddr", "broker_addr", metavar="HOST:PORT", help="One broker.")
@click.option("-c", "--cluster", help="One cluster; without -b and -c every one.")
def command(run: Run, broker_addr: str | None, cluster: str | None) -> None:
    clean(run, RequestCode.DELETE_EXPIRED_COMMITLOG, broker_addr, cluster)

"""cleanUnusedTopic: delete queue files of topics that no longer exist. Java: CleanUnusedTopicCommand."""

import click

from trimq.codec.codes import RequestCode
from trimq.mqadmin.common.cleaning import clean, members_to_clean
from trimq.mqadmin.framework import Run, admin_command, dry_run_option


@admin_command("cleanUnusedTopic")
@click.option("-b", "--brokerAddr", "broker_addr", metavar="HOST:PORT", help="One broker.")
@click.option("-c", "--cluster", help="One cluster; without -b and -c every one.")
@dry_run_option
def command(run: Run, broker_addr: str | None, cluster: str | None, dry_run: bool) -> None:
    clean(run, RequestCode.CLEAN_UNUSED_TOPIC, members_to_clean(run, broker_addr, cluster), dry_run)

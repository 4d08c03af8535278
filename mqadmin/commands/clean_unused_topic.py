"""cleanUnusedTopic: delete queue files of topics that no longer exist. Java: CleanUnusedTopicCommand."""

from trimq.codec.codes import RequestCode
from trimq.mqadmin.common.cleaning import clean, cleaning_options
from trimq.mqadmin.framework import Run, admin_command


@admin_command("cleanUnusedTopic")
@cleaning_options
def command(run: Run, broker_addr: str | None, cluster: str | None, dry_run: bool) -> None:
    clean(run, RequestCode.CLEAN_UNUSED_TOPIC, broker_addr, cluster, dry_run)

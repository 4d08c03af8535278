"""cleanExpiredCQ: delete expired consume-queue files now. Java: CleanExpiredCQSubCommand."""

from trimq.codec.codes import RequestCode
from trimq.mqadmin.common.cleaning import clean, cleaning_options
from trimq.mqadmin.framework import Run, admin_command


@admin_command("cleanExpiredCQ")
@cleaning_options
def command(run: Run, broker_addr: str | None, cluster: str | None, dry_run: bool) -> None:
    clean(run, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, broker_addr, cluster, dry_run)

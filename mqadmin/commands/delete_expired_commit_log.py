"""deleteExpiredCommitLog: delete expired commit-log files now. Java: DeleteExpiredCommitLogSubCommand."""

from trimq.codec.codes import RequestCode
from trimq.mqadmin.common.cleaning import clean, cleaning_options
from trimq.mqadmin.framework import Run, admin_command


@admin_command("deleteExpiredCommitLog")
@cleaning_options
def command(run: Run, broker_addr: str | None, cluster: str | None, dry_run: bool) -> None:
    clean(run, RequestCode.DELETE_EXPIRED_COMMITLOG, broker_addr, cluster, dry_run)

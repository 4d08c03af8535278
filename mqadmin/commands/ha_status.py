"""haStatus: how far slaves are behind their master. Java: HAStatusSubCommand."""

from typing import Final

import click

from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.java.moments import local_time
from trimq.mqadmin.common.repeating import repeat
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import hash_order, java

_SLAVE: Final = "{:<32}  {:<16} {:>16} {:>16} {:>16} {:>16}"
_TITLES: Final = (
    "#SlaveAddr",
    "#SlaveAckOffset",
    "#Diff",
    "#TransferSpeed(KB/s)",
    "#Status",
    "#TransferFromWhere",
)


@admin_command("haStatus")
@broker_or_cluster
@click.option(
    "-i",
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Ask at intervals, until Ctrl-C.",
)
def command(run: Run, broker_addr: str | None, cluster: str | None, interval: float | None) -> None:
    def show() -> None:
        run.on_each(
            hash_order(chosen_addrs(run, broker_addr, cluster)), lambda addr: _show(run, addr)
        )

    if interval is None:
        show()
    else:
        repeat(show, interval)


def _show(run: Run, addr: str) -> None:
    info = run.admin.ha_status(addr)
    run.out.value({"addr": addr, "status": info})
    if info.master:
        _show_master(run, addr, info)
    else:
        _show_slave(run, info)


def _show_master(run: Run, addr: str, info: HARuntimeInfo) -> None:
    run.out.line(f"\n#MasterAddr\t{addr}")
    run.out.line(f"#MasterCommitLogMaxOffset\t{info.master_commit_log_max_offset}")
    run.out.line(f"#SlaveNum\t{len(info.ha_connection_info)}")
    run.out.line(f"#InSyncSlaveNum\t{info.in_sync_slave_nums}")
    run.out.head(_SLAVE.format(*_TITLES))
    for slave in info.ha_connection_info:
        columns = (
            java(slave.addr),
            slave.slave_ack_offset,
            slave.diff,
            f"{slave.transferred_byte_in_second / 1024:.2f}",
            "OK" if slave.in_sync else "Fall Behind",
            slave.transfer_from_where,
        )
        run.out.line(_SLAVE.format(*columns))


def _show_slave(run: Run, info: HARuntimeInfo) -> None:
    client = info.ha_client_runtime_info
    run.out.line(f"\n#MasterAddr\t{java(client.master_addr)}")
    run.out.line(f"#CommitLogMaxOffset\t{client.max_offset}")
    run.out.line(f"#TransferSpeed(KB/s)\t{client.transferred_byte_in_second / 1024:.2f}")
    run.out.line(f"#LastReadTime\t{local_time(client.last_read_timestamp)}")
    run.out.line(f"#LastWriteTime\t{local_time(client.last_write_timestamp)}")
    run.out.line(f"#MasterFlushOffset\t{client.master_flush_offset}")

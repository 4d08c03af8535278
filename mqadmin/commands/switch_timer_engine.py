"""switchTimerEngine: where brokers keep timer messages. Java: SwitchTimerEngineSubCommand."""

from typing import Final

import click

from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import hash_order

_NAMES: Final = {"R": "ROCKSDB_TIMELINE", "F": "FILE_TIME_WHEEL"}


@admin_command("switchTimerEngine")
@broker_or_cluster
@click.option(
    "-e",
    "--engineType",
    "engine",
    type=click.Choice(tuple(_NAMES)),
    required=True,
    help="F: files of a timing wheel, R: RocksDB.",
)
def command(run: Run, broker_addr: str | None, cluster: str | None, engine: str) -> None:
    def switch(addr: str) -> None:
        run.admin.switch_timer_engine(addr, engine)
        value = {"addr": addr, "engine": engine}
        run.out.row(f"switchTimerEngine to {_NAMES[engine]} success, {addr}", value)

    run.on_each(hash_order(chosen_addrs(run, broker_addr, cluster)), switch)

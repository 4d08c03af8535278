"""wipeWritePerm: on every NameServer. Java: WipeWritePermSubCommand."""

from contextlib import suppress

import click

from trimq.codec.flags import Perm
from trimq.mqadmin.common.planning import would
from trimq.mqadmin.common.write_perm import change_write_perm
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command, dry_run_option


@admin_command("wipeWritePerm")
@click.option("-b", "--brokerName", "broker_name", required=True, help="The broker's name.")
@dry_run_option
def command(run: Run, broker_name: str, dry_run: bool) -> None:
    broker = None
    # If no NameServer answers, each of them says below why.
    with suppress(*FAILURES):
        broker = run.admin.cluster_info().broker_addr_table.get(broker_name)
        if broker is None:
            run.warn(f"no NameServer lists a broker {broker_name!r}")
    if dry_run:
        _plan(run, broker_name, list(broker.broker_addrs.values()) if broker else [])
        return
    change_write_perm(run, "wipe", broker_name, run.admin.wipe_write_perm)


def _plan(run: Run, broker_name: str, addrs: list[str]) -> None:
    for addr in addrs:
        found = run.admin.topics_of(addr)
        topics = sorted(name for name, one in found.items() if Perm.writable(one.perm))
        text = f"stop writes to {len(topics)} topics of {broker_name} ({addr})"
        would(run, text, broker=broker_name, topics=topics)

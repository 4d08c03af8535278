"""What the three commands that let brokers delete files have in common."""

import click

from trimq.codec.codes import RequestCode
from trimq.mqadmin.common.planning import would
from trimq.mqadmin.framework import Run, chosen_addrs, chosen_members, dry_run_option, together

cleaning_options = together(
    click.option("-b", "--brokerAddr", "broker_addr", metavar="HOST:PORT", help="One broker."),
    click.option("-c", "--cluster", help="One cluster; without -b and -c every one."),
    dry_run_option,
)


def _members(run: Run, broker_addr: str | None, cluster: str | None) -> list[str]:
    """One broker, a cluster's brokers, or all brokers."""
    if broker_addr is not None:
        return chosen_addrs(run, broker_addr, None)
    if cluster is not None:
        return chosen_members(run, None, cluster)
    tables = run.admin.cluster_info().broker_addr_table.values()
    return [addr for broker in tables for addr in broker.broker_addrs.values()]


def clean(
    run: Run, what: RequestCode, broker_addr: str | None, cluster: str | None, dry_run: bool
) -> None:
    """Ask these brokers. They do not say beforehand which files they would delete."""
    addrs = _members(run, broker_addr, cluster)
    if dry_run:
        for addr in addrs:
            text = f"ask {addr} for {what.name}; only the broker knows which files that deletes"
            would(run, text, addr=addr)
        return
    run.on_each(addrs, lambda addr: run.admin.clean_broker(addr, what))
    if not run.partly_failed:
        # Without a line end, like the official tool.
        run.out.text("success")
    run.out.value({"brokers": addrs, "success": not run.partly_failed})

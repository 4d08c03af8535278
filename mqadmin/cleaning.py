"""What the three commands that let brokers delete files have in common."""

from trimq.codec.codes import RequestCode
from trimq.mqadmin.framework import Run, chosen_addrs, chosen_members


def clean(run: Run, what: RequestCode, broker_addr: str | None, cluster: str | None) -> None:
    """Ask one broker, a cluster's brokers, or all brokers."""
    if broker_addr is not None:
        addrs = chosen_addrs(run, broker_addr, None)
    elif cluster is not None:
        addrs = chosen_members(run, None, cluster)
    else:
        tables = run.admin.cluster_info().broker_addr_table.values()
        addrs = [addr for broker in tables for addr in broker.broker_addrs.values()]
    run.on_each(addrs, lambda addr: run.admin.clean_broker(addr, what))
    if not run.partly_failed:
        # Without a line end, as the official tool.
        run.out.text("success")
    run.out.value({"brokers": addrs, "success": not run.partly_failed})

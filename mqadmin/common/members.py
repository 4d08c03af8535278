"""A cluster's brokers as the official tool lists them (CommandUtil.fetchMasterAndSlaveDistinguish)."""

from trimq.codec.names import MASTER_ID
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import hash_order

# How the official tool names the master of slaves that have none.
NO_MASTER = "NO_MASTER"


def masters_with_slaves(run: Run, cluster: str) -> list[tuple[str | None, list[str]]]:
    """Each master's address with those of its slaves; None stands for a missing master."""
    slaves: dict[str, list[str]] = {}
    for ids in run.admin.members(cluster).values():
        others = [addr for broker_id, addr in sorted(ids.items()) if broker_id != MASTER_ID]
        slaves.setdefault(ids.get(MASTER_ID, NO_MASTER), []).extend(others)
    listed = hash_order(slaves)
    return [(None if addr == NO_MASTER else addr, slaves[addr]) for addr in listed]

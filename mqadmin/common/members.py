"""A broker by its name; a cluster's as the official tool lists them (CommandUtil.fetchMasterAndSlaveDistinguish)."""

from trimq.codec.bodies.route import BrokerData
from trimq.codec.names import MASTER_ID
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import hash_order

# How the official tool names the master of slaves that have none.
NO_MASTER = "NO_MASTER"


def master_named(run: Run, name: str) -> BrokerData:
    """The broker with that name, which has a master; Failed, with the names that there are."""
    brokers = run.admin.cluster_info().broker_addr_table
    found = brokers.get(name)
    if found is None or MASTER_ID not in found.broker_addrs:
        known = sorted(one for one, data in brokers.items() if MASTER_ID in data.broker_addrs)
        raise Failed(
            f"no NameServer lists a master of {name!r}; those with one: {', '.join(known) or 'none'}"
        )
    return found


def masters_with_slaves(run: Run, cluster: str) -> list[tuple[str | None, list[str]]]:
    """Each master's address with those of its slaves; None stands for a missing master."""
    slaves: dict[str, list[str]] = {}
    for ids in run.admin.members(cluster).values():
        others = [addr for broker_id, addr in sorted(ids.items()) if broker_id != MASTER_ID]
        slaves.setdefault(ids.get(MASTER_ID, NO_MASTER), []).extend(others)
    listed = hash_order(slaves)
    return [(None if addr == NO_MASTER else addr, slaves[addr]) for addr in listed]

"""getBrokerConfig: the settings of a broker or of a cluster's brokers. Java: GetBrokerConfigCommand."""

from functools import partial
from typing import Final

from admin.cluster import MASTER_ID
from mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from mqadmin.java_text import hash_order, properties_order

# How the official tool names the master of slaves that have none.
_NO_MASTER: Final = "NO_MASTER"


@admin_command("getBrokerConfig")
@broker_or_cluster
def command(run: Run, broker_addr: str | None, cluster: str | None) -> None:
    if cluster is None or broker_addr is not None:
        run.on_each(chosen_addrs(run, broker_addr, cluster), lambda addr: _show(run, addr, addr))
        return
    slaves: dict[str, list[str]] = {}
    for ids in run.admin.members(cluster).values():
        others = [addr for broker_id, addr in sorted(ids.items()) if broker_id != MASTER_ID]
        slaves.setdefault(ids.get(MASTER_ID, _NO_MASTER), []).extend(others)
    for master in hash_order(slaves):
        if master == _NO_MASTER:
            run.out.line(f"============Master: {master}============")
        else:
            run.on_each([master], lambda addr: _show(run, addr, f"Master: {addr}"))
        for slave in slaves[master]:
            title = f"My Master: {master}=====Slave: {slave}"
            run.on_each([slave], partial(_show, run, title=title))


def _show(run: Run, addr: str, title: str) -> None:
    run.out.line(f"============{title}============")
    settings = run.admin.broker_config(addr)
    for key in properties_order(settings):
        run.out.line(f"{key:<50}=  {settings[key]}")
    run.out.line()
    run.out.value({"addr": addr, "settings": settings})

"""getBrokerConfig: the settings of a broker or of a cluster's brokers. Java: GetBrokerConfigCommand."""

from functools import partial

from trimq.mqadmin.common.members import NO_MASTER, masters_with_slaves
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.listing import settings_order


@admin_command("getBrokerConfig")
@broker_or_cluster
def command(run: Run, broker_addr: str | None, cluster: str | None) -> None:
    if cluster is None or broker_addr is not None:
        run.on_each(chosen_addrs(run, broker_addr, cluster), lambda addr: _show(run, addr, addr))
        return
    for master, slaves in masters_with_slaves(run, cluster):
        if master is None:
            run.out.line(f"============Master: {NO_MASTER}============")
        else:
            run.on_each([master], lambda addr: _show(run, addr, f"Master: {addr}"))
        for slave in slaves:
            title = f"My Master: {master or NO_MASTER}=====Slave: {slave}"
            run.on_each([slave], partial(_show, run, title=title))


def _show(run: Run, addr: str, title: str) -> None:
    run.out.line(f"============{title}============")
    settings = run.admin.broker_config(addr)
    for key in settings_order(run, settings):
        run.out.line(f"{key:<50}=  {settings[key]}")
    run.out.line()
    run.out.value({"addr": addr, "settings": dict(sorted(settings.items()))})

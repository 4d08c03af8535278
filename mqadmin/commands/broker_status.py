"""brokerStatus: a broker's runtime values by name. Java: BrokerStatusSubCommand."""

from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_members
from trimq.mqadmin.text.java import hash_order


@admin_command("brokerStatus")
@broker_or_cluster
def command(run: Run, broker_addr: str | None, cluster: str | None) -> None:
    def show(addr: str) -> None:
        values = run.admin.broker_runtime(addr)
        head = f"{addr:<24} " if cluster is not None else ""
        for name, value in sorted(values.items()):
            run.out.line(f"{head}{name:<32}: {value}")
        run.out.value({"addr": addr, "runtime": values})

    run.on_each(hash_order(chosen_members(run, broker_addr, cluster)), show)

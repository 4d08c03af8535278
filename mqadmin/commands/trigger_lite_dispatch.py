"""triggerLiteDispatch: let brokers tell a lite group's clients what there is to read.

Java: TriggerLiteDispatchSubCommand.
"""

import click

from trimq.admin.brokers.cluster import preferred_addr
from trimq.mqadmin.common.lite import group_option, parent_option
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command


@admin_command("triggerLiteDispatch")
@parent_option
@group_option
@click.option("-c", "--clientId", "client_id", help="Only this client.")
@click.option("-b", "--brokerName", "broker_name", help="Only this broker.")
def command(
    run: Run, parent: str, group: str, client_id: str | None, broker_name: str | None
) -> None:
    route = run.admin.topic_route(parent)
    run.out.line(f"Group And Topic Info: [{group}] [{parent}]")
    run.out.line()
    for broker in route.broker_datas:
        addr = preferred_addr(broker)
        if addr is None or broker_name not in (None, broker.broker_name):
            continue
        outcome = "dispatched"
        try:
            run.admin.trigger_lite_dispatch(addr, group, client_id)
        except FAILURES as error:
            outcome = "error"
            run.problem(error)
        value = {"brokerName": broker.broker_name, "outcome": outcome}
        run.out.row(f"{broker.broker_name:<30} {outcome:<12}", value)

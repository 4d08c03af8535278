"""getLiteClientInfo: the lite topics that a client reads. Java: GetLiteClientInfoSubCommand."""

from typing import Final

import click

from trimq.mqadmin.common.lite import group_option, on_brokers, parent_option, time_or
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import hash_order, java

_ROW: Final = "{:<30} {:<20} {:<30} {:<30} "
_TITLES: Final = ("#Broker", "#LiteTopicCount", "#LastAccessTime", "#LastConsumeTime")


@admin_command("getLiteClientInfo")
@parent_option
@group_option
@click.option("-c", "--clientId", "client_id", required=True, help="The client's id.")
@click.option("-s", "--showDetail", "detail", is_flag=True, help="The lite topics' names.")
def command(run: Run, parent: str, group: str, client_id: str, detail: bool) -> None:
    route = run.admin.topic_route(parent)
    run.out.line(f"Lite Client Info: [{parent}] [{group}] [{client_id}]")
    run.out.head(_ROW.format(*_TITLES))

    def show(broker_name: str, addr: str) -> None:
        info = run.admin.lite_client_info(addr, parent, group, client_id)
        count = info.lite_topic_count
        times = (info.last_access_time, info.last_consume_time)
        columns = (count if count > 0 else "N/A", *(time_or(time, "N/A") for time in times))
        run.out.line(_ROW.format(broker_name, *columns))
        if detail and info.lite_topic_set is not None:
            run.out.line(f"Lite Topics: {java(hash_order(info.lite_topic_set))}")
            run.out.line()
        run.out.value({"brokerName": broker_name, "info": info})

    on_brokers(run, route, show)

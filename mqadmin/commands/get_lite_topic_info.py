"""getLiteTopicInfo: offsets and subscribers of one lite topic. Java: GetLiteTopicInfoSubCommand."""

from typing import Final

import click

from trimq.codec.names import lite_queue
from trimq.mqadmin.common.lite import on_brokers, parent_option, time_or
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import cut, java

_ROW: Final = "{:<50} {:<14} {:<14} {:<30} {:<12} {:<18} "
_TITLES: Final = (
    "#Broker Name",
    "#MinOffset",
    "#MaxOffset",
    "#LastUpdate",
    "#Sharding",
    "#SubClientCount",
)


@admin_command("getLiteTopicInfo")
@parent_option
@click.option("-l", "--liteTopic", "lite_topic", required=True, help="The lite topic.")
@click.option(
    "-s",
    "--showClientId",
    "with_clients",
    is_flag=True,
    help="Also show the clients that subscribe to it.",
)
def command(run: Run, parent: str, lite_topic: str, with_clients: bool) -> None:
    route = run.admin.topic_route(parent)
    run.out.line(f"Lite Topic Info: [{parent}] [{lite_topic}] [{lite_queue(parent, lite_topic)}]")
    run.out.head(_ROW.format(*_TITLES))

    def show(broker_name: str, addr: str) -> None:
        info = run.admin.lite_topic_info(addr, parent, lite_topic)
        offsets, clients = info.topic_offset, info.subscriber or []
        columns = (
            offsets.min_offset,
            offsets.max_offset,
            time_or(offsets.last_update_timestamp, "-"),
            java(info.sharding_to_broker),
            len(clients),
        )
        run.out.line(_ROW.format(cut(broker_name, 40), *columns))
        if with_clients:
            run.out.line(java([f"{java(one.client_id)}@{java(one.group)}" for one in clients]))
        run.out.value({"brokerName": broker_name, "info": info})

    on_brokers(run, route, show)

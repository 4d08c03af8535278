"""getParentTopicInfo: what a topic of lite topics holds. Java: GetParentTopicInfoSubCommand."""

from typing import Final

from trimq.mqadmin.common.lite import on_brokers, parent_option
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import cut, hash_order, java

_ROW: Final = "{:<50} {:<8} {:<14} {:<14} {:<100} "
_TITLES: Final = ("#Broker Name", "#TTL", "#Lite Count", "#LMQ NUM", "#GROUPS")


@admin_command("getParentTopicInfo")
@parent_option
def command(run: Run, parent: str) -> None:
    route = run.admin.topic_route(parent)
    run.out.line(f"Parent Topic Info: [{parent}]")
    run.out.head(_ROW.format(*_TITLES))

    def show(broker_name: str, addr: str) -> None:
        info = run.admin.parent_topic_info(addr, parent)
        groups = None if info.groups is None else hash_order(info.groups)
        columns = (info.ttl, info.lite_topic_count, info.lmq_num, java(groups))
        run.out.line(_ROW.format(cut(broker_name, 40), *columns))
        run.out.value({"brokerName": broker_name, "info": info})

    on_brokers(run, route, show)

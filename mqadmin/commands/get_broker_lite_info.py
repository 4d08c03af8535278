"""getBrokerLiteInfo: sizes of the tables that lite topics use. Java: GetBrokerLiteInfoSubCommand."""

from typing import Final

import click

from trimq.codec.java import fastjson
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import hash_order, java, string_map

_ROW: Final = "{:<30} {:<17} {:<10} {:<14} {:<20} {:<17} {:<15} {:<18} {:<15}"
_TITLES: Final = (
    "#Broker",
    "#Store Type",
    "#Max LMQ",
    "#Current LMQ",
    "#SubscriptionCount",
    "#OrderInfoCount",
    "#CQTableSize",
    "#OffsetTableSize",
    "#eventMapSize",
)


@admin_command("getBrokerLiteInfo")
@broker_or_cluster
@click.option("-d", "--showDetail", "detail", is_flag=True, help="Also show topics and groups.")
def command(run: Run, broker_addr: str | None, cluster: str | None, detail: bool) -> None:
    addrs = chosen_addrs(run, broker_addr, cluster)
    run.out.head(_ROW.format(*_TITLES))
    if cluster is None:
        _show(run, addrs[0], detail)
        return
    for addr in hash_order(addrs):
        try:
            _show(run, addr, detail)
        except FAILURES as error:
            run.out.line(f"[{addr}] error.")
            run.problem(error)


def _show(run: Run, addr: str, detail: bool) -> None:
    info = run.admin.broker_lite_info(addr)
    columns = (
        java(info.store_type),
        info.max_lmq_num,
        info.current_lmq_num,
        info.lite_subscription_count,
        info.order_info_count,
        info.cq_table_size,
        info.offset_table_size,
        info.event_map_size,
    )
    run.out.line(_ROW.format(addr, *columns))
    if detail:
        topics = None if info.topic_meta is None else string_map(info.topic_meta)
        groups = info.group_meta
        if groups is not None:
            groups = string_map({name: hash_order(members) for name, members in groups.items()})
        run.out.line(f"Topic Meta: {fastjson.dumps(topics).decode()}")
        run.out.line(f"Group Meta: {fastjson.dumps(groups).decode()}")
        run.out.line()
    run.out.value({"addr": addr, "info": info})

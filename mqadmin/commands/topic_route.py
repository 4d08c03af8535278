"""topicRoute: a topic's route as JSON, or with -l as a table. Java: TopicRouteSubCommand."""

from typing import Final

import click

from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.java import fastjson
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.java import java

_ROW: Final = "{:<45} {:<32} {:<50} {:<10} {:<11} {:<5}"


@admin_command("topicRoute")
@topic_option
@click.option("-l", "--list", "as_list", is_flag=True, help="A line per broker.")
def command(run: Run, topic: str, as_list: bool) -> None:
    route = run.admin.topic_route(topic)
    run.out.value(route)
    if as_list:
        _print_list(run, route)
    else:
        run.out.line(fastjson.dumps(route, pretty_tabs=True).decode())


def _print_list(run: Run, route: TopicRouteData) -> None:
    titles = ("#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")
    if not run.out.as_json:
        run.out.head(_ROW.format(*titles))
    queues = {data.broker_name: data for data in route.queue_datas}
    reads = writes = 0
    for broker in sorted(route.broker_datas, key=lambda one: one.broker_name):
        data = queues[broker.broker_name]
        reads += data.read_queue_nums
        writes += data.write_queue_nums
        numbers = (data.read_queue_nums, data.write_queue_nums, data.perm)
        addrs = java(dict(sorted(broker.broker_addrs.items())))
        run.out.line(_ROW.format(java(broker.cluster), broker.broker_name, addrs, *numbers))
    run.out.line("-" * 158)
    run.out.line(_ROW.format("Total:", len(queues), "", reads, writes, ""))

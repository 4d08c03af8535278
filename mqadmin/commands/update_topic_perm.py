"""updateTopicPerm: change a topic's permission bits. Java: UpdateTopicPermSubCommand.

The topic keeps the queue numbers that its route's first broker has.
"""

import click

from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.names import MASTER_ID
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import (
    Run,
    admin_command,
    broker_or_cluster,
    chosen_addrs,
    topic_option,
)
from trimq.mqadmin.text.configs import topic_text
from trimq.mqadmin.text.java import hash_order


@admin_command("updateTopicPerm")
@broker_or_cluster
@topic_option
@click.option(
    "-p", "--perm", type=click.IntRange(0, 7), required=True, help="2 write, 4 read, 6 both."
)
def command(run: Run, broker_addr: str | None, cluster: str | None, topic: str, perm: int) -> None:
    addrs = chosen_addrs(run, broker_addr, cluster)
    route = run.admin.topic_route(topic)
    if not route.queue_datas:
        raise Failed(f"no broker has queues of topic {topic!r}")
    first = route.queue_datas[0]
    config = TopicConfig(
        topic_name=topic,
        read_queue_nums=first.read_queue_nums,
        write_queue_nums=first.write_queue_nums,
        topic_sys_flag=first.topic_sys_flag,
        perm=perm,
    )
    if broker_addr is not None:
        _on_broker(run, broker_addr, route, config)
        return

    def change(addr: str) -> None:
        run.admin.put_topic(addr, config)
        _report(run, first.perm, addr, config)

    run.on_each(hash_order(addrs), change)


def _on_broker(run: Run, addr: str, route: TopicRouteData, config: TopicConfig) -> None:
    names = [
        one.broker_name for one in route.broker_datas if one.broker_addrs.get(MASTER_ID) == addr
    ]
    if not names:
        raise Failed(f"{addr} is not a master with topic {config.topic_name!r}")
    before = next((one.perm for one in route.queue_datas if one.broker_name == names[0]), 0)
    if before == config.perm:
        run.out.line("new perm equals to the old one!")
        return
    run.admin.put_topic(addr, config)
    _report(run, before, addr, config)
    run.out.line(f"{topic_text(config)}.")


def _report(run: Run, before: int, addr: str, config: TopicConfig) -> None:
    change = {"addr": addr, "topic": config.topic_name, "from": before, "to": config.perm}
    run.out.row(f"update topic perm from {before} to {config.perm} in {addr} success.", change)

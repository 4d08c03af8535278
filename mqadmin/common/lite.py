"""What the commands about lite topics have in common."""

from collections.abc import Callable

import click

from trimq.admin.brokers.cluster import preferred_addr
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.java.moments import local_time
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run

parent_option = click.option(
    "-p", "--parentTopic", "parent", required=True, help="The topic of the lite topics."
)
group_option = click.option("-g", "--group", required=True, help="The consumer group.")


def on_brokers(run: Run, route: TopicRouteData, action: Callable[[str, str], None]) -> None:
    """Call with name and address of each broker; one that fails gets the official tool's line."""
    for broker in route.broker_datas:
        addr = preferred_addr(broker)
        if addr is None:
            continue
        try:
            action(broker.broker_name, addr)
        except FAILURES as error:
            run.out.line(f"[{broker.broker_name}] error.")
            run.problem(error)


def time_or(millis: int, absent: str) -> str:
    """A moment, or the text for none."""
    return local_time(millis) if millis > 0 else absent

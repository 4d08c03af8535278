"""consumerConnection: a group's clients and subscriptions. Java: ConsumerConnectionSubCommand."""

from typing import Final

import click

from trimq.codec.versions import version_name
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import hash_order, java

_CLIENT: Final = "{:<36} {:<22} {:<10} {}"


@admin_command("consumerConnection")
@click.option("-g", "--consumerGroup", "group", required=True, help="The group.")
@click.option(
    "-b", "--brokerAddr", "broker_addr", metavar="HOST:PORT", help="Ask this broker instead of any."
)
def command(run: Run, group: str, broker_addr: str | None) -> None:
    found = run.admin.consumer_connection(group, broker_addr)
    run.out.value(found)
    if run.out.as_json:
        return
    run.out.head(_CLIENT.format("#ClientId", "#ClientAddr", "#Language", "#Version"))
    for client in found.connection_set:
        words = map(java, (client.client_id, client.client_addr, client.language))
        run.out.line(_CLIENT.format(*words, version_name(client.version)))
    run.out.line("\nBelow is subscription:")
    run.out.head(f"{'#Topic':<20} #SubExpression")
    for topic in hash_order(found.subscription_table):
        run.out.line(f"{topic:<20} {java(found.subscription_table[topic].sub_string)}")
    run.out.line()
    run.out.line(f"ConsumeType: {java(found.consume_type)}")
    run.out.line(f"MessageModel: {java(found.message_model)}")
    run.out.line(f"ConsumeFromWhere: {java(found.consume_from_where)}")

"""queryMsgByOffset: show the message at an offset of a queue. Java: QueryMsgByOffsetSubCommand."""

from pathlib import Path

import click

from trimq.admin.errors import NotFound
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.messages import MessageText, bodies_option, body_codec


@admin_command("queryMsgByOffset")
@topic_option
@click.option("-b", "--brokerName", "broker_name", required=True, help="The broker's name.")
@click.option(
    "-i", "--queueId", "queue_id", type=click.IntRange(min=0), required=True, help="The queue."
)
@click.option(
    "-o", "--offset", type=click.IntRange(min=0), required=True, help="The offset in the queue."
)
@click.option("-f", "--bodyFormat", "charset", help="Print the body in this character set.")
@click.option("-r", "--routeTopic", "route_topic", help="The topic whose route is used.")
@bodies_option
def command(
    run: Run,
    topic: str,
    broker_name: str,
    queue_id: int,
    offset: int,
    charset: str | None,
    route_topic: str | None,
    out: Path | None,
) -> None:
    codec = body_codec(charset)
    place = run.admin.place_of(topic, broker_name, queue_id, route_topic)
    pulled = run.admin.pull(place, offset, limit=1)
    if not pulled.messages:
        raise Failed(
            str(NotFound(f"{topic}'s queue {queue_id} on {broker_name} has no message at {offset}"))
        )
    MessageText(run, pulled.messages[0], out).by_id(codec)

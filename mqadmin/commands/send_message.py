"""sendMessage: send one message. Java: SendMessageCommand."""

from typing import Final

import click

from trimq.admin.sending import NewMessage
from trimq.mqadmin.framework import Run, admin_command, boolean, topic_option

_ROW: Final = "{:<32}  {:<4}  {:<20}    {}"


@admin_command("sendMessage")
@topic_option
@click.option("-p", "--body", required=True, help="The body, sent as UTF-8.")
@click.option("-k", "--key", "keys", help="Keys, separated by blanks.")
@click.option("-c", "--tags", help="The tag.")
@click.option("-b", "--broker", "broker_name", help="The name of the broker to send to.")
@click.option("-i", "--qid", "queue_id", type=click.IntRange(min=0), help="The queue; needs -b.")
@click.option(
    "-m",
    "--msgTraceEnable",
    "trace",
    type=boolean,
    metavar="true|false",
    default=False,
    help="Not supported.",
)
def command(
    run: Run,
    topic: str,
    body: str,
    keys: str | None,
    tags: str | None,
    broker_name: str | None,
    queue_id: int | None,
    trace: bool,
) -> None:
    if queue_id is not None and broker_name is None:
        raise click.UsageError("-i needs -b: a queue number is one of a broker's")
    if trace:
        raise click.UsageError("message traces are not supported")
    message = NewMessage(topic=topic, body=body.encode(), tags=tags, keys=keys)
    # As in the official tool, a broker without a queue is no choice.
    sent = run.admin.send(message, broker_name if queue_id is not None else None, queue_id)
    run.out.head(_ROW.format("#Broker Name", "#QID", "#Send Result", "#MsgId"))
    columns = (sent.queue.broker_name, sent.queue.queue_id, sent.status, sent.message_id)
    run.out.row(_ROW.format(*columns), sent)

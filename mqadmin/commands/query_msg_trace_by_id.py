"""queryMsgTraceById: who sent and who consumed a message, from the traces that clients wrote.

Java: QueryMsgTraceByIdSubCommand.
"""

from typing import Final

import click

from trimq.admin.errors import NotFound
from trimq.admin.messages.finding import MessageQuery
from trimq.codec.java.moments import local_seconds
from trimq.codec.names import TRACE_TOPIC
from trimq.mqadmin.common.times import whole_time
from trimq.mqadmin.common.traces import CONSUMED, SENT, Trace, traces_of
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run, admin_command, number_option
from trimq.mqadmin.text.java import hash_order, java

_ROW: Final = "{:<10} {:<20} {:<20} {:<20} {:<10} {:<10}"
_SENT_TITLES: Final = (
    "#Type",
    "#ProducerGroup",
    "#ClientHost",
    "#SendTime",
    "#CostTimes",
    "#Status",
)
# Without the first setting, no broker has the topic; without the second, it stays empty.
_NO_TRACES: Final = (
    "traces are kept where brokers have traceTopicEnable=true and clients have traces enabled"
)
_CONSUMED_TITLES: Final = (
    "#Type",
    "#ConsumerGroup",
    "#ClientHost",
    "#ConsumerTime",
    "#CostTimes",
    "#Status",
)


@admin_command("queryMsgTraceById")
@click.option("-i", "--msgId", "message_id", required=True, help="The unique id.")
@click.option(
    "-t",
    "--traceTopic",
    "topic",
    default=TRACE_TOPIC,
    show_default=True,
    help="Where clients keep traces.",
)
@whole_time
@number_option("-c", "--maxNum", "limit", default=64, help="Trace messages to search, at most.")
def command(run: Run, message_id: str, topic: str, begin: int, end: int, limit: int) -> None:
    query = MessageQuery(topic=topic, key=message_id, limit=limit, begin=begin, end=end)
    try:
        messages = run.admin.query_messages(query)
    except NotFound as error:
        raise Failed(f"{error}: {_NO_TRACES}") from None
    found = [trace for message in messages for trace in traces_of(message, message_id)]
    if not found:
        raise Failed(f"no trace of message {message_id} in topic {topic!r}: {_NO_TRACES}")
    by_group: dict[str, list[Trace]] = {}
    for trace in found:
        run.out.value(trace)
        if trace.kind == SENT:
            run.out.head(_ROW.format(*_SENT_TITLES))
            run.out.line(_row("Pub", trace))
            run.out.line()
        elif trace.kind == CONSUMED:
            by_group.setdefault(java(trace.group), []).append(trace)
    for group in hash_order(by_group):
        run.out.head(_ROW.format(*_CONSUMED_TITLES))
        for trace in by_group[group]:
            run.out.line(_row("Sub", trace))
        run.out.line()


def _row(kind: str, trace: Trace) -> str:
    return _ROW.format(
        kind,
        java(trace.group),
        trace.host,
        local_seconds(trace.time),
        f"{trace.cost}ms",
        "success" if trace.success else "failed",
    )

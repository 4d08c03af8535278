"""queryMsgByKey: find messages by a key or a tag. Java: QueryMsgByKeySubCommand."""

from typing import Final

import click

from trimq.admin.messages.finding import KEY, TAG, MessageQuery
from trimq.mqadmin.common.times import whole_time
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run, admin_command, number_option, topic_option
from trimq.mqadmin.text.messages import message_value

_HEAD: Final = "{:<50} {:>4} {:>40} {:<200}"
_HOUR: Final = 3_600_000
_WHAT: Final = {KEY: "key", TAG: "tag"}


@admin_command("queryMsgByKey")
@topic_option
@click.option("-k", "--msgKey", "key", required=True, help="The key, or the tag with -p T.")
@whole_time
@number_option("-m", "--maxNum", "limit", default=64, help="How many at most.")
@click.option("-c", "--cluster", help="Search this cluster only.")
@click.option(
    "-p",
    "--keyType",
    "kind",
    type=click.Choice([KEY, TAG]),
    default=KEY,
    show_default=True,
    help="K for keys, T for tags.",
)
@click.option(
    "-l",
    "--lastKey",
    "last_key",
    help="Continue after this #IndexKey, the last one of the previous answer.",
)
def command(
    run: Run,
    topic: str,
    key: str,
    begin: int,
    end: int,
    limit: int,
    cluster: str | None,
    kind: str,
    last_key: str | None,
) -> None:
    query = MessageQuery(
        topic=topic,
        key=key,
        kind=kind,
        limit=limit,
        begin=begin,
        end=end,
        cluster=cluster,
        last_key=last_key,
    )
    found = run.admin.query_messages(query)
    if not found:
        raise Failed(f"topic {topic!r} has no message with {_WHAT[kind]} {key!r}")
    run.out.head(_HEAD.format("#Message ID", "#QID", "#Offset", "#IndexKey"))
    for one in found:
        hour = one.store_timestamp // _HOUR * _HOUR
        index_key = f"{hour}@{topic}@{kind}@{key}@{one.message_id}@{one.physical_offset}"
        text = _HEAD.format(one.message_id, one.queue_id, one.queue_offset, index_key)
        run.out.row(text, message_value(one))

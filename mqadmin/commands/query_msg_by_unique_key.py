"""queryMsgByUniqueKey: show messages by the id that their producer gave them.

Java: QueryMsgByUniqueKeySubCommand. Searches 36 hours before and after now, unless times are given.
"""

from pathlib import Path

import click

from trimq.admin.messages.finding import UNIQUE_KEY, MessageQuery
from trimq.mqadmin.common.direct import consume_again, target_of
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.messages import MessageText, bodies_option
from trimq.mqadmin.text.moments import MOMENT, moment, start_moment

_WINDOW = 36 * 3600 * 1000


@admin_command("queryMsgByUniqueKey")
@click.option("-i", "--msgId", "message_id", required=True, help="The unique id.")
@topic_option
@click.option("-g", "--consumerGroup", "group", help="With -d: deliver it again to a consumer.")
@click.option("-d", "--clientId", "client_id", help="The consumer's client id.")
@click.option(
    "-a", "--showAll", "show_all", is_flag=True, help="Show all messages that have it, at most 32."
)
@click.option("-c", "--cluster", help="Search this cluster only.")
@click.option(
    "-s",
    "--startTime",
    "begin",
    type=start_moment,
    metavar=MOMENT,
    help="Only messages stored at or after this time; needs -e.",
)
@click.option(
    "-e",
    "--endTime",
    "end",
    type=moment,
    metavar=MOMENT,
    help="Only messages stored at or before this time; needs -s.",
)
@bodies_option
def command(
    run: Run,
    message_id: str,
    topic: str,
    group: str | None,
    client_id: str | None,
    show_all: bool,
    cluster: str | None,
    begin: int | None,
    end: int | None,
    out: Path | None,
) -> None:
    now = run.admin.link.now()
    if begin is None or end is None:
        begin, end = now - _WINDOW, now + _WINDOW
    query = MessageQuery(
        topic=topic,
        key=message_id,
        kind=UNIQUE_KEY,
        limit=32,
        begin=begin,
        end=end,
        cluster=cluster,
    )
    found = sorted(run.admin.query_messages(query), key=lambda one: one.store_timestamp)
    if not found:
        raise Failed(f"there is no message {message_id} in topic {topic!r}")
    target = target_of(group, client_id)
    if target is not None:
        consume_again(run, found[0], target)
        return
    for number, message in enumerate(found if show_all else found[:1]):
        MessageText(run, message, out).by_unique_key(number)

"""printMsgByQueue: print a queue's messages, or count them by tag. Java: PrintMessageByQueueCommand."""

from collections import Counter

import click

from trimq.mqadmin.common.printed import print_message, which_messages
from trimq.mqadmin.framework import Run, admin_command, boolean_option, topic_option
from trimq.mqadmin.text.java import hash_order
from trimq.mqadmin.text.messages import body_codec


@admin_command("printMsgByQueue")
@topic_option
@click.option("-a", "--brokerName", "broker_name", required=True, help="The broker's name.")
@click.option(
    "-i", "--queueId", "queue_id", type=click.IntRange(min=0), required=True, help="The queue."
)
@which_messages
@boolean_option("-p", "--printMsg", "show", default=False, help="Print the messages.")
@boolean_option("-d", "--printBody", "with_body", default=False, help="Print their bodies, too.")
@boolean_option("-f", "--calculate", "count", default=False, help="Count messages by tag.")
def command(
    run: Run,
    topic: str,
    broker_name: str,
    queue_id: int,
    charset: str,
    tags: str,
    begin: int | None,
    end: int | None,
    show: bool,
    with_body: bool,
    count: bool,
) -> None:
    codec = body_codec(charset) or "UTF-8"
    if not show and not count:
        run.warn(
            "nothing is printed without -p true or -f true;"
            f" 'mqadmin tail {topic} -q {broker_name}:{queue_id}' shows messages"
        )
    admin = run.admin
    place = admin.place_of(topic, broker_name, queue_id)
    offset = admin.min_offset(place) if begin is None else admin.search_offset(place, begin)
    last = admin.max_offset(place) if end is None else admin.search_offset(place, end)
    counts: Counter[str] = Counter()
    while offset < last:
        pulled = admin.pull(place, offset, tags)
        offset = pulled.after(place, offset)
        # As in the official tool, a stretch without a matching message is the end.
        if pulled.status != "FOUND":
            break
        counts.update(one.tags for one in pulled.messages if one.tags and one.tags.strip())
        for message in pulled.messages if show else ():
            print_message(run, message, codec if with_body else None)
    if count:
        for tag in sorted(hash_order(counts), key=lambda one: -counts[one]):
            run.out.row(f"Tag: {tag:<30} Count: {counts[tag]}", {"tag": tag, "count": counts[tag]})

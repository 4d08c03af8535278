"""printMsg: a topic's messages, queue by queue. Java: PrintMessageSubCommand."""

import click

from trimq.admin.messages.pulling import Place
from trimq.mqadmin.common.printed import print_message, which_messages
from trimq.mqadmin.framework import Run, admin_command, boolean_option, topic_option
from trimq.mqadmin.text.messages import body_codec, places_in_order, queue_text


@admin_command("printMsg")
@topic_option
@which_messages
@boolean_option("-d", "--printBody", "with_body", default=True, help="Print bodies, too (default).")
@click.option("-l", "--lmqParentTopic", "parent", help="A lite topic's parent.")
def command(
    run: Run,
    topic: str,
    charset: str,
    tags: str,
    begin: int | None,
    end: int | None,
    with_body: bool,
    parent: str | None,
) -> None:
    codec = body_codec(charset) or "UTF-8"
    places = run.admin.read_queues(topic, parent)
    for place in places_in_order(places):
        first = _offset(run, place, begin, last=False)
        last = _offset(run, place, end, last=True)
        run.out.line(f"minOffset={first}, maxOffset={last}, {queue_text(place.queue)}")
        _print_queue(run, place, first, last, tags, codec if with_body else None)
        run.out.line("-" * 56)


def _offset(run: Run, place: Place, millis: int | None, last: bool) -> int:
    if millis is not None:
        return run.admin.search_offset(place, millis)
    return run.admin.max_offset(place) if last else run.admin.min_offset(place)


def _print_queue(
    run: Run, place: Place, first: int, last: int, tags: str, codec: str | None
) -> None:
    offset = first
    queue = queue_text(place.queue)
    while offset < last:
        pulled = run.admin.pull(place, offset, tags)
        offset = pulled.after(place, offset)
        if pulled.status == "FOUND":
            for message in pulled.messages:
                print_message(run, message, codec)
        elif pulled.status == "NO_MATCHED_MSG":
            run.out.line(f"{queue} no matched msg. status={pulled.status}, offset={offset}")
        else:
            run.out.line(f"{queue} print msg finished. status={pulled.status}, offset={offset}")
            return

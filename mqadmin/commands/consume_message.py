"""consumeMessage: read and print some messages. Java: ConsumeMessageCommand.

Reads the offsets from the first to the last one asked for, included; nothing is committed.
"""

from dataclasses import dataclass

import click

from trimq.admin.messages.pulling import Place
from trimq.mqadmin.common.printed import print_message
from trimq.mqadmin.common.times import begin_option, end_option
from trimq.mqadmin.framework import Run, admin_command, number_option, topic_option
from trimq.mqadmin.text.messages import places_in_order, queue_text
from trimq.mqadmin.text.moments import moment


@dataclass(frozen=True, slots=True)
class Window:
    """Which messages: stored from `begin` to `end` (milliseconds; None is open), how many at most."""

    begin: int | None
    end: int | None
    limit: int

    def offsets(self, run: Run, place: Place) -> tuple[int, int]:
        """First and last offset in a queue."""
        first, last = run.admin.min_offset(place), run.admin.max_offset(place)
        if self.begin:
            first = run.admin.search_offset(place, self.begin)
        if self.end:
            last = run.admin.search_offset(place, self.end)
        return first, last


@admin_command("consumeMessage")
@topic_option
@click.option("-b", "--brokerName", "broker_name", help="The broker's name; needs -i.")
@click.option("-i", "--queueId", "queue_id", type=click.IntRange(min=0), help="Needs -b.")
@click.option("-o", "--offset", type=click.IntRange(min=0), help="Start at this offset; needs -i.")
@click.option("-g", "--consumerGroup", "group", help="Read as this group.")
@begin_option("-s", moment)
@end_option()
@number_option(
    "-c",
    "--MessageNumber",
    "limit",
    default=128,
    help="How many at most; each queue uses up one more than it has, unless --json is given.",
)
def command(
    run: Run,
    topic: str,
    broker_name: str | None,
    queue_id: int | None,
    offset: int | None,
    group: str | None,
    begin: int | None,
    end: int | None,
    limit: int,
) -> None:
    now = run.admin.link.now()
    if queue_id is not None and broker_name is None:
        raise click.UsageError("-i needs -b: a queue number belongs to a broker")
    if offset is not None and queue_id is None:
        raise click.UsageError("-o needs -i: an offset belongs to a queue")
    if max(begin or 0, end or 0) > now:
        raise click.UsageError("-s and -e must not lie in the future")
    if begin is not None and end is not None and begin > end:
        raise click.UsageError("-s must not be later than -e")
    window = Window(begin, end, limit)
    if queue_id is None or broker_name is None:
        _any_queue(run, topic, window, group)
    else:
        place = run.admin.place_of(topic, broker_name, queue_id)
        _one_queue(run, place, window, offset or 0, group)


def _any_queue(run: Run, topic: str, window: Window, group: str | None) -> None:
    places = places_in_order(run.admin.read_queues(topic))
    if run.out.as_json:
        _counted(run, places, window, group)
        return
    left = window.limit
    printed = there = 0
    for place in places:
        first, last = window.offsets(run, place)
        there += last - first
        if left == 0:
            continue
        if last - first > left:
            queue_id = place.queue.queue_id
            run.out.line(f"The older {left} message of the {queue_id} queue will be provided")
            last = first + left - 1
            left = 0
        else:
            # A queue counts as one more than it has, as in the official tool.
            left -= last - first + 1
        printed += _print(run, place, first, last, group)
    if printed < min(there, window.limit):
        run.warn(
            f"{printed} of {there} messages are shown: each queue uses up one more of -c than it "
            f"has; 'mqadmin tail {topic} -N {window.limit}' or --json shows {window.limit}"
        )


def _counted(run: Run, places: list[Place], window: Window, group: str | None) -> None:
    """As many messages as were asked for: only the text output counts like the official tool."""
    left = window.limit
    for place in places:
        first, last = window.offsets(run, place)
        if first < last and left > 0:
            left -= _print(run, place, first, min(last, first + left) - 1, group)


def _one_queue(run: Run, place: Place, window: Window, offset: int, group: str | None) -> None:
    first, last = window.offsets(run, place)
    if offset > last:
        run.out.line(f"{queue_text(place.queue)} no matched msg, offset={offset}")
        return
    first = max(first, offset)
    if last - first > window.limit:
        # The official tool's spelling.
        run.out.line(f"The oldler {window.limit} message will be provided")
        last = first + window.limit - 1
    _print(run, place, first, last, group)


def _print(run: Run, place: Place, first: int, last: int, group: str | None) -> int:
    """Messages up to and including the last offset; returns how many there were."""
    printed = 0
    offset = first
    queue = queue_text(place.queue)
    while offset <= last:
        pulled = run.admin.pull(place, offset, limit=last - offset + 1, group=group)
        offset = pulled.after(place, offset)
        if pulled.status == "FOUND":
            run.out.line("Consume ok")
            printed += len(pulled.messages)
            for message in pulled.messages:
                print_message(run, message, "utf-8")
        elif pulled.status == "NO_MATCHED_MSG":
            run.out.line(f"{queue} no matched msg. status={pulled.status}, offset={offset}")
        else:
            run.out.line(f"{queue} print msg finished. status={pulled.status}, offset={offset}")
            break
    return printed

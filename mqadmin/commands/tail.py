"""tail: a topic's last messages, and with -f the new ones as they come. A command of our own.

Nobody's offsets move, and no group is created: messages are pulled as printMsg pulls them.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import click

from trimq.admin.messages.message import Message
from trimq.mqadmin.common.tailing import Choice, Tail, queue_choice
from trimq.mqadmin.framework import Run, admin_command, topic_names
from trimq.mqadmin.output import give_up_stdout
from trimq.mqadmin.text.lines import BODIES, LETTERS, Lines, read_format
from trimq.mqadmin.text.moments import MOMENT, moment, start_moment

_LAST: Final = 20
_FORMAT_HELP: Final = "What to print of a message: " + ", ".join(
    f"{code} {meaning}" for code, meaning in LETTERS.items()
)


def _since(value: object) -> int:
    return 0 if str(value).strip().lower() == "earliest" else start_moment(value)


@admin_command("tail")
@click.argument("topic", required=False, shell_complete=topic_names)
@click.option("-t", "--topic", "named", metavar="TOPIC", help="The topic, instead of the argument.")
@click.option("-f", "--follow", is_flag=True, help="Continue with new messages, until Ctrl-C.")
@click.option(
    "-N",
    "--last",
    type=click.IntRange(min=0),
    help=f"How many of the stored messages: {_LAST}, or all with --since.",
)
@click.option(
    "--since",
    type=_since,
    metavar=f"earliest|{MOMENT}",
    help="Only what was stored at or after this time.",
)
@click.option("--until", type=moment, metavar=MOMENT, help="Only what was stored before this time.")
@click.option("--tag", "tags", default="*", metavar="TAG || TAG", help="Only messages with a tag.")
@click.option("--key", help="Only messages with this key.")
@click.option(
    "-b", "--broker", "brokers", multiple=True, help="Only this broker, by name. Repeatable."
)
@click.option(
    "-q",
    "--queue",
    "queues",
    type=queue_choice,
    multiple=True,
    metavar="[BROKER:]NUMBER",
    help="Only this queue. Repeatable.",
)
@click.option(
    "-m", "--max", "limit", type=click.IntRange(min=1), help="Stop after this many messages."
)
@click.option(
    "--body",
    type=click.Choice(BODIES),
    default="text",
    show_default=True,
    help="How to show bodies.",
)
@click.option("-p", "--properties", "with_properties", is_flag=True, help="Show properties, too.")
@click.option(
    "--format", "layout", metavar="TEXT", help=_FORMAT_HELP + r"; \n \t \0; \c: no line end."
)
def command(
    run: Run,
    topic: str | None,
    named: str | None,
    follow: bool,
    last: int | None,
    since: int | None,
    until: int | None,
    tags: str,
    key: str | None,
    brokers: tuple[str, ...],
    queues: tuple[tuple[str | None, int], ...],
    limit: int | None,
    body: str,
    with_properties: bool,
    layout: str | None,
) -> None:
    if (topic is None) == (named is None):
        raise click.UsageError("give one topic: mqadmin tail TOPIC")
    if follow and until is not None:
        raise click.UsageError("--until and -f contradict each other")
    parts = None if layout is None else read_format(layout, body)
    lines = Lines(body, parts, with_properties)
    choice = Choice(tags=tags, key=key, since=since, until=until, brokers=brokers, queues=queues)
    if last is None and since is None and until is None:
        last = _LAST
    try:
        found = _messages(run, Tail(run, topic or named or "", choice), last, follow)
        for message in islice(found, limit):
            run.out.text(lines.line(message))
            if run.out.as_json:
                run.out.value(lines.value(message))
    except BrokenPipeError:
        # The reader has seen enough.
        give_up_stdout()
    except KeyboardInterrupt:
        if not follow:
            raise


def _messages(run: Run, tail: Tail, last: int | None, follow: bool) -> Iterator[Message]:
    yield from tail.everything() if last is None else tail.last(last)
    if not follow:
        return
    for message in tail.news():
        if message is not None:
            yield message
        elif run.out.is_unread():
            return

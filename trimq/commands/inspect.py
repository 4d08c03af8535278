"""``trimq inspect``: print store files. Reads only; a broker may be running on them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from trimq.codec.errors import CodecError
from trimq.commands.inspected import BODY_FORMS, heading, json_line, text_lines
from trimq.commands.popped import handle_fields, handle_lines
from trimq.commands.refusals import Misused
from trimq.store.inspecting.items import End, Item, Reason, Selection, Unreadable
from trimq.store.inspecting.kinds import Kind

DEFAULT_LIMIT: Final = 100

EXAMPLES = """
\b
Examples:
  trimq inspect data/commitlog
      the first 100 messages of the store
  trimq inspect data/commitlog --topic Orders --queue 3 --offset 120..125 --body text
      some messages of one queue, with their whole bodies
  trimq inspect data/commitlog --key order-4711 --json
      all messages with that key (KEYS or UNIQ_KEY), one JSON object per line
  trimq inspect data/consumequeue/Orders/3 --from 1000000
      consume-queue entries from queue offset 1000000 on
  trimq inspect data/index --topic Orders --key order-4711
      what a query by that key looks at
  trimq inspect copy-of-a-file --type consumequeue
  trimq inspect data/commitlog --topic rmq_sys_REVIVE_LOG_DefaultCluster
      what was popped and acknowledged, in words
  trimq inspect --handle '0 1700000000000 60000 3 0 broker-a 1 101'
      what a handle of a popped message says

\b
--from and --to count in physical offsets for the commit log, queue offsets for consume queues,
entry numbers for index, batch queues and timer wheel, bytes for timer log and extension.
Exit code: 0, or 1 when something is damaged, 2 when there is nothing to print.
"""


def parse_range(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """`A..B`, both included, or one number."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,19})(?:\.\.(\d{1,19}))?", text)
    if match is None:
        raise click.BadParameter(f"{text!r} is neither an offset nor a range: write 17 or 17..42")
    low = int(match[1])
    high = int(match[2] or low)
    if high < low:
        raise click.BadParameter(f"{text!r} ends before it begins")
    return low, high


@click.command(epilog=EXAMPLES)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option(
    "--type",
    "kind",
    type=click.Choice([str(kind) for kind in Kind]),
    help="What kind of file it is, if its path does not tell.",
)
@click.option("--topic", help="Only messages, or queues, of this topic.")
@click.option("--queue", "queue_id", type=int, help="Only messages, or queues, with this queue id.")
@click.option(
    "--offset", "offsets", callback=parse_range, metavar="A[..B]", help="Only these queue offsets."
)
@click.option(
    "--physical-offset",
    type=int,
    help="The record at this physical offset, or the entries that point to it.",
)
@click.option("--key", help="Only messages with this KEYS word or UNIQ_KEY.")
@click.option("--from", "start", type=int, help="Begin at this number; see below.")
@click.option("--to", "end", type=int, help="End after this number.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    help=f"Print at most this many, 0 for all.  [default: {DEFAULT_LIMIT}; all with --json]",
)
@click.option(
    "--body",
    type=click.Choice(BODY_FORMS),
    default="preview",
    show_default=True,
    help="How to show message bodies.",
)
@click.option("--handle", help="Instead of a PATH: what a handle of POP (POP_CK, extraInfo) says.")
@click.option("--index-slots", type=click.IntRange(1), help="maxHashSlotNum, if it was changed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def inspect(
    path: Path | None,
    kind: str | None,
    limit: int | None,
    body: str,
    as_json: bool,
    handle: str | None,
    **chosen: Any,
) -> None:
    """Print a file of the store, or a folder of them: commit log, consume queues, index, checkpoint,
    timer files, configuration. It is only read: a broker may be running.
    """
    if handle is not None:
        _explain(handle, path, as_json)
        return
    if path is None:
        raise Misused(
            "name a file or a folder of the store, or a handle: --handle '0 1700000000000 ...'"
        )
    if limit is None:
        limit = 0 if as_json else DEFAULT_LIMIT
    try:
        damaged, count = _print(
            path, Kind(kind) if kind else None, Selection(**chosen), limit, body, as_json
        )
    except Unreadable as error:
        raise Misused(str(error)) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Misused(f"{error.filename or path} cannot be read: {error.strerror}") from None
    if damaged:
        raise SystemExit(1)
    if not count:
        click.echo("nothing to print: no entry is there, or none matches", err=True)
        raise SystemExit(2)


def _print(
    path: Path, kind: Kind | None, chosen: Selection, limit: int, body: str, as_json: bool
) -> tuple[bool, int]:
    """Whether something is damaged, and how many items there were. Unreadable, OSError."""
    # construct takes a while to load: not for the other commands.
    from trimq.store.inspecting.inspection import inspect as inspect_path

    damaged, count = False, 0
    last: Path | None = None
    for item in _limited(inspect_path(path, kind, chosen), limit):
        if as_json:
            click.echo(json_line(item, body))
        else:
            if item.file != last:
                click.echo(heading(item.file))
            click.echo(text_lines(item, body))
        last = item.file
        count += isinstance(item, Item)
        damaged = damaged or _is_damage(item)
    return damaged, count


def _explain(handle: str, path: Path | None, as_json: bool) -> None:
    if path is not None:
        raise Misused(f"a handle is read by itself: leave out {path}, or --handle")
    try:
        click.echo(json.dumps(handle_fields(handle)) if as_json else handle_lines(handle))
    except CodecError as error:
        raise Misused(f"{error}; its fields are in docs/pop.md") from None


def _limited(found: Iterator[Item | End], limit: int) -> Iterator[Item | End]:
    count = 0
    for item in found:
        if isinstance(item, Item) and limit and count == limit:
            text = f"{limit} shown, more follow: --limit N (0 for all), or --from {item.number}"
            yield End(item.file, item.position, Reason.LIMIT, text, resume=item.number)
            return
        count += isinstance(item, Item)
        yield item


def _is_damage(item: Item | End) -> bool:
    if isinstance(item, End):
        return item.reason is Reason.DAMAGE
    return not item.fields.get("crc_holds", True)

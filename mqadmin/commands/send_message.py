"""sendMessage: send messages. Java: SendMessageCommand.

Bodies from standard input and files, properties and delays are ours; the official tool sends what -p says.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from typing import IO, Any, Final

import click

from trimq.admin.messages.sending import NewMessage, Sent
from trimq.codec.records import property_keys
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run, admin_command, boolean_option, topic_option
from trimq.mqadmin.text.moments import MOMENT, moment

_ROW: Final = "{:<32}  {:<4}  {:<20}    {}"
# What separates properties from each other in a record, and names from values.
_SEPARATORS: Final = ("\x01", "\x02")
_FLAGS: Final = {
    property_keys.KEYS: "-k",
    property_keys.TAGS: "-c",
    property_keys.DELAY: "--delay-level",
    property_keys.TIMER_DELAY_SEC: "--delay",
    property_keys.TIMER_DELIVER_MS: "--deliver-at",
}
_RESERVED: Final = frozenset(
    value for name, value in vars(property_keys).items() if name.isupper()
) - {property_keys.KEY_SEPARATOR}


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where bodies come from: the command line, standard input, files; whole, or line by line."""

    body: str | None
    stdin: bool
    files: tuple[Path, ...]
    by_line: bool

    def check(self) -> None:
        given = [self.body is not None, self.stdin, bool(self.files)]
        if given.count(True) != 1:
            raise click.UsageError("give one of -p, --stdin and --file")
        if self.by_line and self.body is not None:
            raise click.UsageError("--lines needs --stdin or --file")

    def bodies(self, run: Run) -> Iterator[bytes]:
        """One body after another; lines as they come."""
        if self.body is not None:
            yield self.body.encode()
        if self.stdin:
            yield from self._read(run, sys.stdin.buffer, "standard input")
        for path in self.files:
            try:
                with path.open("rb") as file:
                    yield from self._read(run, file, str(path))
            except OSError as error:
                raise Failed(f"cannot read {path}: {error.strerror}") from None

    def _read(self, run: Run, source: IO[bytes], name: str) -> Iterator[bytes]:
        bodies = _lines_of(source) if self.by_line else iter([source.read()])
        for body in bodies:
            if body:
                yield body
            else:
                run.warn(
                    f"{name} has an empty {'line' if self.by_line else 'body'}: it is not sent"
                )


def _lines_of(source: IO[bytes]) -> Iterator[bytes]:
    for line in source:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _property(value: Any) -> tuple[str, str]:
    name, separator, text = str(value).partition("=")
    if not name or not separator or not text:
        raise click.BadParameter(f"{value!r} is not NAME=VALUE")
    if name in _FLAGS:
        raise click.BadParameter(f"{name} is set with {_FLAGS[name]}")
    if name in _RESERVED or name.startswith(property_keys.TRANSIENT_PREFIX):
        raise click.BadParameter(f"{name} is reserved for RocketMQ: choose another name")
    if any(one in value for one in _SEPARATORS):
        raise click.BadParameter("properties cannot contain the characters U+0001 and U+0002")
    return name, text


@admin_command("sendMessage")
@topic_option
@click.option("-p", "--body", help="The body, sent as UTF-8.")
@click.option("--stdin", is_flag=True, help="Take the body from standard input.")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the body from a file. Repeatable: one message each.",
)
@click.option(
    "--lines", "by_line", is_flag=True, help="Every line of --stdin or --file is a message."
)
@click.option("-k", "--key", "keys", help="Keys, separated by blanks.")
@click.option("-c", "--tags", help="The tag.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    type=_property,
    metavar="NAME=VALUE",
    help="A property. Repeatable.",
)
@click.option(
    "--delay-level",
    type=click.IntRange(1, 18),
    help="Deliver later: 1 is 1 s, 5 is 1 m, 18 is 2 h.",
)
@click.option(
    "--delay",
    "delay_seconds",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="Deliver so much later.",
)
@click.option(
    "--deliver-at",
    type=moment,
    metavar=MOMENT,
    help="Deliver at this time.",
)
@click.option("-b", "--broker", "broker_name", help="The name of the broker to send to.")
@click.option("-i", "--qid", "queue_id", type=click.IntRange(min=0), help="The queue; needs -b.")
@boolean_option("-m", "--msgTraceEnable", "trace", default=False, help="Not supported.")
def command(
    run: Run,
    topic: str,
    keys: str | None,
    tags: str | None,
    properties: tuple[tuple[str, str], ...],
    delay_level: int | None,
    delay_seconds: int | None,
    deliver_at: int | None,
    broker_name: str | None,
    queue_id: int | None,
    trace: bool,
    **sources: Any,
) -> None:
    if queue_id is not None and broker_name is None:
        raise click.UsageError("-i needs -b: a queue number belongs to a broker")
    if trace:
        raise click.UsageError("message traces are not supported")
    source = _Sources(**sources)
    source.check()
    every = dict(properties) | _delay(delay_level, delay_seconds, deliver_at)

    def message(body: bytes) -> NewMessage:
        return NewMessage(topic=topic, body=body, tags=tags, keys=keys, properties=every)

    # As in the official tool, a broker without a queue cannot be chosen.
    if broker_name is not None and queue_id is not None:
        send = _to_one(run, broker_name, queue_id)
    else:
        send = _to_any(run, topic)
    _send_all(run, send, map(message, source.bodies(run)))


def _delay(level: int | None, seconds: int | None, millis: int | None) -> dict[str, str]:
    """The property that delays a message; a usage error for two of them."""
    names = (
        property_keys.DELAY,
        property_keys.TIMER_DELAY_SEC,
        property_keys.TIMER_DELIVER_MS,
    )
    chosen = {
        name: str(value)
        for name, value in zip(names, (level, seconds, millis), strict=True)
        if value is not None
    }
    if len(chosen) > 1:
        raise click.UsageError("give one of --delay-level, --delay and --deliver-at")
    return chosen


def _to_one(run: Run, broker_name: str, queue_id: int) -> Callable[[NewMessage], Sent]:
    return lambda message: run.admin.send(message, broker_name, queue_id)


def _to_any(run: Run, topic: str) -> Callable[[NewMessage], Sent]:
    """To the queues in turn, beginning with any; the route is asked for once."""
    places = run.admin.write_queues(topic)
    random.shuffle(places)
    turn = cycle(places)
    return lambda message: run.admin.send_to(message, next(turn))


def _send_all(run: Run, send: Callable[[NewMessage], Sent], messages: Iterator[NewMessage]) -> None:
    for number in count():
        message = next(messages, None)
        if message is None:
            if number == 0:
                raise Failed("there is nothing to send")
            return
        try:
            sent = send(message)
        except FAILURES as error:
            before = f"; {number} messages were sent before" if number else ""
            raise Failed(f"{run.sentence(error)}{before}") from None
        if number == 0:
            run.out.head(_ROW.format("#Broker Name", "#QID", "#Send Result", "#MsgId"))
        columns = (sent.queue.broker_name, sent.queue.queue_id, sent.status, sent.message_id)
        run.out.row(_ROW.format(*columns), sent)

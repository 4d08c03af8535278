"""Messages as the commands print them that go through queues, and which of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from trimq.admin.messages.message import Message
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.messages import message_text, message_value
from trimq.mqadmin.text.moments import MOMENT, moment, start_moment

F = TypeVar("F", bound=Callable[..., Any])


def which_messages(function: F) -> F:
    """`-c`, how bodies are read; `-s`, which tags; `-b` and `-e`, stored from when to when."""
    options = (
        click.option(
            "-c",
            "--charsetName",
            "charset",
            default="UTF-8",
            show_default=True,
            help="Character set of the bodies.",
        ),
        click.option(
            "-s", "--subExpression", "tags", default="*", metavar="TAG || TAG", help="Tags."
        ),
        click.option(
            "-b",
            "--beginTimestamp",
            "begin",
            type=start_moment,
            metavar=MOMENT,
            help="Only messages stored at or after this time.",
        ),
        click.option(
            "-e",
            "--endTimestamp",
            "end",
            type=moment,
            metavar=MOMENT,
            help="Only messages stored before this time.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def print_message(run: Run, message: Message, codec: str | None) -> None:
    """One line, with its body if there is a codec for it."""
    body = message.body.decode(codec, "replace") if codec else "NOT PRINT BODY"
    text = f"MSGID: {message.message_id} {message_text(message)} BODY: {body}"
    run.out.row(text, message_value(message))

"""Messages as the commands print them that go through queues, and which of them."""

import click

from trimq.admin.messages.message import Message
from trimq.mqadmin.common.times import begin_option, end_option
from trimq.mqadmin.framework import Run, together
from trimq.mqadmin.text.messages import message_text, message_value

which_messages = together(
    click.option(
        "-c",
        "--charsetName",
        "charset",
        default="UTF-8",
        show_default=True,
        help="Character set of the bodies.",
    ),
    click.option("-s", "--subExpression", "tags", default="*", metavar="TAG || TAG", help="Tags."),
    begin_option("-b"),
    end_option(),
)
"""`-c`, how bodies are read; `-s`, which tags; `-b` and `-e`, stored from when to when."""


def print_message(run: Run, message: Message, codec: str | None) -> None:
    """One line, with its body if there is a codec for it."""
    body = message.body.decode(codec, "replace") if codec else "NOT PRINT BODY"
    text = f"MSGID: {message.message_id} {message_text(message)} BODY: {body}"
    run.out.row(text, message_value(message))

"""The flags that say when messages were stored."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from trimq.admin.messages.finding import END_OF_TIME
from trimq.mqadmin.framework import together
from trimq.mqadmin.text.moments import MOMENT, moment, start_moment

F = TypeVar("F", bound=Callable[..., Any])


def begin_option(
    flag: str, reading: Callable[..., int] = start_moment, **more: Any
) -> Callable[[F], F]:
    return click.option(
        flag,
        "--beginTimestamp",
        "begin",
        type=reading,
        metavar=MOMENT,
        help="Only messages stored at or after this time.",
        **more,
    )


def end_option(when: str = "before", **more: Any) -> Callable[[F], F]:
    return click.option(
        "-e",
        "--endTimestamp",
        "end",
        type=moment,
        metavar=MOMENT,
        help=f"Only messages stored {when} this time.",
        **more,
    )


whole_time = together(
    begin_option("-b", default=0), end_option("at or before", default=END_OF_TIME)
)
"""`-b` and `-e`; without them, messages of every time."""

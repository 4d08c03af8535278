"""What can be asked of the hand: a name, typed words, and a typed answer.

Whatever the way in (HTTP from any language, the Python client), it is one of these, and the table of all of them is the
reference in docs/hand.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

R = TypeVar("R", bound="Words")


class HandError(Exception):
    """It cannot be done; the text says why and what to do. Answered as 400 with the text in `error`."""


class Words(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What an operation is told: the fields of a JSON object, with defaults where anybody expects one."""


class Nothing(Words):
    """For operations that need no words."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    """`path` is what follows the slash in HTTP: `time/advance`. `doc` is one sentence for the reference.

    `do` runs on the server's loop, and returns what msgspec can write as JSON: a Struct, a list of them, None.
    `ends_with_client`: it is cancelled when whoever has asked leaves.
    """

    path: str
    words: type[R]
    do: Callable[[R], Awaitable[Any]]
    doc: str
    ends_with_client: bool = False

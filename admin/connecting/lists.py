"""Lists that a server takes its time for: so many names are asked for at once that it answers in time."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from trimq.admin.connecting.link import Link, ask, is_unknown
from trimq.admin.errors import Refused
from trimq.codec.bodies.base import Body, encode_body
from trimq.codec.codes import RequestCode

# Servers delete ten a second, unless their settings say otherwise.
NAMES_AT_ONCE: Final = 20
# As many times longer than usual an answer is waited for.
_PATIENCE: Final = 4


def parts_of(names: Sequence[str]) -> list[Sequence[str]]:
    """The names in parts that a server answers in time."""
    return [names[first : first + NAMES_AT_ONCE] for first in range(0, len(names), NAMES_AT_ONCE)]


async def ask_with_list(
    link: Link,
    addr: str,
    code: RequestCode,
    body: Body,
    names: Sequence[str],
    alone: Callable[[str], Awaitable[object]],
) -> None:
    """One request for all names, which are in `body`, and one a name, by `alone`, where the server does not know it.

    So for a single name.
    """
    if len(names) > 1:
        try:
            await ask(link, addr, code, body=encode_body(body), factor=_PATIENCE)
            return
        except Refused as error:
            if not is_unknown(error):
                raise
    for name in names:
        await alone(name)

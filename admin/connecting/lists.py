"""Lists that a server takes its time for: a part is asked for at a time, so that it is answered in time."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from trimq.admin.connecting.link import Link, ask, is_unknown
from trimq.admin.errors import Refused
from trimq.codec.bodies.base import Body, encode_body
from trimq.codec.codes import RequestCode

# Servers delete ten a second, unless their settings say otherwise.
_PART: Final = 20
# As many times longer than usual an answer is waited for.
_PATIENCE: Final = 4


async def ask_in_parts(
    link: Link,
    addr: str,
    code: RequestCode,
    names: Sequence[str],
    body_of: Callable[[list[str]], Body],
    alone: Callable[[str], Awaitable[object]],
) -> None:
    """A server that does not know the request is asked for one name after the other, by `alone`.

    So is any for a single one.
    """
    if len(names) == 1:
        await alone(names[0])
        return
    for first in range(0, len(names), _PART):
        part = list(names[first : first + _PART])
        try:
            await ask(link, addr, code, body=encode_body(body_of(part)), factor=_PATIENCE)
        except Refused as error:
            if not is_unknown(error):
                raise
            for name in part:
                await alone(name)

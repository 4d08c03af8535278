"""The names in a request that lists them."""

from collections.abc import Callable, Sequence

from trimq.broker.steps import Pace
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError


async def each_once(
    names: Sequence[str | None], what: str, of_one: str, check: Callable[[str], None] | None = None
) -> dict[str, None]:
    """The names in their order, each once. RemotingError for none, or a blank one among them.

    `what` the list is called in a refusal, and `of_one` a single name; `check` refuses names of its own.
    """
    if not names:
        raise _blank(what)
    found: dict[str, None] = {}
    pace = Pace()
    for name in names:
        await pace.keep()
        if name is None or not name.strip():
            raise _blank(of_one)
        if check is not None:
            check(name)
        found[name] = None
    return found


def _blank(what: str) -> RemotingError:
    return RemotingError(ResponseCode.INVALID_PARAMETER, f"The specified {what} is blank.")

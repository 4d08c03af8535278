"""Which requests a fault is about: by family, or by the name of their code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

from trimq.codec.codes import OwnRequestCode, RequestCode
from trimq.hand.operation import HandError

ALL: Final = "all"
SENDS: Final = frozenset(
    {RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE}
)
PULLS: Final = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE})
POPS: Final = frozenset({RequestCode.POP_MESSAGE, RequestCode.POP_LITE_MESSAGE})
ACKS: Final = frozenset(
    {RequestCode.ACK_MESSAGE, RequestCode.BATCH_ACK_MESSAGE, RequestCode.ACK_LITE_MESSAGE}
)
HEARTBEATS: Final = frozenset({RequestCode.HEART_BEAT})
ROUTES: Final = frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC})
FAMILIES: Final[dict[str, frozenset[RequestCode]]] = {
    "sends": SENDS,
    "pulls": PULLS,
    "pops": POPS,
    "acks": ACKS,
    "heartbeats": HEARTBEATS,
    "routes": ROUTES,
}
_KNOWN: Final[dict[str, int]] = {code.name: int(code) for code in (*RequestCode, *OwnRequestCode)}


def codes_of(what: str | Sequence[str]) -> frozenset[int] | None:
    """The request codes of a family, of a code's name, or of several of them; None for `all`. HandError."""
    names = [what] if isinstance(what, str) else what
    if not names:
        raise HandError(
            f"which requests? {ALL}, {', '.join(FAMILIES)}, or the names of their codes"
        )
    found: set[int] = set()
    for name in names:
        if name == ALL:
            return None
        if name in FAMILIES:
            found.update(FAMILIES[name])
        elif name.upper() in _KNOWN:
            found.add(_KNOWN[name.upper()])
        else:
            near = nearest(name, [*FAMILIES, ALL, *_KNOWN])
            raise HandError(
                f"there are no requests {name!r}: {near}families are {', '.join(FAMILIES)} and {ALL},"
                " and every name of a request code is known, such as SEND_MESSAGE_V2"
            )
    return frozenset(found)


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean X or Y? `, or nothing."""
    by_upper = {one.upper(): one for one in known}
    near = difflib.get_close_matches(name.upper(), by_upper, 3, 0.6)
    return f"did you mean {' or '.join(by_upper[one] for one in near)}? " if near else ""

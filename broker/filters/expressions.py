"""Expressions that clients have sent, read once each (SelectorParser's cache, FilterFactory).

Reading takes 10 us a token, and lark has to be loaded before the first one: so the loop only looks up what is
known, and `read` does the rest in steps, in turn with the other clients' texts.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import trio

from trimq.base.step_queue import Steps
from trimq.broker.filters.tags import SQL92, is_tag_type
from trimq.codec.sql import grammar
from trimq.codec.sql.building import Unreadable
from trimq.codec.sql.expression import Expression
from trimq.remoting.contract import Peer

# What is read takes about so many times its text.
_ROOM: Final = 30
_REMEMBERED: Final = 1 << 20
# Even a short text takes some room.
_LEAST: Final = 100

Read = Expression | Unreadable


class Expressions:
    """What became of the texts that were used last."""

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        """`remembered`: characters of texts."""
        self._remembered = remembered
        self._known: OrderedDict[str, Read] = OrderedDict()
        self._size = 0

    def find(self, kind: str | None, text: str) -> Read | None:
        """The expression, or why it is none; None when it has not been read yet."""
        if kind != SQL92:
            return Unreadable(f"there is no filter of the type {kind}")
        found = self._known.get(text)
        if found is not None:
            self._known.move_to_end(text)
        return found

    async def read(self, texts: Iterable[str], peer: Peer) -> None:
        """Read them for this peer, unless they are known; the last one is known afterwards in any case."""
        if not grammar.is_loaded():
            await trio.to_thread.run_sync(grammar.load)
        for text in texts:
            known = self._known.get(text)
            found = await peer.in_turn(self._steps(text)) if known is None else known
            self._remember(text, found)

    def _steps(self, text: str) -> Steps[Read]:
        """Read it, until somebody else has."""
        try:
            parsing = grammar.Parsing(text)
            for characters in parsing.steps():
                yield _ROOM * characters
                known = self._known.get(text)
                if known is not None:
                    return known
        except Unreadable as error:
            # Its traceback would keep alive whatever the frames hold.
            return error.with_traceback(None)
        return parsing.expression

    def read_now(self, kind: str | None, text: str) -> Read:
        """The same without a loop: at a start."""
        found = self.find(kind, text)
        if found is None:
            try:
                found = grammar.parse(text)
            except Unreadable as error:
                found = error
            self._remember(text, found)
        return found

    def _remember(self, text: str, found: Read) -> None:
        if text not in self._known:
            self._size += _LEAST + len(text)
        self._known[text] = found
        self._known.move_to_end(text)
        while self._size > self._remembered and len(self._known) > 1:
            oldest, _ = self._known.popitem(last=False)
            self._size -= _LEAST + len(oldest)


def is_filter(kind: str | None, text: str | None) -> bool:
    """Whether a subscription filters by properties: those are registered."""
    return not is_tag_type(kind) and bool(text)

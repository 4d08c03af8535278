"""What expressions have said about messages, by the values of the properties that they look at.

An expression is a function of a few properties, and messages have the same values again and again: then it need not
be evaluated. Each expression has a table of its own, so none is answered with another one's verdict.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from trimq.codec.sql.expression import Expression
from trimq.store.native import Verdicts

# Names that a table can have (store/native/picks.py).
_MOST_NAMES: Final = 8
# A table takes 32 KiB at most.
_REMEMBERED: Final = 64


class PropertyVerdicts:
    """The tables of the expressions that were used last."""

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._remembered = remembered
        self._tables: OrderedDict[Expression, Verdicts | None] = OrderedDict()

    def by(self, expression: Expression) -> Verdicts | None:
        """The expression's table; None for one that looks at too much."""
        found = self._tables.get(expression)
        if found is not None or expression in self._tables:
            self._tables.move_to_end(expression)
            return found
        names = expression.deciding(_MOST_NAMES)
        found = self._tables[expression] = None if names is None else Verdicts(names)
        if len(self._tables) > self._remembered:
            _, oldest = self._tables.popitem(last=False)
            if oldest is not None:
                # Pulls that wait may still have it; it must take no room any more.
                oldest.close()
        return found

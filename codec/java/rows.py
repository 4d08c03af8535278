"""Large tables in FastJSON's dialect, encoded a few rows at a time, for those who have other things to do between."""

from collections.abc import Generator, Iterable
from typing import Any, Final

from trimq.codec.java import fastjson

# A step yields the bytes that the text has grown by.
Encoding = Generator[int, None, bytes]

# Each takes up to 20 us.
_ROWS_PER_STEP: Final = 50
_NAMES_PER_STEP: Final = 1000


class Rows:
    """The members of a JSON object, or the items of an array, encoded a few at a time."""

    __slots__ = ("_items", "_members", "_parts", "_per_step")

    def __init__(self, per_step: int = _ROWS_PER_STEP) -> None:
        self._per_step = per_step
        self._parts: list[bytes] = []
        self._members: dict[Any, Any] = {}
        self._items: list[Any] = []

    def put(self, key: object, value: object) -> bool:
        """One more member of an object; whether it is time to encode."""
        self._members[key] = value
        return len(self._members) >= self._per_step

    def add(self, item: object) -> bool:
        """One more item of an array; whether it is time to encode."""
        self._items.append(item)
        return len(self._items) >= self._per_step

    def encode(self) -> int:
        """Encode what was added since the last time; its bytes."""
        part = fastjson.dumps(self._members or self._items)[1:-1]
        self._members, self._items = {}, []
        if part:
            self._parts.append(part)
        return len(part)

    def object(self) -> bytes:
        """All of it between braces."""
        self.encode()
        return b"{%b}" % b",".join(self._parts)

    def array(self) -> bytes:
        """All of it between brackets."""
        self.encode()
        return b"[%b]" % b",".join(self._parts)


def object_steps(members: Iterable[tuple[object, object]]) -> Encoding:
    """A JSON object."""
    rows = Rows()
    for key, value in members:
        if rows.put(key, value):
            yield rows.encode()
    return rows.object()


def names_steps(names: Iterable[str]) -> Encoding:
    """A JSON array of names."""
    rows = Rows(_NAMES_PER_STEP)
    for name in names:
        if rows.add(name):
            yield rows.encode()
    return rows.array()


def array_steps(items: Iterable[object]) -> Encoding:
    """A JSON array."""
    rows = Rows()
    for item in items:
        if rows.add(item):
            yield rows.encode()
    return rows.array()

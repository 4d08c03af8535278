"""The members of one large JSON object, encoded once per change instead of once per write.

The broker writes whole tables every few seconds (a broker with 1.6 million offsets took 0.64 s to
encode them), so each member's text is kept until its value changes, and members are joined in
buckets, whose bytes are kept too. Reading the pieces one by one lets the event loop run between
them: one piece costs at most the encoding of a bucket.

The text is FastJSON's pretty form with tabs, as ConfigManager writes it, for an object one level
below the top.
"""

from collections.abc import Callable, Iterator

import msgspec

from trimq.broker.tables.spread_dict import SpreadDict
from trimq.codec.java.fastjson import dumps

_BUCKET = 32


class _Bucket:
    """Some members: their texts (None = changed since), and the joined bytes (None = outdated)."""

    __slots__ = ("joined", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str | None] = {}
        self.joined: bytes | None = None


class JsonMembers:
    """Which members there are, in order, and what is left to encode of them."""

    def __init__(self, encode: Callable[[str], str]) -> None:
        """`encode` gives the pretty text of a member's value, indented by two tabs."""
        self._encode = encode
        self._buckets: list[_Bucket] = []
        self._places: SpreadDict[str, _Bucket] = SpreadDict()
        # Buckets without members; they go when they are most of all.
        self._empty = 0

    def changed(self, key: str) -> None:
        """The value of this member is new or has changed."""
        bucket = self._places.get(key)
        if bucket is None:
            bucket = self._free_bucket()
            self._places[key] = bucket
            if not bucket.texts:
                self._empty -= 1
        bucket.texts[key] = None
        bucket.joined = None

    def removed(self, key: str) -> None:
        bucket = self._places.pop(key)
        if bucket is not None:
            del bucket.texts[key]
            bucket.joined = None
            if not bucket.texts:
                self._empty += 1
                self._let_go()

    def pieces(self) -> Iterator[bytes]:
        """The members as bytes, piece by piece; joined, they go between the braces."""
        separator = b""
        for bucket in list(self._buckets):
            if bucket.texts:
                yield separator + self._join(bucket)
                separator = b","

    def object_pieces(self) -> Iterator[bytes]:
        """The whole object with its braces; FastJSON writes an empty one as {}."""
        if not self._places:
            yield b"{}"
            return
        yield b"{"
        yield from self.pieces()
        yield b"\n\t}"

    def _free_bucket(self) -> _Bucket:
        if not self._buckets or len(self._buckets[-1].texts) >= _BUCKET:
            self._buckets.append(_Bucket())
            self._empty += 1
        return self._buckets[-1]

    def _let_go(self) -> None:
        """Names that come and go, as those of lite topics, must leave nothing."""
        if self._empty > _BUCKET and self._empty * 2 > len(self._buckets):
            self._buckets = [bucket for bucket in self._buckets if bucket.texts]
            self._empty = 0

    def _join(self, bucket: _Bucket) -> bytes:
        if bucket.joined is None:
            texts = bucket.texts
            for key, text in texts.items():
                if text is None:
                    texts[key] = f"\n\t\t{quoted(key)}:{self._encode(key)}"
            bucket.joined = ",".join(text for text in texts.values() if text).encode()
        return bucket.joined


def quoted(text: str) -> str:
    """A JSON string; characters beyond ASCII stay as they are."""
    return msgspec.json.encode(text).decode()


def pretty_object(members: list[str], tabs: int) -> str:
    """Member texts in braces, the object itself indented by that many tabs."""
    if not members:
        return "{}"
    inner = "\n" + "\t" * (tabs + 1)
    return "{" + inner + ("," + inner).join(members) + "\n" + "\t" * tabs + "}"


def pretty_array(items: list[str], tabs: int) -> str:
    if not items:
        return "[]"
    inner = "\n" + "\t" * (tabs + 1)
    return "[" + inner + ("," + inner).join(items) + "\n" + "\t" * tabs + "]"


def pretty(value: object, tabs: int) -> str:
    """Any value in FastJSON's pretty form, indented by that many tabs."""
    return dumps(value, pretty_tabs=True).decode().replace("\n", "\n" + "\t" * tabs)

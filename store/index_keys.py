"""The keys that the index holds for a message (IndexService.buildIndex), as their hashes.

In this order: `topic#UNIQ_KEY`, `topic#word` for every word of KEYS, `topic#T#TAGS`. Messages of
rolled-back transactions have none.
"""

from __future__ import annotations

from typing import Final

from trimq.codec import kernel
from trimq.codec.flags import SysFlag
from trimq.codec.java import ascii_hashes, string_hash
from trimq.codec.properties import find_property
from trimq.store.message import Dispatched

UNIQ_KEY: Final = b"UNIQ_KEY"
KEYS: Final = b"KEYS"
TAGS: Final = b"TAGS"
TAG_TYPE: Final = "T"
# Topics and tags remembered at most.
CACHE_SIZE: Final = 4096
_UNSIGNED: Final = 0xFFFFFFFF
_TRANSACTION: Final = int(SysFlag.TRANSACTION_MASK)
_ROLLBACK: Final = int(SysFlag.ROLLBACK)
_NEGATIVE: Final = 0x80000000


def key_hash(text: str) -> int:
    """IndexFile.indexKeyHashMethod."""
    return positive(string_hash(text) & _UNSIGNED)


def positive(unsigned: int) -> int:
    """Math.abs of the signed number; the smallest has no positive counterpart and becomes 0."""
    return unsigned if unsigned < _NEGATIVE else (-unsigned) & 0x7FFFFFFF


def texts_of(properties: bytes) -> list[bytes]:
    """The unique key and the words of KEYS."""
    unique = find_property(properties, UNIQ_KEY)
    texts = [] if unique is None else [unique]
    words = find_property(properties, KEYS)
    if words is not None:
        texts += [word for word in words.split(b" ") if word]
    return texts


class SameLength:
    """Texts of one length, the places of their hashes, and the hashes of what stands before."""

    __slots__ = ("places", "starts", "texts")

    def __init__(self) -> None:
        self.places: list[int] = []
        self.starts: list[int] = []
        self.texts: list[bytes] = []

    def fill_in(self, hashes: list[int]) -> None:
        if len(self.texts) < TEXTS_AT_ONCE:
            found = [on_from(start, self.texts[at]) for at, start in enumerate(self.starts)]
        else:
            found = ascii_hashes(self.starts, self.texts)
        for at, place in enumerate(self.places):
            hashes[place] = positive(found[at])


class Gathered:
    """The hashes of all keys of a batch in order, and for each the message it belongs to."""

    __slots__ = ("_by_length", "hashes", "owners")

    def __init__(self) -> None:
        self.hashes: list[int] = []
        self.owners: list[Dispatched] = []
        self._by_length: dict[int, SameLength] = {}

    def add(self, message: Dispatched, key_hash: int) -> None:
        self.owners.append(message)
        self.hashes.append(key_hash)

    def add_ascii(self, message: Dispatched, start: int, text: bytes) -> None:
        """A text to go on with from the hash `start`: all of one length are worked out together."""
        same = self._by_length.get(len(text))
        if same is None:
            same = self._by_length[len(text)] = SameLength()
        same.places.append(len(self.hashes))
        same.starts.append(start)
        same.texts.append(text)
        self.add(message, 0)

    def fill_in(self) -> None:
        """Work out what `add_ascii` left open."""
        for same in self._by_length.values():
            same.fill_in(self.hashes)


class KeyHashes:
    """Remembers the hashes that come again and again: topics and tags."""

    __slots__ = ("_prefixes", "_tag_prefixes", "_tags")

    def __init__(self) -> None:
        # By topic: the hashes of what stands before its keys, and before its tags.
        self._prefixes: dict[str, int] = {}
        self._tag_prefixes: dict[str, int] = {}
        self._tags: dict[tuple[str, bytes], int] = {}

    def of(self, batch: list[Dispatched]) -> tuple[list[int], list[Dispatched]]:
        """The hashes of all keys in order, and for each the message it belongs to."""
        gathered = Gathered()
        hashes, owners = gathered.hashes, gathered.owners
        for message in batch:
            if message.sys_flag & _TRANSACTION == _ROLLBACK:
                continue
            topic = message.topic
            start = self._prefixes.get(topic)
            if start is None:
                start = self._prefix(topic)
            count = -1
            if kernel.IN_C:
                count = kernel.append_hashes(
                    message.properties, start, self._tag_prefixes[topic], hashes
                )
            if count < 0:
                self._add_in_python(message, start, gathered)
            for _ in range(count):
                owners.append(message)
        gathered.fill_in()
        return hashes, owners

    def _add_in_python(self, message: Dispatched, start: int, gathered: Gathered) -> None:
        topic = message.topic
        for text in texts_of(message.properties):
            if text.isascii():
                gathered.add_ascii(message, start, text)
            else:
                gathered.add(message, key_hash(f"{topic}#{text.decode('utf-8', 'replace')}"))
        tags = find_property(message.properties, TAGS)
        if tags is not None:
            gathered.add(message, self._tag(topic, tags))

    def _prefix(self, topic: str) -> int:
        if len(self._prefixes) >= CACHE_SIZE:
            self._prefixes.clear()
            self._tag_prefixes.clear()
        found = self._prefixes[topic] = string_hash(f"{topic}#") & _UNSIGNED
        self._tag_prefixes[topic] = string_hash(f"{topic}#{TAG_TYPE}#") & _UNSIGNED
        return found

    def _tag(self, topic: str, tags: bytes) -> int:
        found = self._tags.get((topic, tags))
        if found is None:
            if len(self._tags) >= CACHE_SIZE:
                self._tags.clear()
            text = tags.decode("utf-8", "replace")
            found = self._tags[topic, tags] = key_hash(f"{topic}#{TAG_TYPE}#{text}")
        return found


def on_from(start: int, text: bytes) -> int:
    """The Java hash of a text that begins with what `start` is the hash of."""
    for at in range(len(text)):
        start = (31 * start + text[at]) & _UNSIGNED
    return start


# Below it a loop over each text is faster; compiled (such functions have no code object), always.
TEXTS_AT_ONCE: Final = 4 if hasattr(on_from, "__code__") else 1 << 30

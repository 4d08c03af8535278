"""The hashes by which the index finds messages: of their keys and of their tag. `_hashes.c` is its twin.

Keys that are not ASCII are left to the caller. Without C, the keys of one length are computed together.
"""

from trimq.codec.java.hashes import ascii_hashes
from trimq.codec.records.properties import find_property

# Below this many of one length, a loop over each is faster.
_TOGETHER = 4


def key_hashes(
    properties: list[bytes], starts: list[int], tag_starts: list[int], /
) -> tuple[list[int], list[int]]:
    """The hashes of the messages' keys, all in one list, and how many each message has.

    A message's are those of its unique key, of the words of KEYS, and of its tag; -1: one of them
    is not ASCII, and its hashes are missing. A hash continues from that of the prefix of the
    message's keys (`starts`) or tag. ValueError: the lists differ in length.
    """
    if not len(properties) == len(starts) == len(tag_starts):
        raise ValueError("key_hashes: the lists are not of one length")
    counts: list[int] = []
    texts: list[bytes] = []
    before: list[int] = []
    for block, start, tag_start in zip(properties, starts, tag_starts, strict=True):
        keys = texts_of(block)
        tags = find_property(block, b"TAGS") or b""
        if not tags.isascii() or not all(key.isascii() for key in keys):
            counts.append(-1)
            continue
        texts += keys
        before += [start] * len(keys)
        if tags:
            texts.append(tags)
            before.append(tag_start)
        counts.append(len(keys) + bool(tags))
    return _hashes_of(texts, before), counts


def texts_of(properties: bytes) -> list[bytes]:
    """The unique key and the words of KEYS."""
    unique = find_property(properties, b"UNIQ_KEY")
    texts = [] if unique is None else [unique]
    words = find_property(properties, b"KEYS")
    if words is not None:
        texts += [word for word in words.split(b" ") if word]
    return texts


def positive(unsigned: int) -> int:
    """Math.abs of the signed number; the smallest has no positive counterpart and becomes 0."""
    return unsigned if unsigned < 0x80000000 else (-unsigned) & 0x7FFFFFFF


def _hashes_of(texts: list[bytes], starts: list[int]) -> list[int]:
    found = [0] * len(texts)
    by_length: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        by_length.setdefault(len(text), []).append(place)
    for places in by_length.values():
        if len(places) < _TOGETHER:
            for place in places:
                found[place] = positive(_on_from(starts[place], texts[place]))
        else:
            hashes = ascii_hashes([starts[at] for at in places], [texts[at] for at in places])
            for place, value in zip(places, hashes, strict=True):
                found[place] = positive(value)
    return found


def _on_from(start: int, text: bytes) -> int:
    """The Java hash of a text that begins with what `start` is the hash of."""
    for unit in text:
        start = (31 * start + unit) & 0xFFFFFFFF
    return start

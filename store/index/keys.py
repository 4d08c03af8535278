"""The keys that the index has for a message (IndexService.buildIndex), as hashes.

In this order: `topic#UNIQ_KEY`, `topic#word` for every word of KEYS, `topic#T#TAGS`. Messages of
rolled-back transactions have none.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec import native
from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.native.hashes import positive, texts_of
from trimq.codec.records.properties import find_property
from trimq.store.messages.message import Dispatched

TAGS: Final = b"TAGS"
TAG_TYPE: Final = "T"
# Topics remembered at most.
CACHE_SIZE: Final = 4096
_UNSIGNED: Final = 0xFFFFFFFF


def key_hash(text: str) -> int:
    """IndexFile.indexKeyHashMethod."""
    return positive(string_hash(text) & _UNSIGNED)


class KeyHashes:
    """Remembers the hashes that come again and again: those of topics."""

    __slots__ = ("_prefixes", "_tag_prefixes")

    def __init__(self) -> None:
        # By topic: the hashes of the prefixes of its keys and of its tags.
        self._prefixes: dict[str, int] = {}
        self._tag_prefixes: dict[str, int] = {}

    def of(self, batch: list[Dispatched]) -> tuple[list[int], list[Dispatched]]:
        """The hashes of all keys in order, and for each the message it belongs to."""
        messages: list[Dispatched] = []
        properties: list[bytes] = []
        starts: list[int] = []
        tag_starts: list[int] = []
        for message in batch:
            if message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.ROLLBACK:
                continue
            topic = message.topic
            start = self._prefixes.get(topic)
            if start is None:
                start = self._prefix(topic)
            messages.append(message)
            properties.append(message.properties)
            starts.append(start)
            tag_starts.append(self._tag_prefixes[topic])
        hashes, counts = native.key_hashes(properties, starts, tag_starts)
        owners: list[Dispatched] = []
        for index in range(len(counts)):
            message = messages[index]
            count = counts[index]
            if count < 0:
                unusual = hashes_of(message)
                hashes[len(owners) : len(owners)] = unusual
                count = len(unusual)
            for _ in range(count):
                owners.append(message)
        return hashes, owners

    def _prefix(self, topic: str) -> int:
        if len(self._prefixes) >= CACHE_SIZE:
            self._prefixes.clear()
            self._tag_prefixes.clear()
        found = self._prefixes[topic] = string_hash(f"{topic}#") & _UNSIGNED
        self._tag_prefixes[topic] = string_hash(f"{topic}#{TAG_TYPE}#") & _UNSIGNED
        return found


def hashes_of(message: Dispatched) -> list[int]:
    """Those of one message, whatever its keys are."""
    topic = message.topic
    found = [
        key_hash(f"{topic}#{text.decode('utf-8', 'replace')}")
        for text in texts_of(message.properties)
    ]
    tags = find_property(message.properties, TAGS)
    if tags is not None:
        found.append(key_hash(f"{topic}#{TAG_TYPE}#{tags.decode('utf-8', 'replace')}"))
    return found

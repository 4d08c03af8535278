"""Bit flags of messages, pull requests and topics (MessageSysFlag, PullSysFlag, PermName).

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final


class SysFlag:
    """Bits of a message's sysFlag (MessageSysFlag)."""

    COMPRESSED: Final = 0x1
    MULTI_TAGS: Final = 0x2
    TRANSACTION_MASK: Final = 0xC
    NOT_TRANSACTION: Final = 0x0
    PREPARED: Final = 0x4
    COMMIT: Final = 0x8
    ROLLBACK: Final = 0xC
    BORN_HOST_V6: Final = 0x10
    STORE_HOST_V6: Final = 0x20
    NEED_UNWRAP: Final = 0x40
    INNER_BATCH: Final = 0x80
    COMPRESSION_MASK: Final = 0x700
    COMPRESSION_LZ4: Final = 0x100
    COMPRESSION_ZSTD: Final = 0x200
    COMPRESSION_ZLIB: Final = 0x300


class PullFlag:
    """Bits of a pull request's sysFlag (PullSysFlag)."""

    COMMIT_OFFSET: Final = 0x1
    SUSPEND: Final = 0x2
    SUBSCRIPTION: Final = 0x4
    CLASS_FILTER: Final = 0x8
    LITE: Final = 0x10


class TopicSysFlag:
    """Bits of a topic's topicSysFlag (TopicSysFlag)."""

    UNIT: Final = 0x1
    UNIT_SUB: Final = 0x2


class Perm:
    """Bits of a topic's or broker's permission (PermName)."""

    INHERIT: Final = 0x1
    WRITE: Final = 0x2
    READ: Final = 0x4
    PRIORITY: Final = 0x8

    @staticmethod
    def readable(perm: int) -> bool:
        return perm & Perm.READ != 0

    @staticmethod
    def writable(perm: int) -> bool:
        return perm & Perm.WRITE != 0

    @staticmethod
    def inherited(perm: int) -> bool:
        return perm & Perm.INHERIT != 0

    @staticmethod
    def accessible(perm: int) -> bool:
        """Whether anything at all is allowed (PermName.isAccessible)."""
        return Perm.readable(perm) or Perm.writable(perm)

    @staticmethod
    def valid(perm: int) -> bool:
        """Whether only known bits are set and the value may be configured (PermName.isValid)."""
        return 0 <= perm < Perm.PRIORITY

    @staticmethod
    def to_text(perm: int) -> str:
        """`RWX` with `-` for what is missing (PermName.perm2String)."""
        read = "R" if perm & Perm.READ else "-"
        write = "W" if perm & Perm.WRITE else "-"
        inherit = "X" if perm & Perm.INHERIT else "-"
        return read + write + inherit

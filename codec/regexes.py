"""Pieces of regular expressions that never backtrack, on every Python that we support."""

import sys
from typing import Final

# A possessive repeat of a group is wrong in Python 3.11.0 to 3.11.4 (CPython's gh-106052): it
# matches what it should not, or too little. Debian 12 has 3.11.2. An atomic group around a greedy
# repeat means the same.
_POSSESSIVE: Final = sys.version_info >= (3, 11, 5)


def every(pattern: bytes, possessive: bool = _POSSESSIVE) -> bytes:
    """As often as `pattern` matches, without ever backtracking."""
    return b"(?:" + pattern + b")*+" if possessive else b"(?>(?:" + pattern + b")*)"

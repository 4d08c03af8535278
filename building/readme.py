"""README.md as a package index shows it: without the tree's other files beside it, and with no anchors at headings."""

import re
from typing import Final

LINK: Final = re.compile(r"!?\[([^]]+)\]\((?!https?://)[^)\s]+\)")
NOTE: Final = "\nFiles that are named here are in TriMQ's source tree.\n"


def for_an_index(text: str) -> str:
    """README's text with the words of its links and pictures within the tree in place of them."""
    return LINK.sub(r"\1", text) + NOTE

"""The documents of the tree as CommonMark reads them: links, headings, blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("docs", "bench", "compat_tests", "tests")
# What a build or a tool puts there.
_NOT_OURS: Final = re.compile(r".*/(target|out|\..*)/")


@dataclass(frozen=True)
class Code:
    """A block of code: what stands behind the fence, the line on which it begins, its text."""

    info: str
    line: int
    text: str


def all_pages() -> list[str]:
    """Every page of the tree, by its path."""
    below = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")]
    found = (path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *below])
    return sorted(page for page in found if not _NOT_OURS.match(page))


def markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


@cache
def tokens(page: str) -> list[Token]:
    return markdown().parse((ROOT / page).read_text("utf-8"))


def links(page: str) -> list[str]:
    """Where its links lead and its pictures lie, but for addresses elsewhere."""
    inline = (child for token in tokens(page) for child in token.children or ())
    found = (str(one.attrGet("href") or one.attrGet("src") or "") for one in inline)
    return [link for link in found if link and "://" not in link]


def headings(page: str) -> list[str]:
    every = tokens(page)
    opened = (at for at, token in enumerate(every) if token.type == "heading_open")
    return ["".join(child.content for child in every[at + 1].children or ()) for at in opened]


def anchor(heading: str) -> str:
    """What a forge makes of a heading. Python-Markdown makes the same, but for signs between two spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: str) -> list[str]:
    return list(map(anchor, headings(page)))


def blocks(page: str) -> Iterator[Code]:
    for token in tokens(page):
        if token.type in ("fence", "code_block"):
            line = (token.map or [0])[0] + 1
            yield Code(token.info.strip(), line, token.content)


def spans(page: str) -> list[str]:
    """Code within sentences."""
    inline = (child for token in tokens(page) for child in token.children or ())
    return [child.content for child in inline if child.type == "code_inline"]

"""A page as Python-Markdown has to be given it, which the site's tool reads Markdown with.

The pages are written for CommonMark, as forges and editors show them. The two differ in lists: Python-Markdown nests by
four spaces, and wants an empty line before a list. It also takes more for a tag, `Map<Long,String>` for one.
tests/docs/test_site.py compares what both make of every page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

STEP: Final = " " * 4
FENCE: Final = re.compile(r"(`{3,}|~{3,})\s*(\w*)")
ITEM: Final = re.compile(r"([-*+]|\d{1,9}[.)]) +(?=\S)")
CODE: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
# Code, or what would begin a tag.
CODE_OR_TAG: Final = re.compile(rf"{CODE.pattern}|<(?!https?://)")
COMMENT: Final = re.compile(r"<!--.*-->")
# What it can colour. A fence may have another name, by which a test finds it.
LANGUAGES: Final = frozenset(
    ("console", "dockerfile", "go", "java", "json", "properties", "python", "sh", "sql", "yaml")
)


def converted(text: str, prose: Callable[[str], str]) -> str:
    """The page with its lists as Python-Markdown nests them; `prose` changes each line that is not code."""
    page = _Page(prose)
    for line in text.splitlines():
        page.add(line)
    return "\n".join(page.lines) + "\n"


class _Page:
    """Its lines so far, and in which items of which lists the next one is."""

    def __init__(self, prose: Callable[[str], str]) -> None:
        self.lines: list[str] = []
        self._prose = prose
        # At which columns the texts of the open items begin, from the outermost on.
        self._columns: list[int] = []
        # What ends the block of code that is open, and the column at which it began.
        self._fence = ""
        self._from = 0
        # Whether the last line that is not empty is code by its indentation.
        self._is_code = False

    def add(self, line: str) -> None:
        bare = line.strip()
        column = len(line) - len(line.lstrip(" "))
        if self._fence:
            self._add_code(line, bare, column)
        elif not bare or COMMENT.fullmatch(bare):
            self.lines.append("")
        else:
            was_in_list = bool(self._columns)
            while self._columns and column < self._columns[-1]:
                self._columns.pop()
            begins = self._columns[-1] if self._columns else 0
            may_be_code = self._is_code or not (self.lines and self.lines[-1])
            self._is_code = may_be_code and column >= begins + len(STEP)
            if self._is_code:
                self._put(line[begins:])
            else:
                self._add_text(bare, column, was_in_list)

    def _add_code(self, line: str, bare: str, column: int) -> None:
        self._put(line[min(column, self._from) :])
        if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence = ""

    def _add_text(self, bare: str, column: int, was_in_list: bool) -> None:
        if opened := FENCE.match(bare):
            self._fence, self._from = opened[1], column
            self._put(opened[1] + (opened[2] if opened[2] in LANGUAGES else "text"))
        elif item := ITEM.match(bare):
            if not was_in_list and self.lines and self.lines[-1]:
                self.lines.append("")
            self._put(f"{item[1].replace(')', '.')} {self._text(bare[item.end() :])}")
            self._columns.append(column + item.end())
        else:
            self._put(self._text(_row(bare) if bare.startswith("|") else bare))

    def _text(self, line: str) -> str:
        def plain(found: re.Match[str]) -> str:
            return "&lt;" if found[0] == "<" else found[0]

        return CODE_OR_TAG.sub(plain, self._prose(line))

    def _put(self, line: str) -> None:
        self.lines.append(f"{STEP * len(self._columns)}{line}".rstrip())


def _row(line: str) -> str:
    """A row of a table. In its code a `|` divides no cells, and a backslash before it would be shown."""
    return CODE.sub(lambda code: code[0].replace("\\|", "|"), line)

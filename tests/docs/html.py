"""What a page of HTML says and loads, and where it leads."""

from __future__ import annotations

from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

VOID: Final = ("area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr")
COUNTED: Final = frozenset(
    (
        "h1",
        "h2",
        "h3",
        "h4",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "strong",
        "em",
        "tr",
        "th",
        "td",
        "img",
    )
)


class Html(HTMLParser):
    """Read as a whole when it is made. Without `only`, all of it is the page's text."""

    def __init__(self, text: str, only: str | None = None) -> None:
        super().__init__()
        self.ids: set[str] = set()
        # Where links lead, and what the browser gets by itself.
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: Counter[str] = Counter()
        self.words: list[str] = []
        self._only = only
        self._open: list[tuple[str, bool]] = []
        self.feed(text)

    @property
    def _is_text(self) -> bool:
        hidden = any(is_hidden for _, is_hidden in self._open)
        return not hidden and (self._only is None or self._only in [tag for tag, _ in self._open])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values["id"]} if "id" in values else set()
        if tag == "a":
            self.links += [values["href"]] if "href" in values else []
        else:
            self.loaded += [values[name] for name in ("href", "src") if name in values]
        # The sign behind a heading that links to it, and what is for no reader.
        is_hidden = values.get("class") == "headerlink" or tag in ("script", "style")
        if self._is_text and tag in COUNTED:
            self.tags[tag] += 1
        if tag not in VOID:
            self._open.append((tag, is_hidden))

    def handle_endtag(self, tag: str) -> None:
        if any(opened == tag for opened, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._is_text:
            self.words += data.split()


@cache
def read(file: Path) -> Html:
    """A file of the site. Its text is that of the document, without the menus around it."""
    return Html(file.read_text("utf-8"), only="article")

"""Which pages the site has, under which names, and how they hang together.

docs/index.md is the first page. Its sections, with the links in each, are the navigation: a page that stands there is
in the site's menu, and no other one is. The folder of an `index.md` that it names goes there as a whole.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from docs.python_markdown import converted

ROOT: Final = Path(__file__).resolve().parents[1]
FIRST: Final = "docs/index.md"
# What lies outside docs/, by its name in the site.
ELSEWHERE: Final[Mapping[str, str]] = {
    "README.md": "start.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "LICENSE.txt",
    "bench/RESULTS.md": "measurements.md",
    "bench/SOAK.md": "soaks.md",
    "compat_tests/README.md": "compatibility-tests.md",
}
SECTION: Final = re.compile(r"## (?P<name>.+)")
ENTRY: Final = re.compile(r"- \[(?P<title>[^]]+)\]\((?P<target>[^)#\s]+)\)")
LINK: Final = re.compile(r"(?<=\]\()[^)\s]+(?=\))")


class DeadLink(Exception):
    """A page links to what is not in the site."""


@cache
def places() -> Mapping[str, str]:
    """Path in the tree -> path in the site, of every page and every picture."""
    found = [path for kind in ("md", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")]
    own = {path.relative_to(ROOT).as_posix(): path for path in sorted(found)}
    return {name: posixpath.relpath(name, "docs") for name in own} | dict(ELSEWHERE)


def target(page: str, link: str) -> str:
    """The path in the tree to which a link of that page leads, without its anchor. A folder stands for its index."""
    path = link.partition("#")[0]
    found = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return f"{found}/index.md" if (ROOT / found).is_dir() else found


def sections() -> dict[str, list[tuple[str, str]]]:
    """Name of each section of docs/index.md -> the pages that it links to, as (title, path in the tree)."""
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for line in (ROOT / FIRST).read_text("utf-8").splitlines():
        if section := SECTION.fullmatch(line):
            name = section["name"]
            found[name] = []
        elif entry := ENTRY.match(line):
            found[name].append((entry["title"], target(FIRST, entry["target"])))
    return found


def navigation() -> list[dict[str, list[Any]]]:
    """The same as mkdocs.yml has it (`nav`), the first page at the beginning of the first section."""
    menu = [
        {name: [_entry(title, page) for title, page in pages]} for name, pages in sections().items()
    ]
    next(iter(menu[0].values())).insert(0, {"Overview": places()[FIRST]})
    return menu


def beside(index: str) -> list[str]:
    """The other pages in the folder of an index, in their order."""
    folder = posixpath.dirname(index)
    return [page for page in places() if posixpath.dirname(page) == folder and page != index]


def _entry(title: str, page: str) -> dict[str, Any]:
    if not page.endswith("/index.md"):
        return {title: places()[page]}
    return {title: [places()[name] for name in (page, *beside(page))]}


def text(page: str) -> str:
    """The page as the site's tool gets it, its links leading to where pages are in the site. Raises DeadLink."""
    here = posixpath.dirname(places()[page])

    def moved(link: re.Match[str]) -> str:
        if "://" in link[0] or link[0].startswith("#"):
            return link[0]
        found = target(page, link[0])
        if found not in places():
            raise DeadLink(
                f"{page}: {link[0]} is not in the site: docs/site_pages.py names what is"
            )
        anchor = link[0][len(link[0].partition("#")[0]) :]
        return posixpath.relpath(places()[found], here or ".") + anchor

    source = (ROOT / page).read_text("utf-8")
    return converted(source, lambda line: LINK.sub(moved, line))

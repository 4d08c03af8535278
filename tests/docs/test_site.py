"""The site that `make site` builds: all pages, as they are written; nothing from the network; a search that knows them.

What the tool warns of ends its build.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from docs import site, site_pages
from tests.docs import html, pages
from tests.docs.html import Html

pytestmark = pytest.mark.skipif(not site.is_here(), reason=site.MISSING)

PAGES: Final = {
    page: place.removesuffix(".md") + ".html"
    for page, place in site_pages.places().items()
    if place.endswith(".md")
}
# A colon and two slashes, or two slashes alone: an address elsewhere.
ELSEWHERE: Final = re.compile(r"(https?:)?//")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build(tmp_path_factory.mktemp("site"))


def test_it_has_every_page_and_no_other(built: Path) -> None:
    found = {file.relative_to(built).as_posix() for file in built.rglob("*.html")}
    assert found == set(PAGES.values())


@pytest.mark.parametrize("page", PAGES)
def test_it_shows_what_is_written(page: str, built: Path) -> None:
    """As CommonMark reads it: the same words, lists, tables and code."""
    written = Html(pages.markdown().render((pages.ROOT / page).read_text("utf-8")))
    shown = html.read(built / PAGES[page])
    assert "".join(shown.words) == "".join(written.words)
    assert shown.tags == written.tags


@pytest.mark.parametrize("page", PAGES)
def test_nothing_leads_nowhere(page: str, built: Path) -> None:
    file = built / PAGES[page]
    read = html.read(file)
    dead: list[str] = []
    for link in {*read.links, *read.loaded}:
        if ELSEWHERE.match(link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path and path != "." else file
        if target.is_dir():
            target /= "index.html"
        is_there = target.is_file()
        if not is_there or (anchor and anchor not in html.read(target).ids):
            dead.append(link)
    assert not dead


def test_it_loads_nothing_from_elsewhere(built: Path) -> None:
    loaded = {link for place in PAGES.values() for link in html.read(built / place).loaded}
    assert any("iframe-worker" in link for link in loaded)
    assert not [link for link in loaded if ELSEWHERE.match(link)]
    for style in built.rglob("*.css"):
        text = style.read_text("utf-8")
        assert not re.findall(r"@import[^;]*|url\(['\"]?(?:https?:)?//[^)]*", text)


def test_its_menu_leads_to_every_page(built: Path) -> None:
    first = html.read(built / "index.html")
    assert set(PAGES.values()) - {"index.html"} <= {link.partition("#")[0] for link in first.links}


def test_the_search_knows_every_page(built: Path) -> None:
    """Without a server a page reads it as a script."""
    script = (built / "search" / "search_index.js").read_text("utf-8")
    found: dict[str, str] = {}
    for one in json.loads(script.removeprefix("var __index = "))["docs"]:
        place = one["location"].partition("#")[0] or "index.html"
        found[place] = f"{found.get(place, '')} {one['title']} {one['text']}"
    assert set(found) == set(PAGES.values())
    for page, place in PAGES.items():
        known = set(re.findall(r"\w+", " ".join(Html(found[place]).words)))
        words = set(re.findall(r"\w+", " ".join(html.read(built / place).words)))
        missing = words - known
        assert len(missing) <= len(words) // 50, (page, missing)


def test_a_warning_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = site.prepare

    def with_a_dead_anchor(folder: Path) -> Path:
        config = prepare(folder)
        with (folder / "pages" / "leaving.md").open("a") as page:
            page.write("\n[nowhere](pop.md#nowhere)\n")
        return config

    monkeypatch.setattr(site, "prepare", with_a_dead_anchor)
    with pytest.raises(site.NotBuilt, match="nowhere"):
        site.build(tmp_path)
    assert not (tmp_path / "site").exists()

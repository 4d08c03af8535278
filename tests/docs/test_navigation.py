"""docs/index.md: its six sections name every page, and each is two clicks away."""

from __future__ import annotations

from pathlib import PurePosixPath

from docs import site_pages
from docs.site_pages import FIRST, ROOT
from tests.docs import pages

SECTIONS = ("Start", "In tests", "Operate", "Move", "Reference", "How it works")
SITE = {page for page in site_pages.places() if page.endswith(".md")}


def named() -> list[str]:
    """The pages in the navigation, in its order."""
    return [page for entries in site_pages.sections().values() for _, page in entries]


def linked(page: str) -> set[str]:
    """The pages of the site that it links to."""
    return {site_pages.target(page, link) for link in pages.links(page)} & SITE


def test_the_sections_are_six() -> None:
    assert tuple(site_pages.sections()) == SECTIONS
    assert all(site_pages.sections().values())


def test_each_page_is_in_the_navigation_once() -> None:
    indexed = {
        one for page in named() if page.endswith("/index.md") for one in site_pages.beside(page)
    }
    assert len(set(named())) == len(named())
    missing = SITE - {FIRST, *named(), *indexed}
    assert not missing, f"{FIRST} does not name them"
    assert not set(named()) & indexed


def test_each_page_is_two_clicks_away() -> None:
    one = linked(FIRST)
    two = {page for first in one for page in linked(first)}
    assert SITE - {FIRST} == (one | two) - {FIRST}


def test_titles_are_no_two_pages() -> None:
    titles = [title for entries in site_pages.sections().values() for title, _ in entries]
    assert len(set(titles)) == len(titles)


def test_the_menu_has_the_pages_by_their_names_in_the_site() -> None:
    menu = site_pages.navigation()
    assert [*map(list, menu)] == [[name] for name in SECTIONS]
    assert menu[0]["Start"][:2] == [{"Overview": "index.md"}, {"A broker in a minute": "start.md"}]
    (decisions,) = (entry for entry in menu[-1]["How it works"] if "Decisions" in entry)
    files = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert len(decisions["Decisions"]) == len(files)
    assert decisions["Decisions"][0] == "decisions/index.md"


def test_no_two_pages_have_one_place() -> None:
    places = list(map(PurePosixPath, site_pages.places().values()))
    assert len({str(place).lower() for place in places}) == len(places)

"""No link between documents is dead: neither to a file nor to a heading, in the tree and in the site."""

from __future__ import annotations

import pytest

from docs import site_pages
from tests.docs import pages
from tests.docs.pages import ROOT

PAGES = pages.all_pages()


def anchored(page: str) -> list[tuple[str, str]]:
    """Its links to headings: the page that has the heading, and the heading's anchor."""
    found = [(site_pages.target(page, link), link.partition("#")[2]) for link in pages.links(page)]
    return [(target, anchor) for target, anchor in found if anchor]


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_to_a_file(page: str) -> None:
    dead = [
        link for link in pages.links(page) if not (ROOT / site_pages.target(page, link)).exists()
    ]
    assert not dead


@pytest.mark.parametrize("page", PAGES)
def test_each_anchor_is_that_of_one_heading(page: str) -> None:
    dead = [(to, anchor) for to, anchor in anchored(page) if pages.anchors(to).count(anchor) != 1]
    assert not dead
    # The site's tool would write one hyphen.
    assert not [anchor for _, anchor in anchored(page) if "--" in anchor]


@pytest.mark.parametrize("page", [page for page in site_pages.places() if page.endswith(".md")])
def test_the_page_can_be_in_the_site(page: str) -> None:
    """Raises DeadLink for a link to what is not there."""
    assert site_pages.text(page).startswith("# ")


def test_the_pages_are_found() -> None:
    assert {"README.md", "docs/index.md", "docs/settings.md", "bench/RESULTS.md"} < set(PAGES)
    assert sum(len(pages.links(page)) for page in PAGES) > 200
    assert sum(len(anchored(page)) for page in PAGES) > 30

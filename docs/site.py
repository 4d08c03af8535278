"""Builds the documents as a site: `make site`. A browser opens build/site/index.html from the disk, search works too.

What it is built from is put together in build/site-sources: docs/mkdocs.yml with the navigation, and the pages
(docs/site_pages.py). A page that links to nothing, and whatever else the tool warns of, ends the build; the site that
was there stays then.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from docs import site_pages
from docs.site_pages import ROOT

TOOLS: Final = ("mkdocs", "material")
MISSING: Final = (
    "Material for MkDocs is not installed: 'make site' does that (requirements/site.txt)"
)
# What pages load beside the theme's own.
LOADED: Final = ("iframe-worker.js", "site.css")


class NotBuilt(Exception):
    """The tool ended with an error, or warned of something: what it printed."""


def is_here() -> bool:
    """Whether what makes the site is installed."""
    return all(importlib.util.find_spec(name) is not None for name in TOOLS)


def prepare(folder: Path) -> Path:
    """Writes what the site is built from into a new folder, and returns the path of its mkdocs.yml."""
    shutil.rmtree(folder, ignore_errors=True)
    for source, place in site_pages.places().items():
        file = folder / "pages" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            file.write_text(site_pages.text(source), "utf-8")
        else:
            shutil.copyfile(ROOT / source, file)
    for name in LOADED:
        shutil.copyfile(ROOT / "docs" / name, folder / "pages" / name)
    config = folder / "mkdocs.yml"
    # JSON is YAML.
    menu = json.dumps(site_pages.navigation(), indent=1)
    config.write_text(
        f"{(ROOT / 'docs' / 'mkdocs.yml').read_text('utf-8')}\nnav: {menu}\n", "utf-8"
    )
    return config


def build(folder: Path) -> Path:
    """Builds the site below a folder, as `site`, and returns its path. Raises NotBuilt, DeadLink."""
    sources, site = folder / "site-sources", folder / "site"
    config = prepare(sources)
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    done = subprocess.run(
        words,
        cwd=sources,
        check=False,
        # Without its note that Zensical will follow it.
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise NotBuilt(done.stdout)
    # A server's, which looks for all it needs at the server's root.
    (sources / "html" / "404.html").unlink()
    shutil.rmtree(site, ignore_errors=True)
    return (sources / "html").rename(site)


def main() -> None:
    if not is_here():
        sys.exit(MISSING)
    try:
        site = build(ROOT / "build")
    except (NotBuilt, site_pages.DeadLink) as error:
        sys.exit(f"the site was not built: {error}")
    print(f"{len(site_pages.places())} pages and pictures: {site / 'index.html'}")


if __name__ == "__main__":
    main()

"""What must hold before a release is built: facts about the checkout, and a sentence for what is not as it must be."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from releasing.releases import Release, newest, order
from tests.run import played
from tests.run.table import live_parts

ROOT: Final = Path(__file__).resolve().parents[1]
_HEADING: Final = re.compile(r"^## .*$", re.MULTILINE)
_DATED: Final = re.compile(r"## (?P<version>\S+) \(\d{4}-\d{2}-\d{2}\)")
_VERSION_LINE: Final = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
# What is noted of a landed state goes into the commit after it.
_NOTED_LATER: Final = frozenset(("tests/run/played.json",))
_SHOWN: Final = 5


class CannotTell(Exception):
    """One sentence: why nothing can be said about the checkout."""


@dataclass(frozen=True)
class Facts:
    """What is known of the checkout. `status` are git's lines of what is not committed."""

    asked: str
    commit: str
    status: tuple[str, ...]
    project: str
    package: str
    # The first one of CHANGELOG.md.
    heading: str
    before: Release
    # Generated pages of docs/ that `make docs` would write otherwise.
    stale_pages: tuple[str, ...]
    # What lies in dist/ already.
    left: tuple[str, ...]
    # Whether the proof was played and passed at this state of the sources.
    was_played: bool


@dataclass(frozen=True)
class Check:
    """`fault` is a sentence that says what to do, or nothing."""

    name: str
    fault: Callable[[Facts], str]


def _version(facts: Facts) -> str:
    try:
        later = order(facts.asked) > order(facts.before.version)
    except ValueError as error:
        return f"{error}"
    if not order(facts.asked)[3]:
        return f"{facts.asked} is the version of a commit, not of a release: write it without .dev"
    if not later:
        return (
            f"{facts.asked} is not above {facts.before.version}, which releasing/releases.json has last:"
            " choose a higher one"
        )
    return ""


def _committed(facts: Facts) -> str:
    if not facts.status:
        return ""
    return (
        f"not committed: {_some([line[3:] for line in facts.status])}; commit, stash or remove that"
    )


def _project(facts: Facts) -> str:
    if facts.project == facts.asked:
        return ""
    return (
        f'pyproject.toml says {facts.project}: write version = "{facts.asked}" there, and commit it'
    )


def _package(facts: Facts) -> str:
    if facts.package == facts.asked:
        return ""
    return f'trimq/__init__.py says {facts.package}: write __version__ = "{facts.asked}" there, and commit it'


def _changelog(facts: Facts) -> str:
    found = _DATED.fullmatch(facts.heading)
    if found is not None and found["version"] == facts.asked:
        return ""
    return (
        f'the first heading of CHANGELOG.md is "{facts.heading}": write "## {facts.asked} (YYYY-MM-DD)", with the day'
        " of the release, and commit it"
    )


def _pages(facts: Facts) -> str:
    if not facts.stale_pages:
        return ""
    return f"docs/ is not as it would be made: {_some(facts.stale_pages)}; run make docs, and commit it"


def _dist(facts: Facts) -> str:
    if not facts.left:
        return ""
    return f"dist/ is not empty: {_some(facts.left)}; move that away, or rm -r dist"


CHECKS: Final = (
    Check("the version is a new one", _version),
    Check("everything is committed", _committed),
    Check("pyproject.toml agrees", _project),
    Check("trimq.__version__ agrees", _package),
    Check("CHANGELOG.md agrees", _changelog),
    Check("generated pages are up to date", _pages),
    Check("dist/ is empty", _dist),
)


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def gather(asked: str, out: Path, root: Path = ROOT) -> Facts:
    """CannotTell."""
    commit = git(root, "rev-parse", "HEAD").strip()
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    package = _VERSION_LINE.search((root / "trimq" / "__init__.py").read_text("utf-8"))
    heading = _HEADING.search(changelog)
    return Facts(
        asked=asked,
        commit=commit,
        status=tuple(git(root, "status", "--porcelain").splitlines()),
        project=project["project"]["version"],
        package=package[1] if package else "nothing",
        heading=heading[0] if heading else "",
        before=newest(root / "releasing" / "releases.json"),
        stale_pages=_stale_pages(root),
        left=tuple(sorted(one.name for one in out.iterdir())) if out.is_dir() else (),
        was_played=was_played(root, commit),
    )


def _stale_pages(root: Path) -> tuple[str, ...]:
    from docs.generate import PAGES

    found = []
    for name, make in PAGES.items():
        page = root / "docs" / name
        if not page.is_file() or page.read_text("utf-8") != make():
            found.append(name)
    return tuple(found)


def was_played(root: Path, commit: str) -> bool:
    """Whether this state has landed, and none of the live parts has been left out for too long."""
    file = root / "tests" / "run" / "played.json"
    landed = played.landed(file)
    if landed is None or played.due(live_parts(), file):
        return False
    try:
        changed = git(root, "diff", "--name-only", landed, commit).split()
    except CannotTell:
        return False
    return set(changed) <= _NOTED_LATER


def git(root: Path, *words: str) -> str:
    """What it prints. CannotTell."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise CannotTell(f"git cannot be run ({error}): apt-get install git") from None
    if done.returncode:
        raise CannotTell(
            f"git {' '.join(words[:2])} says: {done.stderr.strip() or 'no'}; a release is made in a clone"
        )
    return done.stdout


def line_of(facts: Facts, date: str) -> str:
    """What is added to releases.json."""
    return json.dumps({"version": facts.asked, "commit": facts.commit, "date": date})

"""The sources of earlier releases, out of this clone's history: plain Python that runs where it lies.

They are kept outside the checkout, a folder for each commit: ``${TRIMQ_CACHE:-~/.cache}/trimq/releases/COMMIT``. They
run with the packages that are installed here, as an upgrade in place has it.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from functools import partial
from pathlib import Path
from typing import Final

from compat_tests.servers.artifacts import ROOT, cache_root
from compat_tests.servers.kept import kept
from releasing.releases import Release, newest

# Of the settings' page a row, whose key RocketMQ does not have.
_OWN: Final = re.compile(
    r"^\| `(?P<key>[^`]+)` \| (`(?P<default>[^`]*)`|of the machine).*\(TriMQ's own\.\) \|$"
)
# A link, as `git ls-tree` shows it.
_LINK: Final = "120000"


class NotHere(Exception):
    """The clone has no such commit; the text says what to do."""


def release_before() -> Release:
    return newest()


def tree(release: Release) -> Path:
    """The folder that `trimq` of that release can be imported from. NotHere."""
    return kept(cache_root() / "releases" / release.commit, partial(_unpack, release.commit))


def _unpack(commit: str, folder: Path) -> None:
    """`trimq`, the folders that its links name, and what there is to be set."""
    rows = [
        line.split(maxsplit=3) for line in _git("ls-tree", commit, "trimq/").decode().splitlines()
    ]
    linked = [Path(row[3]).name for row in rows if row[0] == _LINK]
    data = _git("archive", commit, "trimq", "docs/settings.md", *linked)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="tar")


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise NotHere(
            f"git {' '.join(words[:2])}: {done.stderr.decode().strip()}; this needs a clone with its history:"
            " git fetch --unshallow"
        )
    return done.stdout


def own_settings(root: Path) -> dict[str, str]:
    """The keys that only TriMQ has, with the texts of their defaults ("": none), as a tree's page of settings says."""
    page = (root / "docs" / "settings.md").read_text("utf-8")
    # Those of a proxy are no server's.
    servers, _, _ = page.partition("\n## The proxy\n")
    found = [_OWN.match(line) for line in servers.splitlines()]
    return {one["key"]: one["default"] or "" for one in found if one is not None}

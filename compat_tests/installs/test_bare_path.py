"""`make test` on a path with Python, git and make alone: set up, green, and it says what was not played."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from compat_tests.installs.installs import copy_checkout
from compat_tests.installs.plain_debian import LEFT_OUT

# What a Makefile and git cannot do without is in the shell, or beside git.
PROGRAMS = ("git", "make")


def bare_path(folder: Path) -> str:
    folder.mkdir()
    for program in PROGRAMS:
        found = shutil.which(program)
        assert found is not None
        (folder / program).symlink_to(found)
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    return str(folder)


def test_nothing_else_is_needed(tmp_path: Path) -> None:
    """Tests are collected and not played here, which takes minutes: what needs a tool at its import would fail."""
    checkout = copy_checkout(tmp_path / "checkout")
    environment = {
        "PATH": bare_path(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "PYTEST_ADDOPTS": "--collect-only --quiet",
        **{name: text for name, text in os.environ.items() if name.startswith("PIP_")},
    }
    make = shutil.which("make")
    assert make is not None
    done = subprocess.run(
        [make, "test"],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    assert "Traceback" not in said
    for part, why in LEFT_OUT.items():
        assert f"    {part:<20}{why}" in said
    # A run in which a tool has to be there names all that are not, and begins nothing.
    must = {**environment, "TRIMQ_REQUIRE": "all"}
    done = subprocess.run(
        [make, "test"], cwd=checkout, env=must, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    for name in ("JDK 17", "Maven", "Go", "C compiler"):
        assert f"{name} is missing: " in done.stderr
    assert "begins: " not in done.stdout

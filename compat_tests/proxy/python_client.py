"""The official Python client of the 5.x line, in an environment of its own: it wants other libraries than TriMQ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from compat_tests.servers.artifacts import cache_root
from compat_tests.servers.kept import kept

REQUIREMENT: Final = "rocketmq-python-client==5.1.2"


def python_client() -> Path:
    """The environment's folder; skips the test where the client cannot be had."""
    try:
        return kept(cache_root() / REQUIREMENT.replace("==", "-") / "venv", _install)
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines()
        pytest.skip(f"{REQUIREMENT} cannot be installed: {lines[-1] if lines else error}")


def _install(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
    words = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", REQUIREMENT]
    subprocess.run(words, check=True, capture_output=True, text=True)

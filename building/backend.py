"""How TriMQ is built (PEP 517): by setuptools; with mypy where the hot modules can be compiled.

If they cannot be compiled, or should not be, the build needs setuptools only.
"""

from pathlib import Path
from typing import Any

import compiling
from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Compiling the modules needs mypy, and the packages whose types it has to know."""
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    if compiling.obstacle() is None:
        lines = (Path(__file__).parents[1] / "requirements" / "build.txt").read_text().splitlines()
        needed += [line for line in lines if line and not line.startswith("#")]
    return needed

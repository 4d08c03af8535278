"""What stands in the way of compiling, in words; without setuptools, which not every environment has."""

import os
import shutil
import sysconfig
from pathlib import Path
from typing import Final

# 0: never; 1: compile or fail; otherwise: if possible.
VARIABLE: Final = "TRIMQ_COMPILE"
NO_COMPILER: Final = "no C compiler works here (Debian: apt-get install gcc python3-dev; macOS: xcode-select --install)"
NO_HEADERS: Final = "Python's header files are missing (Debian: apt-get install python3-dev)"


def in_the_way() -> str:
    """Which of the two it is, by what lies where; empty: neither. Nothing is compiled for it."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        return NO_COMPILER
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return NO_HEADERS
    return ""

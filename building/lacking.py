"""What stands in the way of compiling, in words; without setuptools, which not every environment has."""

from typing import Final

# 0: never; 1: compile or fail; otherwise: if possible.
VARIABLE: Final = "TRIMQ_COMPILE"
NO_COMPILER: Final = "no C compiler works here (Debian: apt-get install gcc python3-dev; macOS: xcode-select --install)"
NO_HEADERS: Final = "Python's header files are missing (Debian: apt-get install python3-dev)"

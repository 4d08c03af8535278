"""What `make wheels` can build, by name: `cp311-x86_64` and so on, `pure`, and `sdist`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.run.interpreters import VERSIONS

# The oldest glibc that the compiled wheels run on: that of manylinux2014.
GLIBC: Final = (2, 17)
# Ours -> Debian's.
MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
PURE: Final = "pure"
SDIST: Final = "sdist"
_NAME: Final = re.compile(r"cp(\d)(\d+)-(\w+)")


class CannotBuild(Exception):
    """The text is one sentence: what is missing, and what to do."""


class NotToBeHad(CannotBuild):
    """It needs something that this machine does not have, and that is no failure."""


@dataclass(frozen=True)
class Compiled:
    """The compiled wheel of one CPython (`3.11`) for one processor."""

    version: str
    machine: str

    @property
    def python_tag(self) -> str:
        return f"cp{self.version.replace('.', '')}"

    @property
    def name(self) -> str:
        return f"{self.python_tag}-{self.machine}"

    @property
    def triple(self) -> str:
        """As CPython and Debian name the system."""
        return f"{self.machine}-linux-gnu"

    @property
    def compiler_target(self) -> str:
        """As zig names it, with the glibc."""
        return f"{self.triple}.{GLIBC[0]}.{GLIBC[1]}"

    @property
    def suffix(self) -> str:
        """How the file of a compiled module ends (EXT_SUFFIX)."""
        return f".cpython-{self.version.replace('.', '')}-{self.triple}.so"

    @property
    def platform(self) -> str:
        """The tag that a wheel has to earn."""
        return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{self.machine}"

    def wheel(self, version: str) -> str:
        """The name of the file; pip of before 2021 knows the platform by its older name."""
        tag = self.python_tag
        return f"trimq-{version}-{tag}-{tag}-manylinux2014_{self.machine}.{self.platform}.whl"


def compiled(name: str) -> Compiled | None:
    """None: it names no compiled wheel."""
    found = _NAME.fullmatch(name)
    return None if found is None else Compiled(f"{found[1]}.{found[2]}", found[3])


def wheels() -> list[Compiled]:
    return [Compiled(version, machine) for machine in MACHINES for version in VERSIONS]


def every() -> list[str]:
    """In the order in which they are built: what needs least comes first."""
    return [SDIST, PURE, *(one.name for one in wheels())]


def chosen(only: Sequence[str]) -> list[str]:
    """Those, in the usual order; all, if none is named. CannotBuild for a name that is none."""
    known = every()
    for name in only:
        if name not in known:
            raise CannotBuild(f"--only {name}: it is one of {', '.join(known)}")
    return [name for name in known if not only or name in only]

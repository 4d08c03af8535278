"""What a release consists of: how each part is made, what it leaves in `dist/`, and how that is tried.

A further part is a further row. Which compiled wheels there are depends on the Pythons of this machine, and which
images on its Docker engine.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from releasing import image, targets
from releasing.builds import not_to_be_had
from releasing.containers import loaded_by_docker, tag_of
from releasing.targets import Compiled
from releasing.trying import Trial, installed_by_pip
from tests.run.interpreters import Interpreter

# An archive, a folder to work in, the version: what was seen. Failed.
Try = Callable[[Path, Path, str], Trial]


@dataclass(frozen=True)
class Row:
    """One part. In `command` and `leaves`, `{version}` and `{out}` stand for what they are in a run.

    What has no command is not made, and what has no `tried` is made and not tried: `how` says why.
    """

    name: str
    command: tuple[str, ...]
    # Files of this part in `out`, each of which is tried.
    leaves: tuple[str, ...]
    tried: Try | None
    # For the plan.
    how: str

    def words(self, version: str, out: Path) -> list[str]:
        return [word.format(version=version, out=out) for word in self.command]

    def files(self, version: str, out: Path) -> list[Path]:
        return [out / name.format(version=version) for name in self.leaves]


_PIP: Final = "pip installs it into an empty environment{}; it sends, receives, is killed, starts and reads again"

_WHEELS: Final = (sys.executable, "-m", "releasing.wheels", "--out", "{out}")

ROWS: Final = (
    Row(
        "sdist",
        (*_WHEELS, "--only", "sdist"),
        ("trimq-{version}.tar.gz",),
        installed_by_pip,
        _PIP.format(""),
    ),
    Row(
        "pure wheel",
        (*_WHEELS, "--only", "pure"),
        ("trimq-{version}-py3-none-any.whl",),
        installed_by_pip,
        _PIP.format(""),
    ),
)


_DOCKER: Final = "docker loads it{}; it sends, receives, is killed, starts and reads again"


def rows(
    interpreters: Mapping[str, Interpreter], lacks: Callable[[str], str] = image.lacks
) -> list[Row]:
    """All of them, where these Pythons are, by version, and where `lacks` says what a processor's image lacks."""
    return [
        *ROWS,
        *(compiled(one, interpreters) for one in targets.wheels()),
        *(image_of(machine, interpreters, lacks(machine)) for machine in targets.MACHINES),
    ]


def compiled(target: Compiled, interpreters: Mapping[str, Interpreter]) -> Row:
    """The row of a compiled wheel: tried by its own Python, if this machine has the processor."""
    if reason := not_to_be_had(target, interpreters):
        return Row(target.name, (), (), None, reason)
    command = (*_WHEELS, "--only", target.name)
    leaves = (target.wheel("{version}"),)
    if target.machine != platform.machine():
        return Row(target.name, command, leaves, None, f"this machine is not {target.machine}")
    python = interpreters[target.version]
    tried = partial(installed_by_pip, interpreter=python.path, build="compiled")
    return Row(target.name, command, leaves, tried, _PIP.format(f" of CPython {python.name}"))


def image_of(machine: str, interpreters: Mapping[str, Interpreter], lacking: str) -> Row:
    """The row of an image. That of the other processor has the wheel of its own row in it, and is emulated."""
    name = f"image-{targets.MACHINES[machine]}"
    wheel = image.wheel_of(machine)
    is_other = machine != platform.machine()
    if reason := lacking or (not_to_be_had(wheel, interpreters) if is_other else ""):
        return Row(name, (), (), None, reason)
    words = ("-m", "releasing.image", "--machine", machine, "--tag", tag_of("{version}", machine))
    of_wheel = ("--wheel", f"{{out}}/{wheel.wheel('{version}')}") if is_other else ()
    return Row(
        name,
        (sys.executable, *words, "--out", "{out}", *of_wheel),
        (image.file_name("{version}", machine),),
        partial(loaded_by_docker, machine=machine),
        _DOCKER.format(", emulated" if is_other else ""),
    )

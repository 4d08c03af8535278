"""The compiled wheel of the processor that this machine does not have, on a Debian of that processor, emulated.

With --live only. On two cores that others used too the wheel took 13 minutes, installing and playing 17, and that
Debian, which is made once, 28.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import trimq
from compat_tests.installs import round_trip
from compat_tests.servers.chroot import Chroot, chroot, why_not
from compat_tests.wheels import kept
from compat_tests.wheels.test_wheels import build
from releasing.targets import MACHINES, Compiled
from releasing.wheels import ROOT
from tests.run.interpreters import candidates, find

SUITE: Final = "trixie"
# Its Python.
VERSION: Final = "3.13"
(MACHINE, *_) = (name for name in MACHINES if name != platform.machine())
TARGET: Final = Compiled(VERSION, MACHINE)
PACKAGES: Final = ("python3", "python3-venv", "ca-certificates", "procps")
HOME: Final = "/opt/trimq"


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not request.config.getoption("--live"):
        pytest.skip("minutes under emulation: with --live only")
    if reason := why_not(machine=MACHINE):
        pytest.skip(reason)
    if VERSION not in find([Path(sys.executable), *candidates()]):
        pytest.skip(f"no Python {VERSION} is here: pyenv install {VERSION} gets it")
    folder = tmp_path_factory.mktemp("other") / "dist"
    build(folder, [TARGET.name])
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def machine(wheel: Path) -> Iterator[Chroot]:
    """With TriMQ installed in HOME by its own pip, from that wheel."""
    with chroot(SUITE, PACKAGES, MACHINE) as made:
        locked = ROOT / "requirements" / "runtime.txt"
        for path in (wheel, locked, Path(kept.__file__), Path(round_trip.__file__)):
            shutil.copy(path, made.root / "srv")
        # Byte code of what nobody imports takes minutes there.
        words = ("install", "--quiet", "--no-compile", "--disable-pip-version-check")
        pip = (f"{HOME}/bin/pip", *words)
        made.done("python3", "-m", "venv", HOME)
        made.done(*pip, "--only-binary=:all:", "--require-hashes", "-r", f"/srv/{locked.name}")
        made.done(*pip, "--no-index", "--no-deps", f"/srv/{wheel.name}")
        yield made


def test_it_has_earned_its_name(wheel: Path) -> None:
    assert wheel.name == TARGET.wheel(trimq.__version__)


def test_it_runs_compiled_on_that_processor(machine: Chroot) -> None:
    asked = "import platform; print(platform.machine(), *platform.python_version_tuple()[:2])"
    assert machine.done("python3", "-c", asked).split() == [MACHINE, *VERSION.split(".")]
    assert machine.done(f"{HOME}/bin/trimq", "--version") == (
        f"TriMQ {trimq.__version__} (compiled)\n"
    )


def test_nothing_is_lost_by_a_kill(machine: Chroot) -> None:
    said = machine.done(f"{HOME}/bin/python", "-P", "/srv/kept.py", "/srv/store")
    found = json.loads(said)
    assert found["before"] == found["after"] == ["kept"]
    assert found["build"] == "compiled"
    print(f"seconds to start: {found['seconds']}")


def test_a_message_goes_there_and_back(machine: Chroot) -> None:
    found = json.loads(machine.done(f"{HOME}/bin/python", "-P", "/srv/round_trip.py"))
    assert found["bodies"] == ["there and back"]
    assert found["build"] == "compiled"
    assert found["file"].startswith(HOME)

"""`make wheels`: what it builds has the right names, holds nothing of this machine, and runs where it is installed."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

import trimq
from compat_tests.installs.installs import ENVIRONMENT, Installation
from releasing import sources
from releasing.targets import PURE, SDIST, Compiled
from releasing.wheels import ROOT

TARGET: Final = Compiled("{}.{}".format(*sys.version_info), platform.machine())
HEAD: Final = f"trimq-{trimq.__version__}"
WHEEL: Final = TARGET.wheel(trimq.__version__)
PLAIN: Final = f"{HEAD}-py3-none-any.whl"
ARCHIVE: Final = f"{HEAD}.tar.gz"
ROW: Final = re.compile(r" +\d+ +(\d+)  ([0-9a-f]{64})  (\S+)")


def build(out: Path, names: Iterable[str]) -> str:
    """What it says. The C compiler does not optimise: that takes a third of the time."""
    done = subprocess.run(
        [sys.executable, "-m", "releasing.wheels", "--out", str(out), "--only", *names],
        cwd=ROOT,
        # Without -O mypyc leaves assertions in, and these name their files.
        env={**ENVIRONMENT, "MYPYC_OPT_LEVEL": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Release:
    """A folder with archives, and the table of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = build(folder, (SDIST, PURE, TARGET.name))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release(tmp_path_factory.mktemp("release") / "dist")


def installed(home: Path, wheel: Path) -> Installation:
    """From that file alone; what it depends on is locked."""
    made = Installation.empty(home)
    lock = ROOT / "requirements" / "runtime.txt"
    made.pip_install("--only-binary=:all:", "--require-hashes", "-r", lock)
    made.pip_install("--no-index", "--no-deps", wheel)
    checked = made.run("-c", "from importlib.metadata import version; print(version('trimq'))")
    assert checked.stdout == f"{trimq.__version__}\n", checked.stderr
    return made


def kept(installation: Installation, store: Path) -> Mapping[str, Any]:
    """What kept.py says."""
    done = installation.run("-P", Path(__file__).with_name("kept.py"), store)
    assert done.returncode == 0, done.stderr[-3000:]
    value: dict[str, Any] = json.loads(done.stdout)
    assert value["before"] == value["after"] == ["kept"]
    return value


def test_the_table_says_what_lies_there(release: Release) -> None:
    rows = [match for line in release.said.splitlines() if (match := ROW.fullmatch(line))]
    told = {row[3]: (int(row[1]), row[2]) for row in rows}
    files = {path.name: path.read_bytes() for path in release.folder.iterdir()}
    assert told.keys() == {WHEEL, PLAIN, ARCHIVE}
    assert told == {
        name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in files.items()
    }
    assert "not built" not in release.said


def test_the_compiled_wheel_has_modules_for_its_python_and_no_libraries(release: Release) -> None:
    with zipfile.ZipFile(release.folder / WHEEL) as wheel:
        names = wheel.namelist()
    compiled = [name for name in names if ".so" in name]
    assert len(compiled) > 100
    assert all(name.endswith(TARGET.suffix) for name in compiled)
    assert {name.partition("/")[0] for name in compiled} == {"trimq"}


def test_archives_have_one_date_and_nothing_of_this_machine(release: Release) -> None:
    seconds = sources.seconds(ROOT)
    for name in (WHEEL, PLAIN):
        with zipfile.ZipFile(release.folder / name) as wheel:
            members = wheel.infolist()
            assert len({one.date_time for one in members}) == 1
            assert {one.external_attr >> 16 for one in members} == {0o100644}
            texts = [wheel.read(one) for one in members]
        found = [path for path in (ROOT, "/tmp/trimq-build") if _is_in(str(path), texts)]
        assert found == []
    with tarfile.open(release.folder / ARCHIVE) as archive:
        told = {(one.uid, one.gid, one.uname, one.mtime) for one in archive.getmembers()}
    assert told == {(0, 0, "", seconds)}


def _is_in(text: str, contents: Iterable[bytes]) -> bool:
    return any(text.encode() in content for content in contents)


def test_the_compiled_wheel_survives_a_kill(release: Release, tmp_path: Path) -> None:
    made = installed(tmp_path / "home", release.folder / WHEEL)
    assert made.version() == f"TriMQ {trimq.__version__} (compiled)\n"
    assert kept(made, tmp_path / "store")["build"] == "compiled"
    assert made.round_trip()["build"] == "compiled"


def test_the_plain_wheel_survives_a_kill_and_says_how_to_get_the_other(
    release: Release, tmp_path: Path
) -> None:
    made = installed(tmp_path / "home", release.folder / PLAIN)
    said = made.run(made.home / "bin" / "trimq", "--version")
    assert said.stdout == f"TriMQ {trimq.__version__} (pure Python)\n"
    assert f"--no-binary trimq trimq=={trimq.__version__}" in said.stderr
    assert kept(made, tmp_path / "store")["build"].startswith("pure Python (this is the wheel")


def test_built_again_they_are_the_same(
    release: Release, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The compiled one with --live, since it takes minutes."""
    also = [TARGET.name] if request.config.getoption("--live") else []
    build(tmp_path, (SDIST, PURE, *also))
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (release.folder / path.name).read_bytes(), path.name

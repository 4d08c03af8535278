"""Python's headers for one processor, in one folder."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest

from releasing import headers
from releasing.targets import MACHINES, CannotBuild, Compiled, NotToBeHad

OURS = Compiled("3.11", "x86_64")
# One that this machine has not.
(FOREIGN, *_) = (name for name in MACHINES if name != platform.machine())


def include(folder: Path) -> Path:
    made = folder / "include" / "python3.11"
    made.mkdir(parents=True)
    (made / "Python.h").write_text("python\n")
    (made / "pyconfig.h").write_text("either this processor or that\n")
    return made


def test_plain_headers_stay_as_they_are(tmp_path: Path) -> None:
    headers.flatten(include(tmp_path), OURS, tmp_path / "flat")
    assert {path.name for path in (tmp_path / "flat").iterdir()} == {"Python.h", "pyconfig.h"}
    assert (tmp_path / "flat" / "pyconfig.h").read_text() == "either this processor or that\n"


def test_of_debians_that_of_the_processor_is_taken(tmp_path: Path) -> None:
    source = include(tmp_path)
    for machine in MACHINES:
        apart = source.parent / f"{machine}-linux-gnu" / "python3.11" / "pyconfig.h"
        apart.parent.mkdir(parents=True)
        apart.write_text(f"{machine}\n")
    headers.flatten(source, OURS, tmp_path / "flat")
    assert (tmp_path / "flat" / "pyconfig.h").read_text() == "x86_64\n"


def test_a_python_without_headers_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotBuild, match=r"3\.11 has no header files in .*apt-get install"):
        headers.flatten(tmp_path, OURS, tmp_path / "flat")


def test_a_python_that_no_debian_has_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(NotToBeHad, match=r"no release of Debian has Python 3\.2 for"):
        headers.of(Compiled("3.2", FOREIGN), Path("python"), tmp_path)


def test_without_apt_it_says_where_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CannotBuild, match="apt-get is missing"):
        headers.of(Compiled("3.11", FOREIGN), Path("python"), tmp_path)


def test_where_debian_does_not_answer_the_log_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(words: list[str], *_: object) -> int:
        asked.append(words[-1])
        return 100

    monkeypatch.setattr(shutil, "which", str)
    monkeypatch.setattr(headers, "run", refuse)
    with pytest.raises(CannotBuild, match=r"found no libpython3\.13-dev for .*\.txt says why"):
        headers.of(Compiled("3.13", FOREIGN), Path("python"), tmp_path)
    assert asked == ["update", "update"]
    (lists, _) = sorted((tmp_path / "debian").glob("*/sources.list"))
    assert "signed-by=" in lists.read_text()


def test_what_is_unpacked_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Compiled("3.11", FOREIGN)
    include(tmp_path / "debian" / one.name / "usr")
    monkeypatch.setattr(headers, "run", None)
    folder = headers.of(one, Path("python"), tmp_path)
    assert (folder / "Python.h").read_text() == "python\n"

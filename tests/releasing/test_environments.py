"""What is installed to build with: locked, and only what is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from releasing import environments, targets
from releasing.environments import environ, for_building, for_packing, locked
from tests.run.part import ROOT

LOCK = """# Made by: somebody
one-two==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
three==3 ; python_version < '3.12' \\
    --hash=sha256:cc
"""


def test_an_entry_keeps_its_hashes_and_its_condition() -> None:
    assert locked([LOCK], ["three==3"]) == LOCK[LOCK.index("three") :]
    found = locked([LOCK], ["One_Two==1.0"])
    assert found == LOCK[LOCK.index("one") : LOCK.index("three")]


@pytest.mark.parametrize("pin", ["three==4", "four==1", "one-two==1.0.0"])
def test_what_is_not_locked_is_named(pin: str) -> None:
    with pytest.raises(targets.CannotBuild, match=f"no hashes of {pin}: lock it in test.txt"):
        locked([LOCK], [pin])


def test_what_compiles_is_locked() -> None:
    text = for_building(ROOT)
    assert text.count("==") == len((ROOT / "requirements" / "build.txt").read_text().splitlines())
    assert text.startswith("setuptools==")
    assert "\nmypy==" in text
    assert for_packing(ROOT) == text[: text.index("ast-serialize")]


def test_what_decides_how_is_compiled_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CC", "CFLAGS", "LDSHARED", "PYTHONPATH", "TRIMQ_COMPILE", "ZIG_LIB_DIR", "AR"):
        monkeypatch.setenv(name, "theirs")
    for name in ("MYPYC_OPT_LEVEL", "PIP_INDEX_URL", "CCACHE_DIR", "CI"):
        monkeypatch.setenv(name, "theirs")
    found = environ(CC="ours")
    assert found["CC"] == "ours"
    assert {name for name, text in found.items() if text == "theirs"} == {
        *("MYPYC_OPT_LEVEL", "PIP_INDEX_URL", "CCACHE_DIR", "CI")
    }


def test_a_python_without_venv_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(targets.CannotBuild, match=f"{python} makes no environment"):
        environments.make(python, tmp_path / "home", "")


PIP = """#!/bin/sh
echo "$*" >> {log}
case "$*" in
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  *) exit {code} ;;
esac
"""


def test_an_environment_is_made_once_for_the_same_lock(tmp_path: Path) -> None:
    python, log = tmp_path / "python", tmp_path / "log"
    python.write_text(PIP.format(log=log, code=0))
    python.chmod(0o755)
    made = [
        environments.make(python, tmp_path / "home", text) for text in (LOCK, LOCK, "four==4\n")
    ]
    assert made == [tmp_path / "home" / "venv" / "bin" / "python"] * 3
    calls = log.read_text().splitlines()
    assert [line.split()[1] for line in calls] == ["venv", "pip", "venv", "pip"]
    assert all("--require-hashes" in line for line in calls if line.startswith("-m pip"))


def test_what_pip_cannot_install_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(PIP.format(log=tmp_path / "log", code=1))
    python.chmod(0o755)
    with pytest.raises(targets.CannotBuild, match=r"pip cannot install one-two three: .*pip.txt"):
        environments.make(python, tmp_path / "home", LOCK)


def test_a_lost_lock_is_named(tmp_path: Path) -> None:
    with pytest.raises(targets.CannotBuild, match=r"requirements/wheels.txt is missing: .*ziglang"):
        environments.tools(tmp_path, tmp_path / "work")

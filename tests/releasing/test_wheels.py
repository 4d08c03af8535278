"""`make wheels`, with nothing built: its table, its exit code, and what it says about what is missing."""

from __future__ import annotations

import fcntl
import hashlib
import re
from pathlib import Path

import pytest

from releasing import wheels
from releasing.builds import Workshop, compiling
from releasing.rows import Row, table
from releasing.targets import CannotBuild, Compiled, NotToBeHad


def test_the_table_has_size_digest_and_seconds(tmp_path: Path) -> None:
    archive = tmp_path / "trimq-1.tar.gz"
    archive.write_bytes(b"x" * 1234)
    told = table([Row("sdist", 12.6, archive), Row("pure", why_not="no luck: try again")])
    digest = hashlib.sha256(b"x" * 1234).hexdigest()
    assert f"\n     13      1234  {digest}  trimq-1.tar.gz\n" in told
    assert told.endswith("\nnot built:\n    pure            no luck: try again")
    assert "not built" not in table([Row("sdist", 12.6, archive)])


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Name -> what its build raises, as `kind text`; all others end well."""
    told: dict[str, str] = {}
    kinds = {"missing": NotToBeHad, "failed": CannotBuild}

    def build(_: Workshop, name: str) -> Path:
        kind, _, text = told.get(name, "").partition(" ")
        if kind:
            raise kinds[kind](text)
        (tmp_path / name).write_text(name)
        return tmp_path / name

    monkeypatch.setattr(Workshop, "build", build)
    monkeypatch.setattr(wheels, "find", lambda _: {})
    return told


def run(tmp_path: Path, *words: str) -> int:
    return wheels.main(["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work"), *words])


def test_what_cannot_be_had_here_is_said_and_is_no_failure(
    outcomes: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes["cp314-x86_64"] = "missing no Python 3.14 is here: get it"
    assert run(tmp_path) == 0
    said = capsys.readouterr().out
    assert re.match(r"of [0-9a-f]+ \d{4}-\d\d-\d\d", said)
    assert "begins: cp311-x86_64\n" in said
    assert "    cp314-x86_64    no Python 3.14 is here: get it\n" in said
    # Asked for by its name, it is.
    assert run(tmp_path, "--only", "cp314-x86_64") == 1
    assert run(tmp_path, "--only", "cp313-x86_64") == 0


def test_a_failure_does_not_keep_the_others_from_being_built(
    outcomes: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes["sdist"] = "failed building failed"
    assert run(tmp_path) == 1
    said = capsys.readouterr().out
    assert "    sdist           building failed" in said
    assert said.count("begins: ") == said.count("  cp3") + 2


def test_an_unknown_name_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--only", "cp39-x86_64") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("make wheels: --only cp39-x86_64: it is one of sdist,")
    assert told.err.count("\n") == 1


def test_two_do_not_build_in_one_folder(
    outcomes: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not outcomes
    (tmp_path / "work").mkdir()
    with (tmp_path / "work" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(tmp_path, "--only", "pure") == 1
    assert "somebody else builds in" in capsys.readouterr().err
    assert run(tmp_path, "--only", "pure") == 0


def test_a_python_that_is_not_here_is_named_with_what_gets_it(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, tmp_path / "work", tmp_path / "out", 0, {})
    with pytest.raises(NotToBeHad, match=r"no Python 3\.12 is here: pyenv install 3\.12 gets it"):
        shop.build("cp312-x86_64")


def test_a_compiler_is_told_everything_by_variables(tmp_path: Path) -> None:
    one = Compiled("3.12", "aarch64")
    zig, include = Path("/a folder/zig"), Path("/include here")
    found = compiling(one, zig, include, tmp_path, tmp_path / "cache")
    assert found["CC"] == "'/a folder/zig' cc -target aarch64-linux-gnu.2.17"
    assert found["LDSHARED"] == f"{found['CC']} -shared -s"
    assert "'-I/include here'" in found["CFLAGS"]
    assert f"-ffile-prefix-map={tmp_path}/tree=." in found["CFLAGS"]
    assert found["SETUPTOOLS_EXT_SUFFIX"] == one.suffix
    assert found["_PYTHON_HOST_PLATFORM"] == "linux-aarch64"
    assert found["TRIMQ_COMPILE"] == "1"


def test_what_the_plain_wheel_says_of_itself_is_one_line() -> None:
    shop = Workshop(wheels.ROOT, Path("work"), Path("out"), 0, {})
    told = shop.plain()["TRIMQ_PLAIN"]
    assert "\n" not in told
    assert "glibc 2.17 or newer on x86_64 and aarch64" in told
    assert "for CPython 3.11 to 3." in told
    assert "pip install" in told

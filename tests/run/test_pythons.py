"""`make pythons` on interpreters that are shell scripts."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run import interpreters, pythons, report
from tests.run.pythons import Row, main, reason, table

# Says what it is; makes environments with itself inside, writes down what is asked of pip, and reports of one test.
SCRIPT = """#!/bin/sh
here=$(dirname "$0")
case "$*" in
  *" -c "*) echo '["{kind}", "{flags}", {release}, "{level}", 0]' ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip "*) echo "$*" >> "{log}"
    case "$*" in *{unknown}*) echo "{error}"; exit 1 ;; esac ;;
  "-m pytest "*)
    for word do case "$word" in --junitxml=*) xml=${{word#--junitxml=}} ;; esac; done
    echo '<testsuite><testcase classname="a" name="b">{outcome}</testcase></testsuite>' > "$xml"
    exit {code} ;;
esac
"""
NO_WHEEL = (
    "ERROR: Could not find a version that satisfies the requirement wrapt==9 (from versions: none)\n"
    "ERROR: No matching distribution found for wrapt==9"
)
Fake = Callable[..., Path]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Makes interpreters in a home of nobody, whose PATH has nothing else of that name."""
    path = tmp_path / "path"
    path.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(
        shutil, "which", lambda name: str(path / name) if (path / name).exists() else None
    )
    monkeypatch.setattr(interpreters, "MADE", tmp_path / "made")
    monkeypatch.setattr(pythons, "copy_checkout", lambda tree: tree.mkdir())

    def make(place: str, release: str = "3, 12, 1", **also: str) -> Path:
        """On the PATH, or of pyenv's."""
        file = path / place
        if "/" in place:
            file = tmp_path / ".pyenv" / "versions" / place
            file.parent.mkdir(parents=True)
        words = {"kind": "cpython", "flags": "", "level": "final", "unknown": "no-such-word"}
        words |= {"error": NO_WHEEL, "outcome": "", "code": "0", "log": str(tmp_path / "log")}
        file.write_text(SCRIPT.format(**words | {"release": release} | also))
        file.chmod(0o755)
        return file

    return make


def found() -> dict[str, Path]:
    return {
        version: one.path for version, one in interpreters.find(interpreters.candidates()).items()
    }


def test_the_newest_release_of_each_version_is_found(fake: Fake) -> None:
    on_path = fake("python3.11", "3, 11, 7")
    fake("3.11.2/bin/python", "3, 11, 2")
    fake("3.12.1/bin/python", "3, 12, 1")
    newer = fake("3.12.10/bin/python", "3, 12, 10")
    fake("3.10.13/bin/python", "3, 10, 13")
    assert found() == {"3.11": on_path, "3.12": newer}


@pytest.mark.parametrize(
    "other",
    [
        {"level": "alpha"},
        {"level": "beta"},
        {"kind": "pypy"},
        {"flags": "t"},
    ],
)
def test_what_is_no_released_cpython_is_passed_over(fake: Fake, other: dict[str, str]) -> None:
    fake("python3.14", "3, 14, 0", **other)
    fake("3.13.0/bin/python", "3, 13, 0", level="candidate")
    assert list(found()) == ["3.13"]


def test_a_shim_that_leads_nowhere_is_passed_over(fake: Fake) -> None:
    shim = fake("python3.13")
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n")
    real = fake("3.13.0/bin/python", "3, 13, 0")
    assert found() == {"3.13": real}


def test_a_table_of_all_that_was_played(
    fake: Fake, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fake("python3.11", "3, 11, 7")
    fake("python3.12", "3, 12, 1", code="1", outcome="<failure/>")
    fake("python3.13", "3, 13, 0", unknown="require-hashes")
    assert main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    said = f"exit code 1: {tmp_path}/made/3.12"
    assert [" ".join(line.split()) for line in lines if line.startswith("3.")] == [
        "3.11.7 plain 1 0 0 0",
        "3.11.7 installed 1 0 0 0",
        f"3.12.1 plain 0 1 0 0 {said}/plain.txt",
        f"3.12.1 installed 0 1 0 0 {said}/installed.txt",
        "3.13.0 pip finds no wheel of wrapt==9 for it",
        "3.14 not found; pyenv install 3.14 gets it",
    ]


def test_the_oldest_and_the_newest_of_those_that_are_there(
    fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    for minor in (11, 12, 13):
        fake(f"python3.{minor}", f"3, {minor}, 0")
    assert main(["--oldest-and-newest"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in shown if line[:2] == "3."} == {"3.11.0", "3.13.0", "3.14"}


def test_others_than_the_one_that_plays_the_rest(
    fake: Fake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pythons, "running", lambda: "3.11")
    fake("python3.11", "3, 11, 7")
    # Nothing else is there, which is no fault.
    assert main(["--oldest-and-newest", "--others", "--brief"]) == 0
    assert "3.11.7" not in capsys.readouterr().out
    fake("python3.13", "3, 13, 0", code="1", outcome="<failure/>")
    assert main(["--oldest-and-newest", "--others", "--brief"]) == 1
    shown = capsys.readouterr().out
    assert "3.11.7" not in shown
    assert "3.13.0   plain" in shown


def test_nothing_was_played(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake("python3.11", "3, 11, 7")
    assert main(["--only", "3.14"]) == 1
    assert "3.14     not found; pyenv install 3.14 gets it" in capsys.readouterr().out


def test_an_environment_stays_until_a_lock_changes(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("one==1\n")
    monkeypatch.setattr(pythons, "LOCKS", (lock,))
    fake("python3.12")

    def installs() -> int:
        (tmp_path / "log").write_text("")
        assert main(["--only", "3.12"]) == 0
        return (tmp_path / "log").read_text().count("--require-hashes")

    assert [installs(), installs()] == [1, 0]
    lock.write_text("one==2\n")
    assert [installs(), installs()] == [1, 0]


def test_what_was_compiled_is_tested(fake: Fake, tmp_path: Path) -> None:
    fake("python3.12")
    (one,) = interpreters.find(interpreters.candidates()).values()
    pythons.prepare(one)
    library = one.home / "venv/lib/python3.12/site-packages/trimq/codec/frame.so"
    library.parent.mkdir(parents=True)
    library.touch()

    def copy(tree: Path) -> None:
        (tree / "tests" / "codec").mkdir(parents=True)
        (tree / "trimq" / "codec").mkdir(parents=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pythons, "copy_checkout", copy)
        assert pythons.install(one) == ["tests/codec", *pythons.BESIDE]
    assert (one.home / "tree" / "trimq" / "codec" / "frame.so").is_file()


def test_a_wheel_of_a_folder_is_installed_instead(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake("python3.12")
    folder = tmp_path / "dist"
    folder.mkdir()
    assert main(["--only", "3.12", "--wheels", str(folder)]) == 1
    name = f"cp312-{platform.machine()}"
    assert f"has no wheel for it: make wheels ONLY={name}" in capsys.readouterr().out
    for tags in ("py3-none-any", f"cp312-cp312-manylinux2014_{platform.machine()}"):
        (folder / f"trimq-1-{tags}.whl").touch()
    assert main(["--only", "3.12", "--wheels", str(folder)]) == 0
    (asked,) = [line for line in (tmp_path / "log").read_text().splitlines() if ".whl" in line]
    assert f"--no-index {folder}/trimq-1-cp312" in asked


def test_only_what_is_installed_is_played(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake("python3.12")
    assert main(["--only", "3.12", "--installed"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line[:2] == "3."]
    assert [line[:2] for line in lines] == [["3.12.1", "installed"]]


def test_what_pip_says_becomes_one_line() -> None:
    assert reason(NO_WHEEL) == "pip finds no wheel of wrapt==9 for it"
    assert reason("Collecting\nERROR: no space\n") == "no space"
    assert reason("") == "pip failed, and gave no error"


def test_the_columns_stand_below_their_names() -> None:
    tests = report.Tests(passed=1234)
    head, line = table([Row("3.11.7", "plain", tests, 61.4)]).splitlines()[1:]
    assert [head.index("passed") + 6, head.index("seconds") + 7] == [
        line.index("1234") + 4,
        line.index("61") + 2,
    ]


def test_the_folders_of_tests_that_it_names_exist() -> None:
    assert all((interpreters.ROOT / name).exists() for name in (*pythons.BESIDE, pythons.PLUGIN))

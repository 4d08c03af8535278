"""Which modules are compiled: all that setup.py names, or none; and what is said where none is."""

import ast
import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from click.testing import CliRunner

import trimq
from trimq import compiled
from trimq.cli import main

ROOT = Path(__file__).parents[2]


def hot_modules() -> list[str]:
    tree = ast.parse((ROOT / "setup.py").read_text())
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == "HOT":
            assert isinstance(statement.value, ast.Constant)
            return str(statement.value.value).split()
    raise AssertionError("setup.py names no hot modules")


def locked(name: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return {line for line in lines if not line.startswith("#")}


def test_all_hot_modules_are_of_one_kind() -> None:
    for name in hot_modules():
        assert (ROOT / f"{name}.py").exists()
        file = importlib.import_module(name.replace("/", ".")).__file__
        assert file is not None
        assert file.endswith(".py") != compiled.IS_COMPILED, file


def test_the_version_says_what_runs() -> None:
    done = CliRunner().invoke(main, ["--version"])
    assert done.output == f"TriMQ {trimq.__version__} ({compiled.MODE})\n"


def test_the_build_is_made_with_what_the_tests_were_run_with() -> None:
    """What compiles an installation compiles the tree that is tested, to the same machine code."""
    tested = locked("runtime") | locked("test")
    assert locked("build") <= tested
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert set(build["requires"]) <= tested


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """building/compiling.py as the build imports it, on a machine that has what it takes."""
    monkeypatch.syspath_prepend(ROOT / "building")
    monkeypatch.delenv("TRIMQ_COMPILE", raising=False)
    module = importlib.import_module("compiling")
    monkeypatch.setattr(module, "_compiles", lambda _: True)
    yield module
    del sys.modules["compiling"]


def test_what_is_missing_for_compiling_is_named(
    compiling: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiling.obstacle() is None
    monkeypatch.setattr(compiling, "_compiles", lambda source: "Python.h" not in source)
    assert compiling.obstacle() == compiling.NO_HEADERS
    monkeypatch.setattr(compiling, "_compiles", lambda _: False)
    assert compiling.obstacle() == compiling.NO_COMPILER
    monkeypatch.setattr(compiling, "WISH", "0")
    assert compiling.obstacle() == "TRIMQ_COMPILE=0 was set"


@pytest.mark.parametrize("raised", [SystemExit(1), SystemExit(2), AssertionError("in mypyc")])
def test_mypyc_may_fail_in_any_way(
    compiling: ModuleType, monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    def mypycify(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setitem(sys.modules, "mypyc.build", SimpleNamespace(mypycify=mypycify))
    with pytest.raises(compiling.CannotCompile, match="mypyc failed"):
        compiling.extensions(["codec/frame"], "mypyc.ini", "nowhere")


def test_mypy_need_not_be_there(compiling: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mypyc.build", None)
    with pytest.raises(compiling.CannotCompile, match="mypy is not installed"):
        compiling.extensions(["codec/frame"], "mypyc.ini", "nowhere")


def test_a_reason_is_an_error_where_compiling_is_demanded(
    compiling: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reasons = compiling.Reasons()
    reasons.give("no luck")
    (tmp_path / "trimq").mkdir()
    reasons.write(str(tmp_path))
    assert (tmp_path / "trimq" / "plain.txt").read_text() == "no luck\n"
    monkeypatch.setattr(compiling, "WISH", "1")
    with pytest.raises(SystemExit, match="no luck"):
        reasons.give("no luck")


def test_the_log_says_why_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiled, "IS_COMPILED", False)
    monkeypatch.setattr(compiled, "MODE", "pure Python")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    assert "'pip install .' compiles" in compiled.description()
    (tmp_path / "plain.txt").write_text("no luck\n")
    assert compiled.description() == "pure Python (no luck)"


def test_an_editable_installation_is_found_beside_a_checkout_of_that_name(tmp_path: Path) -> None:
    """The working directory comes first, and has a folder `trimq` that is not the package."""
    (tmp_path / "trimq").symlink_to(ROOT)
    code = "from trimq.admin import NewMessage; print(NewMessage.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "trimq.admin.sending\n"), done.stderr

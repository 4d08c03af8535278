"""Which modules are compiled: all that setup.py names, or none; and what is said where none is."""

import ast
import importlib
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from click.testing import CliRunner

import trimq
from trimq import compiled
from trimq.commands.cli import main

ROOT = Path(__file__).parents[2]


def locked(name: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    pins = [line.split()[0] for line in lines if not line.startswith(("#", " "))]
    return {pin.lower().replace("_", "-") for pin in pins}


def test_all_hot_modules_are_of_one_kind(compiling: ModuleType) -> None:
    names = compiling.hot_modules(ROOT)
    assert len(names) > 40
    for name in names:
        file = importlib.import_module(name.replace("/", ".")).__file__
        assert file is not None
        assert file.endswith(".py") != compiled.IS_COMPILED, file


def test_the_version_says_what_runs() -> None:
    done = CliRunner().invoke(main, ["--version"])
    assert done.output == f"TriMQ {trimq.__version__} ({compiled.MODE})\n"


def test_the_version_of_a_plain_installation_says_why_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiled, "IS_COMPILED", False)
    monkeypatch.setattr(compiled, "MODE", "pure Python")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    (tmp_path / "plain.txt").write_text("no luck: try again\n")
    done = CliRunner().invoke(main, ["--version"])
    assert done.stdout == f"TriMQ {trimq.__version__} (pure Python)\n"
    assert done.stderr == "pure Python: no luck: try again\n"


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
    # A release says how to get the other wheel.
    monkeypatch.setenv("TRIMQ_PLAIN", "this one is for all")
    assert compiling.obstacle() == "this one is for all"


@pytest.mark.parametrize("raised", [SystemExit(1), SystemExit(2), AssertionError("in mypyc")])
def test_mypyc_may_fail_in_any_way(
    compiling: ModuleType, monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    def mypycify(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setitem(sys.modules, "mypyc.build", SimpleNamespace(mypycify=mypycify))
    with pytest.raises(compiling.CannotCompile, match="mypyc failed"):
        compiling.extensions(["trimq/codec/frames/frame"], "mypyc.ini", "nowhere")


def test_mypy_need_not_be_there(compiling: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mypyc.build", None)
    with pytest.raises(compiling.CannotCompile, match="mypy is not installed"):
        compiling.extensions(["trimq/codec/frames/frame"], "mypyc.ini", "nowhere")


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
    assert (done.returncode, done.stdout) == (0, "trimq.admin.messages.sending\n"), done.stderr


@pytest.mark.parametrize("path", sorted(ROOT.glob("*/*/_*.c")), ids=lambda path: path.stem)
def test_our_own_c_compiles_without_a_warning(path: Path) -> None:
    compiler = shutil.which("cc")
    headers = Path(sysconfig.get_paths()["include"])
    if compiler is None or not (headers / "Python.h").exists():
        pytest.skip("there is no C compiler, or Python's header files are missing")
    command = [compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{headers}"]
    command += [f"-I{ROOT / 'codec' / 'native'}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_c_file_is_short_and_has_its_types(compiling: ModuleType) -> None:
    sources = sorted(ROOT.glob("*/*/_*.c"))
    assert len(sources) == 14
    for path in sources:
        assert len(path.read_text().splitlines()) < 400, path
        assert path.with_suffix(".pyi").exists(), path
    built = {f"{folder}/{path.name}" for folder in compiling.NATIVE for path in sources}
    assert {f"trimq/{path.relative_to(ROOT)}" for path in sources} <= built


def test_what_says_that_it_is_compiled_is_compiled(compiling: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "trimq").mkdir()
    (tmp_path / "trimq" / "store").symlink_to("../real")
    mark = compiling.MARK
    (tmp_path / "real" / "hot.py").write_text(f'"""Fast.\n\n{mark}\n"""\n')
    (tmp_path / "real" / "cold.py").write_text(f'"""Says: {mark}"""\nTEXT = """\n{mark}\n"""\n')
    assert compiling.hot_modules(tmp_path) == ["trimq/store/hot"]
    said = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for layer in sorted(ROOT.glob("*/"))
        if layer.name in ("trimq", *(link.name for link in (ROOT / "trimq").iterdir()))
        for path in layer.rglob("*.py")
        if "compiled by mypyc" in (ast.get_docstring(ast.parse(path.read_text())) or "")
    }
    names = {name.removeprefix("trimq/") for name in compiling.hot_modules(ROOT)}
    assert {name.removeprefix("trimq/") for name in said} == names

"""`build/compiled`: what is compiled stays while its sources are the same, and everything else is as it is now."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bench.servers.subjects import compiled_for_tests

ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(ROOT / "building")
    yield importlib.import_module("tree")
    for name in ("tree", "serving"):
        del sys.modules[name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small checkout: a package behind a link, a test, and what is not a source."""
    root = tmp_path / "checkout"
    for name in ("codec", "tests", "build", ".git", "trimq"):
        (root / name).mkdir(parents=True)
        (root / name / "file.py").write_text(name)
    (root / "trimq" / "codec").symlink_to("../codec")
    return root


def files(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}


def test_what_is_compiled_stays_while_it_is_of_these_sources(made: ModuleType, root: Path) -> None:
    tree = root / "build" / "compiled"
    sources = {"codec/file.py", "tests/file.py", "trimq/file.py"}
    assert made.refresh(root, tree, ["one"])
    assert files(tree) == sources
    assert (tree / "trimq/codec").is_symlink()
    compiled = tree / "codec" / "file.so"
    compiled.write_text("compiled")
    (tree / made.MARK).write_text("one")
    # A test that has changed, one that has gone, and what stands in a checkout from another compilation.
    (root / "tests/file.py").rename(root / "tests/other.py")
    (root / "codec/stale.so").write_text("of another tree")
    assert not made.refresh(root, tree, ["one"])
    assert files(tree) == sources - {"tests/file.py"} | {
        "tests/other.py",
        "codec/file.so",
        made.MARK,
    }
    assert compiled.read_text() == "compiled"
    # Nothing is touched that is as it should be: a server may run there.
    before = {name: (tree / name).lstat() for name in files(tree)}
    assert not made.refresh(root, tree, ["one"])
    assert {name: (tree / name).lstat() for name in files(tree)} == before
    # Other sources: nothing stays.
    assert made.refresh(root, tree, ["two"])
    assert not compiled.exists()
    assert not (tree / made.MARK).exists()


def test_an_interrupted_compilation_is_begun_anew(made: ModuleType, root: Path) -> None:
    tree = root / "build" / "compiled"
    assert made.refresh(root, tree, ["one"])
    (tree / "codec" / "half.so").write_text("")
    assert made.refresh(root, tree, ["one"])
    assert not (tree / "codec" / "half.so").exists()


def test_tests_take_what_is_there_at_its_best_and_else_what_comes_soon(made: ModuleType) -> None:
    (full,) = made.keys(False, {})
    assert full.split()[1:] == ["-O3", *made.obstacle().split()]
    quick, *others = made.keys(True, {})
    assert "-O0" in quick
    assert others == [full]
    # Who wishes for something gets that.
    assert made.keys(False, {made.LEVEL: "2"}) == [full.replace("-O3", "-O2")]
    assert made.keys(True, {made.LEVEL: "3"}) == [full]


def test_no_benchmark_takes_what_was_made_for_tests(made: ModuleType, root: Path) -> None:
    compiled = root / "build" / "compiled"
    compiled.mkdir()
    assert not compiled_for_tests(compiled)
    (full,), (quick, _) = made.keys(False, {}), made.keys(True, {})
    (compiled / made.MARK).write_text(full)
    assert not compiled_for_tests(compiled)
    (compiled / made.MARK).write_text(quick)
    assert compiled_for_tests(compiled)

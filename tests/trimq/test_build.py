"""Which modules are compiled: all that setup.py names, or none."""

import ast
import importlib
from pathlib import Path

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


def test_all_hot_modules_are_of_one_kind() -> None:
    for name in hot_modules():
        assert (ROOT / f"{name}.py").exists()
        file = importlib.import_module(name.replace("/", ".")).__file__
        assert file is not None
        assert file.endswith(".py") != compiled.IS_COMPILED, file


def test_the_version_says_what_runs() -> None:
    done = CliRunner().invoke(main, ["--version"])
    assert done.output == f"TriMQ {trimq.__version__} ({compiled.MODE})\n"

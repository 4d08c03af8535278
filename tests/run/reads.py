"""What the tests of a part are made of: their files, all that these import, and the names that stand in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from tests.run.part import ROOT, Part

TESTS: Final = "compat_tests"
# They know all of the product. Who imports one of them runs a server or a command, as every part does.
HUBS: Final = (
    "trimq/__main__.py",
    "trimq/commands/",
    "trimq/pytest_plugin.py",
    "trimq/serving/",
    "trimq/supervising/",
    "trimq/testing.py",
    "trimq/wiring/",
)
# A statement that imports, at any depth, with its names in parentheses; or a line of prose that begins like one.
IMPORT: Final = re.compile(rb"^[ \t]*(?:from|import)[ \t][^\n(]*(?:\([^)]*\))?", re.MULTILINE)


@dataclass(frozen=True)
class Reads:
    """Of one part; paths as git says them."""

    # Its own test files.
    own: frozenset[str]
    # These, and what they import or start, and so on.
    files: frozenset[str]
    # The texts in them, such as names of pages and of folders.
    texts: frozenset[str]
    # The texts in those that play a subject of the drivers (compat_tests/scenarios/subjects).
    subjects: frozenset[str]


@dataclass(frozen=True)
class Source:
    """One Python file."""

    imports: frozenset[str]
    texts: frozenset[str]


def of(part: Part) -> Reads:
    return _of(tuple(part.words))


@cache
def _of(words: tuple[str, ...]) -> Reads:
    part = Part("", words)
    own = own_tests(part)
    files = _with_imports([*own, *_beside(own)])
    tests = [file for file in files if not _is_product(file)]
    playing = [file for file in tests if _plays_subjects(file)]
    return Reads(own, files, _texts_of(tests), _texts_of(playing))


def own_tests(part: Part) -> frozenset[str]:
    """The test files that pytest finds for it in compat_tests; none for a part of another kind."""
    return frozenset(file for file in all_tests(part) if file.startswith(f"{TESTS}/"))


def all_tests(part: Part) -> set[str]:
    """The test files that pytest finds for it, in any folder."""
    left_out = [word.partition("=")[2] for word in part.words if word.startswith("--ignore=")]
    found = set[str]()
    for name in part.files:
        path = ROOT / name
        files = [path] if path.is_file() else path.rglob("test_*.py")
        found |= {file.relative_to(ROOT).as_posix() for file in files}
    return {file for file in found if not file.startswith(tuple(left_out))}


def _beside(own: Iterable[str]) -> Iterator[str]:
    """What pytest loads for them: each conftest.py above."""
    folders = {folder for file in own for folder in PurePosixPath(file).parents}
    for folder in sorted(folders):
        if (ROOT / folder / "conftest.py").is_file():
            yield f"{folder}/conftest.py"


def _with_imports(files: Iterable[str]) -> frozenset[str]:
    found = set[str]()
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            if not file.startswith(HUBS):
                waiting += source(file).imports
    return frozenset(found)


@cache
def source(file: str) -> Source:
    """Imports within functions count, and those for the type checker; texts are of tests only."""
    try:
        tree = _parsed((ROOT / file).read_bytes(), whole=not _is_product(file))
    except (SyntaxError, ValueError):
        # Whoever has changed it so has its parts played for that, and they tell.
        return Source(frozenset(), frozenset())
    found = {path for module in _imported(tree) for path in _files_of(module)}
    if _is_product(file):
        return Source(frozenset(found), frozenset())
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = frozenset(value for value in constants if isinstance(value, str))
    if file.startswith(f"{TESTS}/"):
        found |= {path for text in texts for path in _started(text)}
    return Source(frozenset(found), texts)


def _parsed(data: bytes, *, whole: bool) -> ast.Module:
    """All of a file; or what looks like its imports, which takes a tenth of the time, if they can be parsed alone."""
    if not whole:
        with suppress(SyntaxError):
            return ast.parse(b"\n".join(line.lstrip() for line in IMPORT.findall(data)))
    return ast.parse(data)


def _imported(tree: ast.Module) -> set[str]:
    """Names of modules, and what could be one: the names that a package is asked for."""
    modules = set[str]()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        # No expression imports, and most of a file is in them.
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, ())
            waiting += inner if isinstance(inner, list) else ()
    return modules


def _started(text: str) -> Iterable[str]:
    """Scripts that a test starts by their module or their file's name."""
    if text.startswith(f"{TESTS}."):
        return _files_of(text)
    return _scripts().get(text, ())


@cache
def _scripts() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in (ROOT / TESTS).rglob("*.py"):
        if path.name not in ("__init__.py", "conftest.py"):
            found.setdefault(path.name, []).append(path.relative_to(ROOT).as_posix())
    return found


@cache
def _files_of(module: str) -> tuple[str, ...]:
    """The module's file, and those of the packages that it lies in; none if it is not ours."""
    if not module.isascii() or not all(name.isidentifier() for name in module.split(".")):
        return ()
    first, _, _ = module.partition(".")
    if not (ROOT / first).is_dir() and not (ROOT / f"{first}.py").is_file():
        return ()
    above, _, _ = module.rpartition(".")
    packages = _files_of(above) if above else ()
    path = ROOT.joinpath(*module.split("."))
    for found in (path / "__init__.py", path.with_suffix(".py")):
        if found.is_file():
            # `trimq/store` and so on are links.
            return (*packages, found.resolve().relative_to(ROOT).as_posix())
    return packages


def _is_product(file: str) -> bool:
    return not file.startswith((f"{TESTS}/", "tests/", "docs/", "bench/"))


def _plays_subjects(file: str) -> bool:
    drivers = f"{TESTS}/scenarios/subject_drivers.py"
    return file == drivers or drivers in source(file).imports


def _texts_of(files: Iterable[str]) -> frozenset[str]:
    return frozenset(text for file in files for text in source(file).texts)


def folder_of(file: str) -> str:
    """The folder of compat_tests that a file belongs to, with all that is below."""
    return "/".join(file.split("/")[:2])

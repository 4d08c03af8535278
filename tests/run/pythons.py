"""The tests on each Python that TriMQ supports: ``make pythons``, or ``python -m tests.run.pythons --only 3.12``.

CPython 3.11 to 3.14 is looked for as ``python3.X`` on the PATH, and among pyenv's. Each one that is there gets an
environment below `build/pythons`, which stays until a lock file or the interpreter changes. It plays the unit tests on
the source tree, and then on TriMQ as ``pip install .`` makes it: the tests of what was compiled, and those of the
pytest plugin.

The exit code is 1 if a test failed, a package cannot be installed, or no Python was there. One that is not there only
has its line in the table.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.installs.installs import copy_checkout
from tests.run import report
from tests.run.interpreters import VERSIONS, Interpreter, candidates, find
from tests.run.part import ROOT
from tests.run.table import PROCESSES

LOCKS: Final = tuple(ROOT / "requirements" / name for name in ("runtime.txt", "test.txt"))
UNIT: Final = ("tests/",)
PLUGIN: Final = "tests/trimq/test_testing.py"
# Of compiled modules too, though not in folders of their names.
BESIDE: Final = ("tests/native", "tests/popping")


class CannotInstall(Exception):
    """The text is one line: what is missing."""


@dataclass(frozen=True)
class Row:
    """A line of the table; what was not played has no build."""

    python: str
    build: str = ""
    tests: report.Tests | None = None
    seconds: float = 0
    failed: bool = False
    note: str = ""


def prepare(one: Interpreter) -> None:
    """Its environment, with what the tests need. CannotInstall."""
    text = b"".join(lock.read_bytes() for lock in LOCKS) + f"{one.path} {one.release}".encode()
    key, stamp = hashlib.sha256(text).hexdigest(), one.home / "made"
    if stamp.is_file() and stamp.read_text() == key:
        return
    shutil.rmtree(one.home, ignore_errors=True)
    one.home.mkdir(parents=True)
    made = _run(one, [str(one.path), "-m", "venv", str(one.home / "venv")], "venv")
    if made.returncode:
        raise CannotInstall("it makes no environment: its module venv or ensurepip is missing")
    locked = [word for lock in LOCKS for word in ("-r", str(lock))]
    _pip(one, "--only-binary=:all:", "--require-hashes", *locked)
    stamp.write_text(key)


def install(one: Interpreter, wheels: Path | None = None) -> list[str]:
    """`pip install .`, by way of a copy, which then has what was compiled, too; which folders of tests see that.

    `wheels`: the wheel for it that lies there is installed instead. CannotInstall.
    """
    tree = one.home / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    copy_checkout(tree)
    # Without optimisation, unless somebody wants it: that takes a third.
    level = os.environ.get("MYPYC_OPT_LEVEL", "0")
    what = [str(tree)] if wheels is None else ["--no-index", str(wheel_for(one, wheels))]
    _pip(one, "--no-deps", "--force-reinstall", *what, MYPYC_OPT_LEVEL=level)
    libraries = sorted((one.home / "venv").glob("lib/python3.*/site-packages/trimq/**/*.so"))
    folders: set[str] = set()
    for library in libraries:
        inside = library.relative_to(next(p for p in library.parents if p.name == "site-packages"))
        shutil.copy2(library, tree / inside)
        folders.add(f"tests/{inside.parts[1]}")
    tests = sorted(name for name in folders if (tree / name).is_dir())
    return [*tests, *BESIDE] if tests else []


def wheel_for(one: Interpreter, wheels: Path) -> Path:
    """The compiled one. CannotInstall."""
    tag = f"cp{one.version.replace('.', '')}"
    found = sorted(wheels.glob(f"trimq-*-{tag}-{tag}-*_{platform.machine()}.whl"))
    if not found:
        name = f"{tag}-{platform.machine()}"
        raise CannotInstall(f"{wheels} has no wheel for it: make wheels ONLY={name}")
    return found[-1].resolve()


def _pip(one: Interpreter, *words: str, **also: str) -> None:
    pip = [str(one.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = _run(one, [*pip, *words], "pip", **also)
    if done.returncode:
        raise CannotInstall(reason((one.home / "pip.txt").read_text()))


def reason(said: str) -> str:
    """Which wheel there is not, or else the last error of pip's."""
    missing = re.search(r"No matching distribution found for (\S+)", said)
    if missing is not None:
        return f"pip finds no wheel of {missing[1]} for it"
    lines = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    return lines[-1].removeprefix("ERROR: ") if lines else "pip failed, and gave no error"


def _run(
    one: Interpreter, command: Sequence[str], name: str, cwd: Path = ROOT, **also: str
) -> subprocess.CompletedProcess[bytes]:
    """What it prints goes to NAME.txt. Nothing that is set here decides what it imports."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"PYTHONPYCACHEPREFIX": str(ROOT / "build" / "byte-code"), **also}
    with (one.home / f"{name}.txt").open("wb") as sink:
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )


def play(
    one: Interpreter, build: str, tests: Sequence[str], cwd: Path, also: Mapping[str, str]
) -> Row:
    print(f"begins: {one.name}, {build}", flush=True)
    xml, began = one.home / f"{build}.xml", time.monotonic()
    xml.unlink(missing_ok=True)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={xml}", *tests)
    code = _run(one, [str(one.python), *words], build, cwd, **also).returncode
    seconds = time.monotonic() - began
    found = report.tests_of(report.Outcome(build, code, seconds, 0, xml))
    note = f"exit code {code}: {one.home / build}.txt" if code else ""
    return Row(one.name, build, found, seconds, bool(code), note)


def rows_of(
    one: Interpreter,
    unit: Sequence[str],
    chosen: Sequence[str],
    wheels: Path | None = None,
    sources: bool = True,
) -> Iterator[Row]:
    """The source tree, if `sources`, then what was installed; `chosen` takes the place of what is played otherwise."""
    try:
        prepare(one)
        installed = install(one, wheels)
    except CannotInstall as error:
        yield Row(one.name, failed=True, note=str(error))
        return
    if sources:
        # What a test starts elsewhere has the source tree too, by its path.
        yield play(one, "plain", chosen or unit, ROOT, {"PYTHONPATH": str(ROOT)})
    build = "compiled" if installed else "installed"
    yield play(one, build, chosen or [*installed, PLUGIN], one.home / "tree", {})


def table(rows: Iterable[Row]) -> str:
    lines = [
        "",
        f"{'Python':<8} {'build':<10}{'passed':>8}{'failed':>8}{'skipped':>8}{'seconds':>8}",
    ]
    for row in rows:
        if row.tests is None:
            lines.append(f"{row.python:<8} {row.note}")
            continue
        counts = (row.tests.passed, row.tests.failed, row.tests.skipped.total())
        numbers = "".join(f"{count:>8}" for count in (*counts, round(row.seconds)))
        lines.append(f"{row.python:<8} {row.build:<10}{numbers}  {row.note}".rstrip())
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run.pythons")
    parser.add_argument("--only", nargs="+", choices=VERSIONS, metavar="3.X", default=VERSIONS)
    parser.add_argument(
        "--oldest-and-newest", action="store_true", help="of those that are there, the two"
    )
    parser.add_argument(
        "--others", action="store_true", help="but for the version that this runs on"
    )
    parser.add_argument(
        "--brief", action="store_true", help="without the tests that start processes"
    )
    parser.add_argument("--tests", nargs="+", metavar="PATH", default=[], help="only these")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="install wheels of this folder")
    parser.add_argument(
        "--installed", action="store_true", help="not on the source tree, only on what is installed"
    )
    options = parser.parse_args(words)
    found = find(candidates())
    there = [version for version in options.only if version in found]
    if options.oldest_and_newest:
        there = [version for version in there if version in (there[0], there[-1])]
    if options.others:
        there = [version for version in there if version != running()]
    unit = [*UNIT, *(f"--ignore={path}" for path in PROCESSES if options.brief)]
    rows: list[Row] = []
    for version in options.only:
        if version in there:
            rows += rows_of(
                found[version], unit, options.tests, options.wheels, not options.installed
            )
        elif version not in found:
            rows.append(Row(version, note=f"not found; pyenv install {version} gets it"))
    print(table(rows))
    return int(not (there or options.others) or any(row.failed for row in rows))


def running() -> str:
    """The version of this interpreter, whose tests whoever starts this has played."""
    return "{}.{}".format(*sys.version_info)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

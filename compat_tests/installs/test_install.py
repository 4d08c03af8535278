"""TriMQ installed into empty environments, in the ways that README and docs name: it sends and receives.

The environments are made side by side, and one of them compiles.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import trimq
from compat_tests.installs.installs import (
    ROOT,
    Installation,
    PipFailed,
    build_sdist,
    build_wheel,
    copy_checkout,
    headerless_compiler,
    run_python,
)
from compat_tests.servers.artifacts import pins
from compat_tests.spark.stages import foreign

# What the foreign project's tests need.
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


class Made:
    """Everything that takes long, each of it once and as soon as what it needs is there."""

    def __init__(self, folder: Path, threads: ThreadPoolExecutor) -> None:
        self.folder = folder
        # A build writes its list of sources into the checkout: no two of them share one.
        self.checkouts = [copy_checkout(folder / f"checkout-{number}") for number in range(3)]
        self._compiled = threads.submit(self._compile)
        self._sdist = threads.submit(self._build_sdist)
        self._wheel = threads.submit(self._build_wheel)
        self._plain = threads.submit(self._install_wheel)
        self._headerless = threads.submit(self._without_headers)

    def _new(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir()
        return made

    def _compile(self) -> Installation:
        made = Installation.empty(self.folder / "compiled")
        made.pip_install("--no-compile", f"{self.checkouts[0]}[spark]")
        return made

    def _build_sdist(self) -> Path:
        return build_sdist(self.checkouts[1], self._new("sdist"))

    def _build_wheel(self) -> Path:
        return build_wheel(self.sdist, self._new("wheel"), CC="false")

    def _install_wheel(self) -> Installation:
        made = Installation.empty(self.folder / "plain")
        wanted = [pin for pin in pins("test.txt") if pin.partition("==")[0] in PYTEST]
        made.pip_install(self.wheel, *wanted)
        return made

    def _without_headers(self) -> Installation:
        overlay = self._new("headerless")
        compiler = headerless_compiler(self.folder)
        words = ("--no-deps", "--target", overlay)
        self.plain.pip_install(*words, self.checkouts[2], CC=str(compiler))
        return Installation(self.plain.home, overlay)

    @property
    def compiled(self) -> Installation:
        """By `pip install '.[spark]'`."""
        return self._compiled.result()

    @property
    def sdist(self) -> Path:
        return self._sdist.result()

    @property
    def wheel(self) -> Path:
        """From the sdist, without a compiler."""
        return self._wheel.result()

    @property
    def plain(self) -> Installation:
        """From that wheel, with pytest."""
        return self._plain.result()

    @property
    def headerless(self) -> Installation:
        """By `pip install .` with a compiler that finds no headers."""
        return self._headerless.result()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with ThreadPoolExecutor(3) as threads:
        yield Made(tmp_path_factory.mktemp("installs"), threads)


def test_the_source_archive_is_complete(made: Made) -> None:
    with tarfile.open(made.sdist) as archive:
        members = archive.getmembers()
    assert not [one.name for one in members if one.issym() or one.islnk()]
    names = {one.name.partition("/")[2] for one in members}
    needed = {path.relative_to(ROOT).as_posix() for path in _sources()}
    needed |= {*FORMATS, "setup.py", "pyproject.toml", "mypyc.ini", "LICENSE", "README.md"}
    needed |= {"building/backend.py", "building/compiling.py", "requirements/build.txt"}
    assert needed <= names
    assert {name.partition("/")[0] for name in names if "/" in name} <= {
        *("building", "requirements", "trimq", "trimq.egg-info")
    }


def _sources() -> Iterator[Path]:
    """Every source file, below `trimq`."""
    packages = [ROOT / "trimq", *(path for path in (ROOT / "trimq").iterdir() if path.is_dir())]
    for package in packages:
        for kind in ("*.py", "*.c", "*.pyi", "py.typed"):
            yield from package.rglob(kind)


# What Spark looks for at the top.
FORMATS = {path.name for path in ROOT.glob("pyspark_*.py")}
INFO = f"trimq-{trimq.__version__}.dist-info"


def _modules() -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in _sources() if path.suffix == ".py"}


def test_a_wheel_has_trimq_and_the_names_that_spark_looks_for(made: Made) -> None:
    with zipfile.ZipFile(made.wheel) as wheel:
        names = wheel.namelist()
    assert {name.partition("/")[0] for name in names} == {"trimq", INFO, *FORMATS}
    assert _modules() <= set(names)
    assert not [name for name in names if name.endswith((".c", ".so"))]


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler: apt-get install gcc python3-dev")
def test_pip_install_of_a_checkout_with_spark(made: Made) -> None:
    assert made.compiled.version() == f"TriMQ {trimq.__version__} (compiled)\n"
    done = made.compiled.round_trip("trimq.spark.source")
    assert done["build"] == "compiled"
    assert all(done["loaded"].values())
    # Compiled modules have a library in common, which mypyc would put beside `trimq`.
    (record,) = made.compiled.home.glob(f"lib/python*/site-packages/{INFO}/RECORD")
    names = [line.partition(",")[0] for line in record.read_text().splitlines()]
    inside = {name for name in names if not name.startswith("../")}
    top = {name.partition("/")[0] for name in inside} - {"__pycache__"}
    assert top == {"trimq", INFO, *FORMATS}
    assert _modules() <= inside
    assert any(name.endswith(".so") for name in inside)


def test_a_build_leaves_nothing_in_the_checkout(made: Made) -> None:
    assert made.compiled
    checkout = made.checkouts[0]
    new = {path.name for path in checkout.iterdir()} - {path.name for path in ROOT.iterdir()}
    assert new <= {"trimq.egg-info"}
    assert not [*checkout.rglob("*.so")]


@pytest.mark.parametrize(
    ("which", "missing"),
    [
        (lambda made: made.plain, "no C compiler works here"),
        (lambda made: made.headerless, "Python's header files are missing"),
    ],
)
def test_whatever_is_missing_it_works_and_says_what(
    made: Made, which: Callable[[Made], Installation], missing: str
) -> None:
    installation = which(made)
    assert installation.version() == f"TriMQ {trimq.__version__} (pure Python)\n"
    said: str = installation.round_trip()["build"]
    assert said.startswith(f"pure Python ({missing}")
    assert "\n" not in said


def test_a_demand_to_compile_fails_with_what_is_missing(made: Made, tmp_path: Path) -> None:
    with pytest.raises(PipFailed, match="trimq: no C compiler works here"):
        build_wheel(made.sdist, tmp_path, CC="false", TRIMQ_COMPILE="1")


def test_a_compiler_that_fails_late_leaves_a_plain_build(made: Made, tmp_path: Path) -> None:
    """It has compiled the probes. The types are not looked at again: one broken C file will do."""
    (tmp_path / "broken.c").write_text("#error broken\n")
    (tmp_path / "trimq").mkdir()
    (tmp_path / "trimq" / "__init__.py").touch()
    (tmp_path / "setup.py").write_text(
        "import sys; sys.path.insert(0, sys.argv.pop())\n"
        "import compiling\n"
        "from setuptools import Extension, setup\n"
        "reasons = compiling.Reasons()\n"
        "setup(name='trimq', packages=['trimq'], cmdclass=compiling.commands(reasons),\n"
        "      ext_modules=[Extension('trimq._broken', ['broken.c'])])\n"
    )
    run_python("setup.py", "--quiet", "bdist_wheel", ROOT / "building", cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as built:
        assert not [name for name in built.namelist() if name.endswith(".so")]
        assert b"the C compiler failed" in built.read("trimq/plain.txt")


# What holds for TriMQ's plugin when nothing has asked for a fixture yet.
CONFTEST = """
import sys

def pytest_configure():
    loaded = {name for name in sys.modules if name.partition(".")[0] in ("trimq", "trio")}
    assert loaded == {"trimq", "trimq.pytest_plugin"}, loaded
"""
OWN_TEST = """
import importlib
import pytest

@pytest.mark.parametrize("name", NAMES)
def test_these_are_ours(name):
    assert importlib.import_module(name).OWNER == "somebody else"

def test_a_message(rocketmq_server):
    import store.disk.files
    from trimq.admin import BlockingAdminClient, NewMessage
    with BlockingAdminClient(rocketmq_server.namesrv_addr) as admin:
        sent = admin.send(NewMessage(topic="Foreign", body=b"x"))
        place = admin.place_of("Foreign", sent.queue.broker_name, sent.queue.queue_id)
        assert [one.body for one in admin.pull(place, 0).messages] == [b"x"]
    assert store.disk.files.OWNER == "somebody else"
"""


@pytest.mark.parametrize("start", [("bin/pytest",), ("-m", "pytest")])
@pytest.mark.parametrize("config", ["[pytest]\n", "[pytest]\npythonpath = .\n"])
def test_a_project_with_folders_of_the_same_names(
    made: Made, tmp_path: Path, start: tuple[str, ...], config: str
) -> None:
    project = foreign.write_folder(tmp_path / "project")
    names = foreign.names()
    (project / "conftest.py").write_text(CONFTEST)
    (project / "pytest.ini").write_text(config)
    (project / "test_own.py").write_text(f"NAMES = {names}\n{OWN_TEST}")
    words: list[Any] = [made.plain.home / start[0]] if len(start) == 1 else [*start]
    done = made.plain.run(*words, "-q", "-p", "no:cacheprovider", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(names) + 1} passed" in done.stdout

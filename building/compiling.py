"""Whether the hot modules can be compiled, and what is missing if not.

The environment variable TRIMQ_COMPILE decides: ``0`` never, ``1`` compile or fail, otherwise compile if
possible. MYPYC_OPT_LEVEL is the C compiler's -O, 3 unless it is set.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from lacking import NO_COMPILER, NO_HEADERS, VARIABLE
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

WISH: Final = os.environ.get(VARIABLE, "auto")
OPTIMISATION: Final = os.environ.get("MYPYC_OPT_LEVEL", "3")
# The one library that all compiled modules share; without a name from us mypyc puts it beside
# `trimq`.
SHARED: Final = "trimq._native"
# The line in the docstring of a module that is compiled: plain typed Python without construct, trio and click. A
# class whose base is compiled must be compiled too.
MARK: Final = "Hot: compiled by mypyc when a compiler is there."
# Our own C, docs/decisions/0003: packages, and in each every file whose name begins with an underscore is a module.
NATIVE: Final = ("trimq/codec/native", "trimq/codec/frames", "trimq/store/native")
WARNINGS: Final = ("-Wall", "-Wextra")
# What the reason is where TRIMQ_COMPILE=0 was set for a release.
PLAIN: Final = "TRIMQ_PLAIN"
# A plain installation records the reason here: pip shows nothing of a successful build.
REASON: Final = "trimq/plain.txt"
# setup.py also runs just to report a name and a version.
BUILDING: Final = frozenset(("bdist_wheel", "build", "build_ext", "install"))

NO_MYPY: Final = "mypy is not installed (pip install -r requirements/build.txt)"
NOT_CPYTHON: Final = "only CPython runs compiled modules"
FAILED: Final = "'TRIMQ_COMPILE=1 pip install -v .' shows how"


class CannotCompile(Exception):
    """The text says what is missing."""


def obstacle() -> str | None:
    """What is missing, if that is known."""
    if WISH == "0":
        return os.environ.get(PLAIN, "TRIMQ_COMPILE=0 was set")
    if sys.implementation.name != "cpython":
        return NOT_CPYTHON
    if not _compiles("int one;\n"):
        return NO_COMPILER
    if not _compiles("#include <Python.h>\n"):
        return NO_HEADERS
    return None


def _compiles(source: str) -> bool:
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler, get_python_inc

    folders = dict.fromkeys((get_python_inc(), get_python_inc(plat_specific=True)))
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.c"
        probe.write_text(source)
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.compile([str(probe)], output_dir=folder, include_dirs=list(folders))
        # distutils has no base class for everything that compilers, or their absence, raise.
        except Exception as error:
            print(f"trimq: {error}", file=sys.stderr)
            return False
    return True


def hot_modules(root: Path) -> list[str]:
    """The modules below `trimq` that say in their docstring that they are compiled, as paths without `.py`."""
    found: list[str] = []
    # The layers are links.
    for folder, _, names in os.walk(root / "trimq", followlinks=True):
        for name in names:
            path = Path(folder, name)
            if path.suffix == ".py" and _is_marked(path.read_text(encoding="utf-8")):
                found.append(path.relative_to(root).with_suffix("").as_posix())
    return sorted(found)


def _is_marked(source: str) -> bool:
    if MARK not in source:
        return False
    return MARK in (ast.get_docstring(ast.parse(source)) or "").splitlines()


def extensions(modules: list[str], config: str, folder: str) -> list[Extension]:
    """The compiled form of these modules; C files go to `folder`. CannotCompile."""
    missing = obstacle()
    if missing is not None:
        raise CannotCompile(missing)
    try:
        from mypyc.build import mypycify
    except ImportError:
        raise CannotCompile(NO_MYPY) from None
    options = ["--config-file", config, "--cache-dir", f"{folder}/mypy"]
    paths = [f"{module}.py" for module in modules]
    try:
        made: list[Extension] = mypycify(
            [*options, *paths],
            opt_level=OPTIMISATION,
            group_name=SHARED,
            target_dir=folder,
            # A file of C for each module: all cores compile, and a single one takes five times as long in all.
            multi_file=True,
        )
    # mypyc ends the process on errors in the types, and in itself.
    except (Exception, SystemExit) as error:
        raise CannotCompile(f"mypyc failed ({type(error).__name__} {error}): {FAILED}") from error
    for extension in made:
        # Modules call each other directly, and not by way of a table that another library could change.
        extension.extra_compile_args = [*extension.extra_compile_args, "-fvisibility=hidden"]
        extension.include_dirs.append(str(Path(folder, *SHARED.split(".")[:-1])))
    return [*made, *native()]


def on_all_cores(compile_some: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """A compiler's `compile`, which takes one source after the other, for several at a time."""

    def compile_all(sources: Iterable[str], *args: Any, **words: Any) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda source: compile_some([source], *args, **words), sources)
            return [name for names in made for name in names]

    return compile_all


def native() -> list[Extension]:
    """Our own C, to be built in the root of the tree."""
    headers = sorted(str(path) for folder in NATIVE for path in Path(folder).glob("*.h"))
    return [
        Extension(
            f"{folder.replace('/', '.')}.{path.stem}",
            [str(path)],
            include_dirs=[NATIVE[0]],
            depends=headers,
            extra_compile_args=[f"-O{OPTIMISATION}", *WARNINGS],
        )
        for folder in NATIVE
        for path in sorted(Path(folder).glob("_*.c"))
    ]


class Reasons:
    """Why the modules stay plain, if they do."""

    def __init__(self) -> None:
        self.text = ""

    def give(self, text: str) -> None:
        """TRIMQ_COMPILE=1 makes it an error."""
        if WISH == "1":
            raise SystemExit(f"trimq: {text}")
        print(f"trimq: stays plain Python: {text}", file=sys.stderr)
        self.text = text

    def write(self, folder: str) -> None:
        (Path(folder) / REASON).write_text(f"{self.text}\n")


def commands(reasons: Reasons) -> dict[str, type]:
    """setuptools' commands, which survive a compiler that fails."""

    class BuildPython(build_py):
        def run(self) -> None:
            super().run()
            if reasons.text and not self.editable_mode:
                reasons.write(self.build_lib)

    class BuildOptional(build_ext):
        def build_extensions(self) -> None:
            self.compiler.compile = on_all_cores(self.compiler.compile)
            super().build_extensions()

        def run(self) -> None:
            try:
                super().run()
            except Exception as error:
                reasons.give(f"the C compiler failed ({error}): {FAILED}")
                # All or nothing: the modules import each other's compiled form.
                for extension in self.extensions:
                    Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
                self.extensions = []
                if not self.inplace:
                    reasons.write(self.build_lib)

    return {"build_ext": BuildOptional, "build_py": BuildPython}

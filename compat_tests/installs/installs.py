"""Empty environments, and TriMQ installed into them in the ways that the documents name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat_tests.servers.artifacts import ROOT

# What is no source, or made by somebody else at the same moment.
_NO_SOURCE: Final = (
    *(".git", ".venv", ".editable", "build", "dist", "data", "target", "out", "*.egg-info"),
    *("__pycache__", ".*_cache", ".hypothesis"),
)
# As a user has it. Without optimisation a C compiler is three times as fast.
_PLAIN: Final = {name: text for name, text in os.environ.items() if name != "TRIMQ_COMPILE"}
ENVIRONMENT: Final = {**_PLAIN, "MYPYC_OPT_LEVEL": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
# A compiler for which Python's headers, or any others of -I, are not there.
_HEADERLESS: Final = """#!/bin/sh
for argument do
  shift
  case "$argument" in -I*) ;; *) set -- "$@" "$argument" ;; esac
done
exec cc "$@"
"""


class PipFailed(Exception):
    """The text is what it wrote."""


def copy_checkout(folder: Path) -> Path:
    """The sources as they are in a clone; the links stay links."""
    return Path(
        shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*_NO_SOURCE))
    )


def headerless_compiler(folder: Path) -> Path:
    path = folder / "cc-without-headers"
    path.write_text(_HEADERLESS)
    path.chmod(0o755)
    return path


def run_python(*words: object, cwd: Path, **environment: str) -> str:
    """Standard output."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PipFailed(done.stdout + done.stderr)
    return done.stdout


def build_sdist(checkout: Path, out: Path) -> Path:
    """What `python -m build --sdist` makes."""
    code = (
        "import sys; sys.path.insert(0, 'building')\n"
        "from backend import build_sdist; build_sdist(sys.argv[1])"
    )
    run_python("-c", code, out, cwd=checkout)
    (made,) = out.glob("*.tar.gz")
    return made


def build_wheel(source: Path, out: Path, **environment: str) -> Path:
    """As `pip install` makes it: in an environment of its own, with nothing but what is asked for."""
    words = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, source)
    run_python(*words, cwd=out, **environment)
    (made,) = out.glob("*.whl")
    return made


@dataclass(frozen=True)
class Installation:
    """An environment; `overlay` is a folder that takes precedence over its packages."""

    home: Path
    overlay: Path | None = None

    @classmethod
    def empty(cls, home: Path) -> Installation:
        venv.create(home, symlinks=True)
        return cls(home)

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    def pip_install(self, *words: object, **environment: str) -> None:
        """Nothing is installed there but what these words ask for. PipFailed."""
        pip = ("-m", "pip", "--python", self.python, "install", "--quiet")
        run_python(*pip, *words, cwd=self.home, **environment)

    def run(self, *words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = dict(_PLAIN)
        if self.overlay is not None:
            environment["PYTHONPATH"] = str(self.overlay)
        return subprocess.run(
            [str(self.python), *map(str, words)],
            cwd=cwd or self.home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def round_trip(self, *also: str) -> dict[str, Any]:
        """What round_trip.py says; it loads the modules `also`."""
        # Without -P its folder would be the first to be searched.
        done = self.run("-P", Path(__file__).with_name("round_trip.py"), *also)
        assert done.returncode == 0, done.stderr[-3000:]
        value: dict[str, Any] = json.loads(done.stdout)
        assert value["bodies"] == ["there and back"]
        return value

    def version(self) -> str:
        command = (self.overlay or self.home) / "bin" / "trimq"
        return self.run(command, "--version").stdout

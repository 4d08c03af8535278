"""Environments that wheels are built in: each has what a lock file names, and nothing else.

What compiles is installed for each interpreter; the compiler and what checks wheels only once.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from releasing import sources
from releasing.targets import CannotBuild

LOCK: Final = "requirements/wheels.txt"
# They decide what is compiled, and how: here we do.
_OURS: Final = re.compile(
    r"PYTHON|_PYTHON|SETUPTOOLS_|TRIMQ_|ZIG_|((CC|CXX|CPP|AR|RANLIB|(LD|C|CXX|CPP|AR)FLAGS|LDSHARED|LDCXXSHARED)$)"
)


def environ(**also: str) -> dict[str, str]:
    """The user's variables without those that decide how something is compiled, and these."""
    return {name: text for name, text in os.environ.items() if not _OURS.match(name)} | also


def run(command: Iterable[object], log: Path, cwd: Path, env: Mapping[str, str]) -> int:
    """The exit code; what it prints goes to the end of `log`."""
    with log.open("ab") as sink:
        words = [str(word) for word in command]
        sink.write(f"$ {' '.join(words)}\n".encode())
        sink.flush()
        done = subprocess.run(
            words,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(texts: Iterable[str], pins: Iterable[str]) -> str:
    """Of lock files, the entries of these pins (`mypy==2.4.1`), with their hashes. CannotBuild."""
    entries: dict[str, str] = {}
    for text in texts:
        for entry in re.findall(r"^[\w.-]+==\S+(?:.*\\\n)*.*\n", text, re.MULTILINE):
            name, _, rest = entry.partition("==")
            entries[f"{canonical(name)}=={rest.split()[0]}"] = entry
    found: list[str] = []
    for pin in pins:
        name, _, version = pin.partition("==")
        key = f"{canonical(name)}=={version}"
        if key not in entries:
            raise CannotBuild(f"requirements/ has no hashes of {pin}: lock it in test.txt")
        found.append(entries[key])
    return "".join(found)


def for_building(root: Path) -> str:
    """What compiles, with hashes: setuptools, and requirements/build.txt."""
    folder = root / "requirements"
    lines = (folder / "build.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    texts = [(folder / name).read_text("utf-8") for name in ("runtime.txt", "test.txt")]
    return locked(texts, [*sources.project(root)["build-system"]["requires"], *pins])


def for_packing(root: Path) -> str:
    """What builds without compiling, with hashes: setuptools."""
    text = (root / "requirements" / "test.txt").read_text("utf-8")
    return locked([text], sources.project(root)["build-system"]["requires"])


def make(python: Path, home: Path, requirements: str) -> Path:
    """The Python of an environment with just these; made once for the same. CannotBuild."""
    key = hashlib.sha256(f"{python}\n{python.stat().st_size}\n{requirements}".encode()).hexdigest()
    stamp, made = home / "made", home / "venv" / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == key:
        return made
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    log = home / "pip.txt"
    if run([python, "-m", "venv", home / "venv"], log, home, environ()):
        raise CannotBuild(
            f"{python} makes no environment: install its module venv (Debian: apt-get install python3-venv)"
        )
    (home / "requirements.txt").write_text(requirements)
    pip = [made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    words = ["--only-binary=:all:", "--require-hashes", "-r", home / "requirements.txt"]
    if run([*pip, *words], log, home, environ()):
        names = " ".join(re.findall(r"^[\w.-]+(?===)", requirements, re.MULTILINE))
        raise CannotBuild(f"pip cannot install {names}: {log} says why, run it again then")
    stamp.write_text(key)
    return made


def tools(root: Path, work: Path) -> Path:
    """The Python of the environment with the compiler, and with what checks wheels. CannotBuild."""
    lock = root / LOCK
    if not lock.is_file():
        raise CannotBuild(f"{LOCK} is missing: it names ziglang and auditwheel with their hashes")
    return make(Path(sys.executable), work / "tools", lock.read_text("utf-8"))

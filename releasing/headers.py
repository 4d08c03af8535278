"""Python's header files for a processor: those of an interpreter that is here, or else Debian's for that processor."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

from releasing.environments import environ, run
from releasing.targets import MACHINES, CannotBuild, Compiled, NotToBeHad

# Which of Debian's releases have which Python, the first one first. `testing` moves on.
SUITES: Final = {
    "3.11": ("bookworm",),
    "3.13": ("trixie", "testing"),
    "3.14": ("testing",),
}
MIRROR: Final = "http://deb.debian.org/debian"
KEYS: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_ASK: Final = "import sysconfig; print(sysconfig.get_path('include'))"


def not_to_be_had(target: Compiled) -> str:
    """Why there are none on any machine like this one; empty: there are."""
    if target.machine == platform.machine() or target.version in SUITES:
        return ""
    return f"no release of Debian has Python {target.version} for {target.machine}: its headers are not to be had"


def of(target: Compiled, python: Path, work: Path) -> Path:
    """A folder with `Python.h` and everything that it includes, but for the system's. CannotBuild."""
    folder = work / "headers" / target.name
    shutil.rmtree(folder, ignore_errors=True)
    if target.machine == platform.machine():
        said = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True)
        flatten(Path(said.stdout.strip()), target, folder)
    else:
        flatten(_debians(target, work) / f"usr/include/python{target.version}", target, folder)
    return folder


def flatten(include: Path, target: Compiled, folder: Path) -> None:
    """Debian keeps what depends on the processor beside what does not, and leads from one to the other."""
    if not (include / "Python.h").is_file():
        raise CannotBuild(
            f"Python {target.version} has no header files in {include}: apt-get install python{target.version}-dev"
        )
    shutil.copytree(include, folder)
    apart = include.parent / target.triple / include.name / "pyconfig.h"
    if apart.is_file():
        shutil.copyfile(apart, folder / "pyconfig.h")


def _debians(target: Compiled, work: Path) -> Path:
    """The unpacked package; nothing is installed, and apt's own lists stay as they are."""
    if reason := not_to_be_had(target):
        raise NotToBeHad(reason)
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise CannotBuild(
                f"{program} is missing, which fetches Python's headers for {target.machine}: build on Debian"
            )
    unpacked = work / "debian" / target.name
    if unpacked.is_dir():
        return unpacked
    log = work / "debian" / f"{target.name}.txt"
    for suite in SUITES[target.version]:
        package = _download(target, suite, work / "debian" / f"{suite}-{target.machine}", log)
        if package is not None:
            partial = unpacked.with_suffix(".new")
            shutil.rmtree(partial, ignore_errors=True)
            subprocess.run(["dpkg-deb", "-x", package, partial], check=True)
            partial.rename(unpacked)
            return unpacked
    raise CannotBuild(
        f"apt-get found no libpython{target.version}-dev for {target.machine}: {log} says why"
    )


def _download(target: Compiled, suite: str, home: Path, log: Path) -> Path | None:
    for name in ("lists/partial", "archives/partial"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "status").touch()
    (home / "sources.list").write_text(f"deb [signed-by={KEYS}] {MIRROR} {suite} main\n")
    options = {
        "APT::Architecture": MACHINES[target.machine],
        "APT::Architectures": MACHINES[target.machine],
        "APT::Sandbox::User": "root",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::Languages": "none",
        "Dir::Cache": home,
        "Dir::Etc::SourceList": home / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": home / "lists",
        "Dir::State::Status": home / "status",
    }
    apt = [
        "apt-get",
        "-q",
        *(word for pair in options.items() for word in ("-o", "=".join(map(str, pair)))),
    ]
    if run([*apt, "update"], log, home, environ()):
        return None
    if run([*apt, "download", f"libpython{target.version}-dev"], log, home, environ()):
        return None
    found = sorted(home.glob(f"libpython{target.version}-dev_*.deb"))
    return found[-1] if found else None

"""A Debian with python3, python3-venv, git and make, and nothing else that TriMQ could use: in a folder, by chroot.

    python -m compat_tests.installs.plain_debian [SUITE ...]

plays there what a newcomer types (newcomer.py), and prints a table of what it took. It takes root and debootstrap
(apt-get install debootstrap), twelve minutes for each suite, and 2 GB of disk meanwhile.

Its processes have a process table, /dev/shm and terminals of their own, and the network of the machine. Of the
machine's environment they have what leads pip to a package index, and no more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.servers import debian as kept_debian
from compat_tests.servers.artifacts import ROOT

# Python 3.13 and 3.11.
SUITES: Final = ("trixie", "bookworm")
PACKAGES: Final = ("python3", "python3-venv", "git", "make", "ca-certificates")
NEEDED: Final = ("debootstrap", "unshare", "chroot", "mount", "git")
NEWCOMER: Final = Path(__file__).with_name("newcomer.py")
ENVIRONMENT: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
# By which names and index are found. A machine may have authorities of its own.
OF_THE_NETWORK: Final = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"),
    *("/etc/pip.conf", "/etc/xdg/pip/pip.conf"),
)
OF_THE_USER: Final = (".config/pip/pip.conf", ".pip/pip.conf")
# What a container would have there. The shell stays the first process, which takes over orphans and sees them end.
_INSIDE: Final = """
set -e
root=$1
shift
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=64m tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
set +e
chroot "$root" "$@"
code=$?
exit $code
"""
_UNSHARED: Final = (
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"),
    *("sh", "-c", _INSIDE, "sh"),
)
# Of `make test`: the parts that are not played there, and how what is said of them begins.
LEFT_OUT: Final = {
    "smoke": "no JDK 17 here: apt-get install openjdk-17-jdk-headless",
    "compiled": "no C compiler here: apt-get install gcc python3-dev",
    "unit-spark": "no Spark here: ",
}
# What newcomer.py calls them, and what they are in a table.
STEPS: Final = {
    "ready": "clone to ready (`make serve`)",
    "message": "clone to the first message of our `mqadmin`",
    "test": "`make test`, whole",
    "install": "`pip install .` into a new environment",
}


@dataclass(frozen=True)
class Played:
    """What newcomer.py has found on a suite."""

    suite: str
    python: str
    seconds: dict[str, float]
    said: dict[str, str]


def why_not() -> str:
    """What stands in the way of a Debian in a folder; empty: nothing."""
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        return f"no {', '.join(missing)} here: apt-get install debootstrap"
    if os.geteuid() != 0:
        return "chroot takes root"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"nothing can be mounted here: {tried.stderr.strip()}" if tried.returncode else ""


def played(suite: str) -> Played:
    """All that a newcomer types, in a new Debian with a clone of what is committed here. RuntimeError if it fails.

    Standard error says how far it is.
    """
    with debian(suite) as root:
        source = root / "srv" / "trimq.git"
        subprocess.run(["git", "clone", "--quiet", "--bare", str(ROOT), str(source)], check=True)
        shutil.copy(NEWCOMER, root / "srv")
        words = ("python3", f"/srv/{NEWCOMER.name}", "/srv/trimq.git", "/root")
        done = subprocess.run(
            [*_UNSHARED, str(root), "env", "-i", *_variables(root), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"a newcomer fails on {suite}: standard error says where")
    return Played(suite, **json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def debian(suite: str) -> Iterator[Path]:
    """The root of a new one, which goes at the end; what it is a copy of is kept in the cache."""
    with tempfile.TemporaryDirectory(prefix=f"{suite}-") as folder:
        root = Path(folder) / "root"
        # With its devices.
        kept = kept_debian.debian(f"debian-{suite}", suite, PACKAGES)
        subprocess.run(["cp", "-a", "--reflink=auto", str(kept), str(root)], check=True)
        for place in (*OF_THE_NETWORK, *(f"{Path.home()}/{name}" for name in OF_THE_USER)):
            _copy(Path(place), root, _of_root(place))
        yield root


def _of_root(place: str) -> str:
    """Where a file of this user lies for root."""
    return place.replace(str(Path.home()), ENVIRONMENT["HOME"])


def _copy(path: Path, root: Path, place: str) -> None:
    if path.is_file():
        target = root / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _variables(root: Path) -> list[str]:
    """NAME=VALUE. A file that pip is told of is copied; a folder that is not there is none of its business."""
    found = dict(ENVIRONMENT)
    for name, value in os.environ.items():
        if not name.startswith("PIP_") or (value.startswith("/") and not Path(value).is_file()):
            continue
        found[name] = value
        if value.startswith("/"):
            _copy(Path(value), root, value)
    return [f"{name}={value}" for name, value in found.items()]


def table(found: Sequence[Played]) -> str:
    """A row for each step, a column for each suite, in seconds."""
    names = [f"{one.suite}, Python {one.python}" for one in found]
    rows = [[text, *(f"{one.seconds[step]:.0f}" for one in found)] for step, text in STEPS.items()]
    head = [["step", *names], ["---", *("---:" for _ in found)]]
    return "\n".join(f"| {' | '.join(row)} |" for row in (*head, *rows))


def main(suites: Sequence[str]) -> int:
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 1
    found = []
    for suite in suites:
        found.append(played(suite))
        print(found[-1].said["test"][-6000:], flush=True)
    print(table(found))
    return 0


if __name__ == "__main__":
    asked = argparse.ArgumentParser("python -m compat_tests.installs.plain_debian")
    asked.add_argument("suites", nargs="*", metavar="SUITE", help=" or ".join(SUITES))
    chosen = asked.parse_args().suites or SUITES
    if others := [suite for suite in chosen if suite not in SUITES]:
        asked.error(f"{others[0]} is none of {', '.join(SUITES)}")
    sys.exit(main(chosen))

"""A Debian in a folder that is entered by chroot, of this machine's processor or of one that is emulated.

Takes root and debootstrap. Its processes have a process table, /dev/shm and terminals of their own, and the network of
the machine. Of the machine's environment they have what leads pip to a package index, and no more. They end with the
command that is run there, and what is mounted goes with its namespace.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.servers import debian as kept_debian
from releasing.emulated import not_run
from releasing.targets import MACHINES

NEEDED: Final = ("debootstrap", "unshare", "chroot", "mount")
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


def why_not(*also: str, machine: str = "") -> str:
    """What stands in the way of a Debian in a folder, and of these programs; empty: nothing."""
    if missing := [name for name in (*NEEDED, *also) if shutil.which(name) is None]:
        return f"no {', '.join(missing)} here: apt-get install debootstrap"
    if os.geteuid() != 0:
        return "chroot takes root"
    if reason := not_run(machine or platform.machine()):
        return reason
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"nothing can be mounted here: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass(frozen=True)
class Chroot:
    """`root`: where it lies."""

    root: Path

    def run(
        self, *words: str, errors: int | None = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        """A command in it, by its own paths; `errors`: where its standard error goes, or None for ours."""
        return subprocess.run(
            [*_UNSHARED, str(self.root), "env", "-i", *self._variables(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )

    def done(self, *words: str) -> str:
        """What it wrote; AssertionError if it failed."""
        result = self.run(*words)
        said = f"{result.stdout[-3000:]}{result.stderr[-3000:]}"
        assert result.returncode == 0, f"{' '.join(words)}:\n{said}"
        return result.stdout

    def _variables(self) -> list[str]:
        """NAME=VALUE. A file that pip is told of is copied; a folder that is not there is none of its business."""
        found = dict(ENVIRONMENT)
        for name, value in os.environ.items():
            if not name.startswith("PIP_") or (value.startswith("/") and not Path(value).is_file()):
                continue
            found[name] = value
            if value.startswith("/"):
                _copy(Path(value), self.root, value)
        return [f"{name}={value}" for name, value in found.items()]


@contextmanager
def chroot(suite: str, packages: Sequence[str], machine: str = "") -> Iterator[Chroot]:
    """A new one, which goes at the end; what it is a copy of is kept in the cache. RuntimeError."""
    name = f"debian-{suite}"
    if machine:
        name = f"{name}-{MACHINES[machine]}"
    with tempfile.TemporaryDirectory(prefix=f"{suite}-") as folder:
        root = Path(folder) / "root"
        # With its devices.
        kept = kept_debian.debian(name, suite, packages, machine=machine)
        subprocess.run(["cp", "-a", "--reflink=auto", str(kept), str(root)], check=True)
        for place in (*OF_THE_NETWORK, *(f"{Path.home()}/{name}" for name in OF_THE_USER)):
            _copy(Path(place), root, _of_root(place))
        yield Chroot(root)


def _of_root(place: str) -> str:
    """Where a file of this user lies for root."""
    return place.replace(str(Path.home()), ENVIRONMENT["HOME"])


def _copy(path: Path, root: Path, place: str) -> None:
    if path.is_file():
        target = root / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)

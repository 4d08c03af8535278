"""A Debian with systemd as its first process, in namespaces of its own: what a service does on a machine.

Its system is made once by debootstrap and kept in the cache folder; each machine gets a layer above it, and a network
with nothing but its loopback. Needs root, and Linux with overlayfs and a cgroup2 mount.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.debian import debian
from tests.patience import PATIENCE, until

RELEASE: Final = "bookworm"
PYTHON: Final = "3.11"
PACKAGES: Final = ("systemd", "systemd-sysv", "python3", "python3-venv", "procps")
HOME: Final = "/opt/trimq"
_USELESS: Final = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc")
_PROGRAMS: Final = ("debootstrap", "unshare", "nsenter", "mount", "chroot")
# The first process of the new namespaces makes a machine of a folder.
_BOOT: Final = """
set -e
cd "$1"
mount --make-rprivate /
mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
cd "$1/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
for one in null zero full random urandom tty; do touch dev/$one; mount --bind /dev/$one dev/$one; done
mkdir old
pivot_root . old
umount -l /old
PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec env -i container=trimq PATH=$PATH /lib/systemd/systemd --log-target=console --show-status=no
"""


def obstacle() -> str:
    """Why there cannot be a machine; empty: there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "root on Linux is needed"
    lacking = [one for one in _PROGRAMS if shutil.which(one) is None]
    if lacking:
        return f"{', '.join(lacking)} missing: apt-get install debootstrap util-linux"
    if _cgroups() is None:
        return "no cgroup2 is mounted"
    return ""


def _cgroups() -> Path | None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(folder)
    return None


def system() -> Path:
    """Its files, made if they are not there yet."""
    return debian(f"systemd-{RELEASE}", RELEASE, PACKAGES, _USELESS)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@dataclass(frozen=True)
class Machine:
    """`pid`: of its first process, as this machine counts."""

    root: Path
    pid: int

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command in it, with this as its standard input."""
        command = ["nsenter", f"--target={self.pid}", "--all", "env", "-i"]
        command += ["PATH=/opt/trimq/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)

    def done(self, *words: str, given: str = "") -> str:
        """What it wrote; AssertionError if it failed."""
        result = self.run(*words, given=given)
        assert result.returncode == 0, (
            f"{words}: {result.stdout}{result.stderr}{self.log()[-3000:]}"
        )
        return result.stdout

    def write(self, path: str, text: str) -> None:
        self.done("sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path}", given=text)

    def shown(self, name: str, unit: str = "trimq.service") -> str:
        return self.done("systemctl", "show", "--value", "-p", name, unit).strip()

    def log(self) -> str:
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", "trimq.service").stdout


def build_wheel(folder: Path) -> Path:
    """A plain one of this tree, which stays as it is."""
    no_source = (".git", ".venv", ".editable", "build", "dist", "data", "__pycache__", ".*_cache")
    ignore = shutil.ignore_patterns(*no_source)
    checkout = shutil.copytree(ROOT, folder / "checkout", symlinks=True, ignore=ignore)
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "wheel")]
    _run(["env", "TRIMQ_COMPILE=0", sys.executable, *words, str(checkout)])
    (made,) = (folder / "wheel").glob("*.whl")
    return made


@contextmanager
def machine(folder: Path, wheel: Path) -> Iterator[Machine]:
    """One that has started, with TriMQ installed in /opt/trimq."""
    lower = system()
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    _install(lower, folder / "upper", wheel)
    group = _cgroups()
    assert group is not None
    own = group / f"trimq-test-{os.getpid()}"
    words = ["--mount", "--uts", "--ipc", "--pid", "--net", "--cgroup", "--fork", "--kill-child"]
    command = ["unshare", *words, "sh", "-c", _BOOT, "boot", str(folder), str(lower)]
    # It has to be in its own group before the namespace is made: that group is the top for it.
    entering = ["sh", "-c", f'mkdir -p {own} && echo $$ > {own}/cgroup.procs && exec "$@"', "enter"]
    with ExitStack() as stack:
        console = stack.enter_context((folder / "console").open("w"))
        process = subprocess.Popen(
            [*entering, *command], stdin=subprocess.DEVNULL, stdout=console, stderr=console
        )
        stack.callback(_remove, own)
        stack.callback(process.wait)
        stack.callback(process.kill)
        try:
            yield _started(folder, process)
        except AssertionError as error:
            error.add_note((folder / "console").read_text()[-3000:])
            raise


def _started(folder: Path, process: subprocess.Popen[bytes]) -> Machine:
    def first() -> int:
        assert process.poll() is None, (folder / "console").read_text()
        own = Path(f"/proc/{process.pid}")
        # Before that it is a shell, with children of its own.
        if (own / "comm").read_text() != "unshare\n":
            return 0
        tasks = (own / f"task/{process.pid}/children").read_text().split()
        return int(tasks[0]) if tasks else 0

    made = Machine(folder / "root", until(first, "its first process is there"))

    def state() -> str:
        said = made.run("systemctl", "is-system-running").stdout.strip()
        return said if said in {"running", "degraded"} else ""

    until(state, "it has started")
    return made


def _install(lower: Path, upper: Path, wheel: Path) -> None:
    """As by pip in it, which would need a way to its index."""
    home = upper / HOME.lstrip("/")
    packages = home / f"lib/python{PYTHON}/site-packages"
    packages.mkdir(parents=True)
    words = ["-m", "pip", "install", "--quiet", "--no-compile", "--target", str(packages)]
    words += ["--python-version", PYTHON, "--implementation", "cp", "--only-binary=:all:"]
    _run([sys.executable, *words, str(wheel)])
    shutil.rmtree(packages / "bin", ignore_errors=True)
    (home / "bin").mkdir()
    (home / "bin/python").symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {PYTHON}\n")
    for name, module in (("trimq", "trimq.commands.main"), ("mqadmin", "trimq.mqadmin.cli")):
        script = home / "bin" / name
        script.write_text(
            f"#!{HOME}/bin/python\nimport sys\nfrom {module} import main\nsys.exit(main())\n"
        )
        script.chmod(0o755)


def _remove(group: Path) -> None:
    """With those below it; what was in them has just been killed."""
    deadline = time.monotonic() + PATIENCE
    while group.exists() and time.monotonic() < deadline:
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)

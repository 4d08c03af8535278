"""The root of a minimal Debian, by debootstrap from Debian's own mirror, kept in the cache folder. Takes root."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from compat_tests.servers.artifacts import cache_root
from compat_tests.servers.kept import kept
from releasing.targets import MACHINES


def debian(
    name: str,
    suite: str,
    packages: Sequence[str],
    useless: Sequence[str] = (),
    machine: str = "",
) -> Path:
    """With these packages, and without these folders; made when it is first asked for. RuntimeError.

    `machine`: of that processor, `aarch64` say, which has to be emulated if it is not this one (releasing/emulated.py).
    """
    return kept(cache_root() / name, partial(_make, suite, packages, useless, machine))


def _make(
    suite: str, packages: Sequence[str], useless: Sequence[str], machine: str, root: Path
) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}"]
    if machine:
        command.append(f"--arch={MACHINES[machine]}")
    done = subprocess.run([*command, suite, str(root)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"debootstrap of {suite} failed:\n{done.stdout[-2000:]}{done.stderr}")
    for folder in useless:
        shutil.rmtree(root / folder, ignore_errors=True)

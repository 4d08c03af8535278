"""Programs of a processor that this machine does not have: the kernel hands them to QEMU, if that is set up."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

# What the kernel hands over to emulators, a file for each.
EMULATORS: Final = Path("/proc/sys/fs/binfmt_misc")


def not_run(machine: str, emulators: Path = EMULATORS) -> str:
    """Why programs of that processor do not run here, also in a chroot or a container; empty: they do."""
    if machine == platform.machine():
        return ""
    path = emulators / f"qemu-{machine}"
    said = path.read_text() if path.is_file() else ""
    # F: the kernel holds the emulator open, so that a chroot needs none of its own.
    flags = said.partition("\nflags: ")[2].partition("\n")[0]
    if said.startswith("enabled\n") and "F" in flags:
        return ""
    return (
        f"nothing runs programs of {machine} here: apt-get install qemu-user-static binfmt-support"
    )

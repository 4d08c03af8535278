"""A disk that waits: servers whose calls of fdatasync, fsync and msync return only when the test lets them.

Held by a small library of C that the dynamic linker puts before libc's own functions (LD_PRELOAD).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void hold(void) {
    const char *file = getenv("HELD_DISK");
    while (file != NULL && access(file, F_OK) == 0)
        usleep(5000);
}

int fdatasync(int fd) {
    hold();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

int fsync(int fd) {
    hold();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int msync(void *at, size_t size, int flags) {
    hold();
    return ((int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "msync"))(at, size, flags);
}
"""


def can_be_held() -> bool:
    """Whether there is a C compiler."""
    return shutil.which("cc") is not None


class HeldDisk:
    """For servers that are started with `environment`; `folder` is for the library."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "held"
        source, library = folder / "held_disk.c", folder / "held_disk.so"
        source.write_text(_SOURCE)
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        self.environment: Final = {"LD_PRELOAD": str(library), "HELD_DISK": str(self._file)}

    def hold(self) -> None:
        """From now on nothing gets to the disk."""
        self._file.touch()

    def let_go(self) -> None:
        self._file.unlink(missing_ok=True)

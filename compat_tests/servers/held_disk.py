"""A disk that waits, or is full: servers whose calls of fdatasync, fsync and msync return only when the test lets them,
and whose pwrite and pwritev find no room.

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
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_there(const char *name) {
    const char *file = getenv(name);
    return file != NULL && access(file, F_OK) == 0;
}

static void hold(void) {
    while (is_there("HELD_DISK"))
        usleep(5000);
}

#define WRITE(name, declared, given)                                      \
    ssize_t name declared {                                               \
        if (is_there("FULL_DISK")) {                                      \
            errno = ENOSPC;                                               \
            return -1;                                                    \
        }                                                                 \
        return ((ssize_t (*) declared)dlsym(RTLD_NEXT, #name)) given;     \
    }

WRITE(pwrite, (int fd, const void *at, size_t size, off_t to), (fd, at, size, to))
WRITE(pwrite64, (int fd, const void *at, size_t size, off64_t to), (fd, at, size, to))
WRITE(pwritev, (int fd, const struct iovec *all, int count, off_t to), (fd, all, count, to))
WRITE(pwritev64, (int fd, const struct iovec *all, int count, off64_t to), (fd, all, count, to))
WRITE(pwritev2, (int fd, const struct iovec *all, int count, off_t to, int flags), (fd, all, count, to, flags))
WRITE(pwritev64v2, (int fd, const struct iovec *all, int count, off64_t to, int flags), (fd, all, count, to, flags))

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
        self._held, self._full = folder / "held", folder / "full"
        source, library = folder / "held_disk.c", folder / "held_disk.so"
        source.write_text(_SOURCE)
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        self.environment: Final = {
            "LD_PRELOAD": str(library),
            "HELD_DISK": str(self._held),
            "FULL_DISK": str(self._full),
        }

    def hold(self) -> None:
        """From now on nothing gets to the disk."""
        self._held.touch()

    def fill(self) -> None:
        """From now on there is no room."""
        self._full.touch()

    def let_go(self) -> None:
        for file in (self._held, self._full):
            file.unlink(missing_ok=True)

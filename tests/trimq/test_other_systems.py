"""What only Linux has, and where TriMQ uses it: nobody gets there on another system.

No test runs on macOS. `make unit-bare` plays the tests of store, sockets and servers without what macOS lacks; here is
what the sources say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
# Of Python's modules, by their "Availability", those that a server could want.
LINUX_ONLY: Final = {
    "os": {
        *("copy_file_range", "eventfd", "fdatasync", "getrandom", "memfd_create", "pidfd_open"),
        *("posix_fadvise", "posix_fallocate", "preadv", "pwritev", "sched_getaffinity"),
        *("sched_setaffinity", "sched_setscheduler", "sched_yield", "setns", "splice"),
        *("timerfd_create", "unshare", "getxattr", "setxattr", "pipe2"),
        *("O_DIRECT", "O_NOATIME", "O_PATH", "O_TMPFILE"),
        *("RWF_APPEND", "RWF_DSYNC", "RWF_HIPRI", "RWF_NOWAIT", "RWF_SYNC"),
    },
    "socket": {
        *("AF_NETLINK", "AF_PACKET", "AF_VSOCK", "MSG_ERRQUEUE", "MSG_MORE", "MSG_NOSIGNAL"),
        *("MSG_ZEROCOPY", "SO_BINDTODEVICE", "SO_INCOMING_CPU", "SO_PEERCRED", "SOCK_CLOEXEC"),
        *("SOCK_NONBLOCK", "TCP_CORK", "TCP_DEFER_ACCEPT", "TCP_INFO", "TCP_QUICKACK"),
        "TCP_USER_TIMEOUT",
    },
    "select": {"epoll", "EPOLLET", "EPOLLIN", "EPOLLOUT", "EPOLLRDHUP", "POLLRDHUP"},
    "signal": {"SIGPOLL", "SIGPWR", "SIGRTMAX", "SIGRTMIN", "sigtimedwait", "sigwaitinfo"},
    "resource": {"RUSAGE_THREAD", "prlimit"},
    "time": {"CLOCK_BOOTTIME", "CLOCK_TAI"},
    "mmap": {"MADV_HUGEPAGE", "MAP_NORESERVE", "MAP_POPULATE"},
    "fcntl": {"F_ADD_SEALS", "F_OFD_SETLK", "F_SETPIPE_SZ"},
}
FOLDERS: Final = re.compile(r"/(proc|sys)\b")
# No other file need be parsed.
NAMED: Final = re.compile(
    "|".join({name for names in LINUX_ONLY.values() for name in names} | {FOLDERS.pattern})
)
# A file that asks whether there is such a thing (hasattr, getattr) knows what to do without. The others:
REACHED: Final = {
    ("remoting/wire/poller.py", "os.sched_yield"): "a poller is made only where there is epoll",
    ("remoting/wire/poller.py", "select.EPOLLIN"): "the same",
    ("store/log/commit_log.py", "os.preadv"): "store/disk/system.py: NOWAIT is 0 without it",
    ("store/log/page_cache.py", "os.preadv"): "the same",
    ("store/timers/log.py", "os.preadv"): "the same",
    ("base/memory.py", "/proc"): "a file that is not there sets no limit",
    ("base/memory.py", "/sys/fs/cgroup"): "the same",
    (
        "trimq/hand/faults/disk.py",
        "/proc/self/fd/",
    ): "where it is not, every file is taken for one of the store's",
    (
        "trimq/commands/original/processes.py",
        "/proc",
    ): "where it is not, no server is seen: mqshutdown says so",
}
# What every POSIX system has, and our own.
HEADERS: Final = {
    *("Python.h", "structmember.h", "dirent.h", "errno.h", "fcntl.h", "setjmp.h", "signal.h"),
    *("stddef.h", "stdint.h", "stdlib.h", "string.h", "sys/stat.h", "unistd.h"),
}


def sources(suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Of all that is installed."""
    linked = [path.resolve() for path in (ROOT / "trimq").iterdir() if path.is_symlink()]
    own = [path for path in (ROOT / "trimq").iterdir() if not path.is_symlink()]
    for place in (*linked, *own, *ROOT.glob("pyspark_*.py")):
        found = [place] if place.is_file() else place.rglob("*")
        yield from (path for path in found if path.suffix in suffixes)


def uses(tree: ast.AST) -> set[str]:
    """What only Linux has, as MODULE.NAME or a path, and is not asked for in the same file."""
    found, asked = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if name in LINUX_ONLY.get(module, ()):
                    found.add(f"{module}.{name}")
            case ast.Call(
                func=ast.Name(id="hasattr" | "getattr"),
                args=[ast.Name(id=module), ast.Constant(value=name), *_],
            ):
                asked.add(f"{module}.{name}")
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    if alias.name in LINUX_ONLY.get(module, ()):
                        found.add(f"{module}.{alias.name}")
            case ast.Constant(value=str(text)) if FOLDERS.match(text):
                found.add(text)
    return found - asked


def test_nobody_gets_there_elsewhere() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources((".py",))
        if NAMED.search(text := path.read_text())
        for name in uses(ast.parse(text))
    }
    assert found == REACHED.keys()


def test_c_includes_what_every_system_has() -> None:
    included = re.compile(r"^#\s*include\s*<([^>]+)>", re.MULTILINE)
    texts = [path.read_text() for path in sources((".c", ".h"))]
    assert set().union(*map(included.findall, texts)) == HEADERS


def test_the_makefile_is_for_make_3_81() -> None:
    """macOS has no newer one."""
    newer = r"^\.(ONESHELL|RECIPEPREFIX)\b|^(undefine|load|private)\b|!=|::=|&:|\$\((file|guile|let|intcmp)\b"
    text = (ROOT / "Makefile").read_text()
    assert re.findall(newer, text, re.MULTILINE) == []
    assert re.findall(newer, "a &: b\nX != date\n", re.MULTILINE)


def test_uses_are_found() -> None:
    code = """
from os import eventfd
import os, socket
def use(fd):
    os.splice(fd, fd, 1)
    open("/proc/self/status")
    if hasattr(os, "pidfd_open"):
        os.pidfd_open(1)
    return getattr(socket, "MSG_MORE", 0), "/process", os.read
"""
    assert uses(ast.parse(code)) == {"os.eventfd", "os.splice", "/proc/self/status"}

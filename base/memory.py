"""How much memory this process may use: the machine's, or less in a container (cgroup v2 and v1).

A JDK 17 asks the same files for `getTotalPhysicalMemorySize` (StoreUtil).
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path


def usable_memory() -> int:
    """Bytes that this process can get at all: its memory, or less by `ulimit -v`."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    memory = physical_memory()
    return memory if soft == resource.RLIM_INFINITY else min(memory, soft)


def physical_memory(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of RAM, at most as many as the control groups of this process allow."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_limits(proc / "self" / "cgroup", cgroups)])


def _limits(membership: Path, cgroups: Path) -> Iterator[int]:
    """The limit of each group that the process is in; its own and those of the groups around it count."""
    for line in _text(membership).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            top, name = cgroups, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = cgroups / "memory", "memory.limit_in_bytes"
        else:
            continue
        inside = Path(path.lstrip("/"))
        # In a container the path may be that of the machine outside: then only the top exists.
        for group in (inside, *inside.parents):
            text = _text(top / group / name).strip()
            if text.isdigit():
                yield int(text)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

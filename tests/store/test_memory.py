"""The memory of a container counts, not that of its machine."""

import os
from pathlib import Path

import pytest

from trimq.base.memory import physical_memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MIB = 1 << 20
UNLIMITED = str((1 << 63) - 4096)


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("", {}, MACHINE),
        ("0::/\n", {"memory.max": "67108864\n"}, 64 * MIB),
        ("0::/\n", {"memory.max": "max\n"}, MACHINE),
        # The group around it has less.
        ("0::/a/b\n", {"a/memory.max": "33554432", "a/b/memory.max": "67108864"}, 32 * MIB),
        # The path is that of the machine outside.
        ("0::/docker/1234\n", {"memory.max": "67108864"}, 64 * MIB),
        ("5:cpu:/\n4:memory:/x\n", {"memory/x/memory.limit_in_bytes": "1048576"}, MIB),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": UNLIMITED}, MACHINE),
    ],
)
def test_limits(tmp_path: Path, membership: str, files: dict[str, str], expected: int) -> None:
    proc = tmp_path / "proc" / "self"
    proc.mkdir(parents=True)
    (proc / "cgroup").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert physical_memory(tmp_path / "proc", tmp_path / "cgroup") == expected

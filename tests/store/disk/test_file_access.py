"""Everything that changes or syncs a file goes through store.disk.files: what a power loss may take is in one place.

Its system calls that systems lack are in store.disk.system.
"""

import ast
from pathlib import Path

STORE = Path(__file__).parents[3] / "store"
CHANGES = {
    *("write", "pwrite", "pwritev", "writev", "truncate", "ftruncate", "posix_fallocate"),
    *("fsync", "fdatasync", "sync", "unlink", "remove", "rename", "replace", "rmdir"),
    *("mkdir", "makedirs", "link", "symlink", "utime", "sendfile", "copy_file_range"),
}
PATH_CHANGES = {"write_bytes", "write_text", "touch", "unlink", "rename", "mkdir", "rmdir"}


def changes(source: str) -> list[str]:
    """Calls that change files, as `os.name` or `path.name`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            name = node.func.attr
            if (owner == "os" and name in CHANGES) or (owner != "os" and name in PATH_CHANGES):
                found.append(f"{node.lineno}: {owner}.{name}")
    return found


def test_the_test_sees_a_change() -> None:
    assert changes("import os\nos.pwritev(1, [b''], 0)\npath.write_bytes(b'')\n") == [
        "2: os.pwritev",
        "3: path.write_bytes",
    ]


def test_only_files_py_and_system_py_change_files() -> None:
    found = {
        str(path.relative_to(STORE)): changes(path.read_text())
        for path in STORE.rglob("*.py")
        if path not in (STORE / "disk/files.py", STORE / "disk/system.py")
    }
    assert {name: calls for name, calls in found.items() if calls} == {}

"""A copy of the tree in `build/compiled`, its hot modules compiled: tests and benchmarks run there.

    python building/tree.py

What is compiled is made anew only when something that it is made from has changed; the rest is copied each time.
TRIMQ_COMPILE decides as for setup.py; where nothing can be compiled, the copy stays plain.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from serving import ROOT, obstacle, sources_key

TREE: Final = ROOT / "build" / "compiled"
MARK: Final = ".built"
# Of the checkout, what is no source.
LEFT_OUT: Final = frozenset(("build", "data", "dist", ".git", ".venv", ".editable"))
CACHES: Final = (
    "*.egg-info",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
)


def refresh(root: Path, tree: Path, key: str) -> bool:
    """Whether it has to be compiled: not if that was done of the same sources."""
    mark = tree / MARK
    is_made = mark.exists() and mark.read_text() == key
    if is_made:
        _empty_but_for_compiled(tree)
    else:
        shutil.rmtree(tree, ignore_errors=True)
    others = shutil.ignore_patterns(*CACHES)

    def left_out(folder: str, names: list[str]) -> set[str]:
        first = LEFT_OUT if Path(folder) == root else frozenset()
        return set(others(folder, names)) | (first & set(names)) | _compiled(names)

    shutil.copytree(root, tree, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    return not is_made


def _compiled(names: list[str]) -> set[str]:
    return {name for name in names if name.endswith(".so")}


def _empty_but_for_compiled(tree: Path) -> None:
    for folder, folders, names in os.walk(tree):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in {*names, *links} - _compiled(names) - {MARK}:
            Path(folder, name).unlink()


def main() -> int:
    key = " ".join((sources_key(ROOT), os.environ.get("MYPYC_OPT_LEVEL", ""), obstacle()))
    if not refresh(ROOT, TREE, key):
        print(f"{TREE.relative_to(ROOT)}: nothing that is compiled has changed")
        return 0
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    code = subprocess.run(command, cwd=TREE, check=False).returncode
    # A compiler that has failed is tried again.
    if code == 0 and (obstacle() or any(TREE.glob("codec/**/*.so"))):
        (TREE / MARK).write_text(key)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""A copy of the tree in `build/compiled`, its hot modules compiled: tests and benchmarks run there.

    python building/tree.py [--quick]

What is compiled is made anew only when something that it is made from has changed; the rest is copied each time.
`--quick`: without optimisation, which is enough for tests and takes half of the time, unless the other one is there.
TRIMQ_COMPILE decides as for setup.py; where nothing can be compiled, the copy stays plain.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from serving import ROOT, obstacle, sources_key

TREE: Final = ROOT / "build" / "compiled"
MARK: Final = ".built"
# The C compiler's -O (building/compiling.py): what users run, and what tests make do with.
LEVEL: Final = "MYPYC_OPT_LEVEL"
FULL, QUICK = "3", "0"
# Of the checkout, what is not a source.
LEFT_OUT: Final = frozenset(("build", "data", "dist", ".git", ".venv", ".editable"))
CACHES: Final = ("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")


def refresh(root: Path, tree: Path, made_of: Collection[str]) -> bool:
    """Whether it has to be compiled: not if that was done, and is one of `made_of`.

    What is as it should be is not touched: somebody may run there.
    """
    mark = tree / MARK
    is_made = mark.exists() and mark.read_text() in made_of
    if not is_made:
        shutil.rmtree(tree, ignore_errors=True)
    wanted = _files(root, LEFT_OUT)
    for name in wanted:
        _copy(root / name, tree / name)
    for name in _files(tree, frozenset(("build",))) - wanted - {MARK}:
        (tree / name).unlink()
    return not is_made


def _files(root: Path, left_out: frozenset[str]) -> set[str]:
    """Files and links, but for what is compiled or a cache, by their paths from the root."""
    found: set[str] = set()
    for folder, folders, names in os.walk(root):
        here = os.path.relpath(folder, root)
        skipped = {*CACHES, *(left_out if here == "." else ())}
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [
            name
            for name in folders
            if name not in skipped and name not in links and not name.endswith(".egg-info")
        ]
        files = [name for name in (*names, *links) if not name.endswith(".so")]
        found |= {os.path.normpath(os.path.join(here, name)) for name in files} - skipped
    return found


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        if not target.is_symlink() or target.readlink() != source.readlink():
            target.unlink(missing_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source.readlink())
        return
    now = source.stat()
    if target.exists():
        then = target.stat()
        if (then.st_size, then.st_mtime_ns) == (now.st_size, now.st_mtime_ns):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def keys(is_quick: bool, environment: Mapping[str, str]) -> list[str]:
    """What the compiled tree may be made of, and how; the first is how it is made if it is none of them."""
    wished = environment.get(LEVEL) or (QUICK if is_quick else FULL)
    levels = dict.fromkeys((wished, FULL) if is_quick else (wished,))
    return [f"{sources_key(ROOT)} -O{level} {obstacle()}" for level in levels]


def main(is_quick: bool) -> int:
    made_of = keys(is_quick, os.environ)
    if not refresh(ROOT, TREE, made_of):
        print(f"{TREE.relative_to(ROOT)}: nothing that is compiled has changed")
        return 0
    level = made_of[0].split()[1].removeprefix("-O")
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    environment = {**os.environ, LEVEL: level}
    code = subprocess.run(command, cwd=TREE, env=environment, check=False).returncode
    # A compiler that has failed is tried again.
    if code == 0 and (obstacle() or any(TREE.glob("codec/**/*.so"))):
        (TREE / MARK).write_text(made_of[0])
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python building/tree.py")
    parser.add_argument("--quick", action="store_true", help="without optimisation, for tests")
    sys.exit(main(parser.parse_args().quick))

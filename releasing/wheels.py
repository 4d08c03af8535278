"""Wheels and the source archive, built into `dist/`: ``python -m releasing.wheels --only cp311-x86_64``.

A compiled wheel for each CPython that is here, for x86_64 and aarch64, whichever of them this machine is; a plain wheel
for all others; and the source archive. Built again from the same commit they are the same, bit for bit.

The exit code is 1 if something that can be built here was not, or something that was asked for by name.
"""

from __future__ import annotations

import argparse
import fcntl
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from releasing import sources, targets
from releasing.builds import Workshop
from releasing.rows import Row, table
from releasing.targets import CannotBuild, NotToBeHad
from tests.run.interpreters import candidates, find

ROOT: Final = Path(__file__).resolve().parents[1]
WORK: Final = ROOT / "build" / "wheels"


@contextmanager
def alone(work: Path) -> Iterator[None]:
    """Nobody else builds there meanwhile. CannotBuild."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotBuild(f"somebody else builds in {work}: wait for that to end") from None
        yield


def built(shop: Workshop, name: str) -> Row:
    print(f"begins: {name}", flush=True)
    began = time.monotonic()
    try:
        archive = shop.build(name)
    except CannotBuild as error:
        return Row(name, why_not=str(error), failed=not isinstance(error, NotToBeHad))
    return Row(name, time.monotonic() - began, archive)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m releasing.wheels")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="build only these")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where archives go [dist]")
    parser.add_argument(
        "--work", type=Path, default=WORK, help="where they are made [build/wheels]"
    )
    options = parser.parse_args(words)
    work, out = options.work.resolve(), options.out.resolve()
    try:
        names = targets.chosen(options.only)
        seconds = sources.seconds(ROOT)
        print(f"of {sources.state(ROOT)}", flush=True)
        with alone(work):
            shop = Workshop(ROOT, work, out, seconds, find([Path(sys.executable), *candidates()]))
            rows = [built(shop, name) for name in names]
    except CannotBuild as error:
        print(f"make wheels: {error}", file=sys.stderr)
        return 1
    print(table(rows))
    return int(any(row.failed or (options.only and row.archive is None) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

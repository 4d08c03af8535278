"""Instructions of one receive in two trees: ``python -m bench.instructions --against PATH``.

PATH is another checkout in which `make tree` has run, as for ``python -m bench --against``. Callgrind counts what the
compiled builds of both do (bench/loads/receives.py): how busy the machine is makes no difference, and the kernel's
own instructions are not seen. --keep writes the table into bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.loads import receives
from bench.pages import report
from bench.pages.figures import markdown
from bench.servers import trees
from bench.servers.subjects import COMPILED

_TITLE: Final = "Instructions of one receive: two trees"
_SHOWN: Final = {
    "send": "one send",
    "sends": f"{receives.BATCH} sends",
    "pull": f"a pull that finds {receives.BATCH} messages",
    "held": "a pull that is held, and the send that wakes it",
}
# No more than this may lie between two trees of which one has something that is off.
_SAME: Final = 0.005
_TOTALS: Final = re.compile(r"^totals: (\d+)", re.MULTILINE)
# What receives.py calls between its loads.
_MARK: Final = "getpriority"


class Uncounted(Exception):
    """Nothing was counted; the text says what to do."""


def counted(tree: Path, times: int) -> dict[str, float]:
    """Instructions a receive, by the name of the load. Uncounted."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Uncounted("valgrind is not installed: apt install valgrind")
    with tempfile.TemporaryDirectory(prefix="trimq-instructions-") as folder:
        words = [valgrind, "-q", "--tool=callgrind", f"--dump-before={_MARK}"]
        words += [f"--callgrind-out-file={folder}/out", sys.executable, receives.__file__]
        # Of a dictionary the same places are taken in each run, and imports are of that tree.
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "PYTHONSAFEPATH": "1",
            "PYTHONPATH": str(tree),
            "PYTHONPYCACHEPREFIX": f"{folder}/byte-code",
        }
        done = subprocess.run(
            [*words, f"{folder}/store", str(times)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Uncounted(f"nothing was counted in {tree}: {done.stderr.strip()}")
        return of_parts(Path(folder), done.stdout.split(), times)


def of_parts(folder: Path, names: list[str], times: int) -> dict[str, float]:
    """What was counted between the two marks of each load: every second part. Uncounted where there are others."""
    parts = len(list(folder.glob("out.*")))
    if parts != 2 * len(names):
        raise Uncounted(f"callgrind has written {parts} parts for {len(names)} loads")
    found = {}
    for number, name in enumerate(names):
        totals = _TOTALS.search((folder / f"out.{2 * number + 2}").read_text())
        if totals is None:
            raise Uncounted(f"callgrind has written no total for {name}")
        found[name] = int(totals[1]) / times
    return found


def table(that: dict[str, float], this: dict[str, float]) -> str:
    """Both trees beside each other, and whether they are the same."""
    rows = [
        [
            _SHOWN[name],
            f"{that[name]:,.0f}",
            f"{this[name]:,.0f}",
            f"{_change(that, this, name):+.2%}",
        ]
        for name in this
    ]
    most = max(abs(_change(that, this, name)) for name in this)
    said = "met" if most <= _SAME else "missed"
    head = ["instructions of one receive", "that tree", "this tree", "difference"]
    return f"{markdown(head, rows)}\n\nLargest difference: {most:.2%}, at most {_SAME:.1%}: {said}."


def _change(that: dict[str, float], this: dict[str, float], name: str) -> float:
    return this[name] / that[name] - 1


def main() -> None:
    """Count, print, and keep."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.instructions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--against", type=Path, metavar="PATH", required=True, help="that tree")
    parser.add_argument("--times", type=int, default=1000, help="receives that are counted (1000)")
    parser.add_argument("--keep", action="store_true", help="write the table")
    words = parser.parse_args()
    try:
        against = trees.against(words.against)
        found = table(counted(against.other, words.times), counted(COMPILED, words.times))
    except (trees.NotThere, Uncounted) as error:
        parser.error(str(error))
    text = (
        f"{against} Counted by callgrind over {words.times:,} receives of each kind, without sockets: frames are"
        " decoded, handled, and their replies encoded; a pull that is held waits in the event loop. Neither tree has"
        f" a hand (docs/hand.md).\n\n{found}"
    )
    print(text)
    if words.keep:
        report.write_section(
            "instructions", _TITLE, text, against=against, program="python -m bench.instructions"
        )


if __name__ == "__main__":
    main()

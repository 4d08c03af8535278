"""The store by itself: ``python -m bench.store [--smoke] [--real] [--write-docs] [SECTION ...]``.

Sections: throughput, length, topics, size; all without a name. They need up to 30 GB of disk. With
--write-docs what was measured replaces those sections of docs/store-speed.md. Nothing else should
run meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.store import curves, figures, page, throughput
from bench.store.figures import Section
from bench.store.scale import FULL, SMOKE, Scale

DOCS: Final = Path("docs")
KEPT: Final = Path("bench/store/RESULTS.json")
SECTIONS: Final[dict[str, Callable[[Path, Scale], Section]]] = {
    "throughput": throughput.run,
    "length": curves.lengths,
    "topics": curves.topics,
    "size": curves.sizes,
}
ORDER: Final = ("throughput", "real", "length", "topics", "size")


def _real(folder: Path, scale: Scale) -> Section:
    # Needs what compat_tests needs: a JDK and the real broker's jars.
    from bench.store import real

    return real.run(folder, scale)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.store",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--smoke", action="store_true", help="small sizes; writes no docs")
    parser.add_argument("--real", action="store_true", help="with official clients too (JDK)")
    parser.add_argument("--write-docs", action="store_true", help="write docs/store-speed.md")
    parser.add_argument("--folder", type=Path, help="where the stores go (a temporary folder)")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - SECTIONS.keys()
    if unknown:
        parser.error(
            f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}"
        )
    if arguments.smoke and arguments.write_docs:
        parser.error("--smoke measures nothing that docs could show")
    return arguments


def main() -> None:
    """Measure, print, and with --write-docs keep the figures and write the page."""
    arguments = _arguments()
    # Alone, --real runs nothing else.
    names = arguments.sections or ([] if arguments.real else list(SECTIONS))
    wanted = {name: SECTIONS[name] for name in names} | ({"real": _real} if arguments.real else {})
    command = " ".join(["python -m bench.store", *sys.argv[1:]])
    today = datetime.date.today().isoformat()
    kept = figures.load(KEPT) if arguments.write_docs else {}
    for name, measure in wanted.items():
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="trimq-store-", dir=arguments.folder) as folder:
            section = measure(Path(folder), SMOKE if arguments.smoke else FULL)
        section.written = page.circumstances(command, today)
        print(f"{page.text(section)}\n({name}: {time.monotonic() - began:.0f} s)\n", flush=True)
        kept[name] = section
    if arguments.write_docs:
        kept = {name: kept[name] for name in ORDER if name in kept}
        figures.save(KEPT, kept)
        page.write(DOCS, kept)
        print(f"written to {DOCS / 'store-speed.md'}")


if __name__ == "__main__":
    main()

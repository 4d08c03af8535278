"""Benchmarks beside the real broker: ``python -m bench [PART ...]``.

Each part starts the real RocketMQ and TriMQ in turn on empty stores, prints its table and writes its section
of bench/RESULTS.md. What counts are the ratios: absolute figures depend on the machine. Nothing else should run
meanwhile.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import backlog, ceiling, flush, growth, memory, official, report, tail
from bench.part import Run
from bench.subjects import KINDS, OURS, REAL


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the results; `smoke` are the kinds of servers in a smoke run.

    The real broker needs more than 20 s to start and stop: there it takes part where that happens once.
    """

    title: str
    measure: Callable[[Run], str]
    smoke: tuple[str, ...] = (OURS,)


PARTS = {
    "official": Part("The official benchmark programs", official.measure),
    "backlog": Part("The official Consumer on a backlog", backlog.measure),
    "ceiling": Part("The server's ceiling, by bench/loadgen", ceiling.measure),
    "growth": Part("What a message costs when there is more of everything", growth.measure),
    "memory": Part("Start-up, memory and idling", memory.measure),
    "flush": Part("SYNC_FLUSH", flush.measure, (REAL, OURS)),
    "tail": Part("The tail of sends, undisturbed and disturbed", tail.measure),
}


def main() -> None:
    """Parse, run the parts, print their tables and keep them."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)} (all)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all servers (3)")
    parser.add_argument("--seconds", type=int, default=6, help="seconds a load (6)")
    parser.add_argument(
        "--smoke", action="store_true", help="one very short round, mostly of TriMQ; keeps nothing"
    )
    parser.add_argument("--no-pure", action="store_true", help="leave the plain Python build out")
    parser.add_argument(
        "--real", action="store_true", help="growth, and a smoke run: the real broker too"
    )
    words = parser.parse_args()
    unknown = set(words.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    # An ordinary exit, which stops the servers and removes their files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name in words.parts or PARTS:
        part = PARTS[name]
        began = time.monotonic()
        print(f"# {part.title}", flush=True)
        with tempfile.TemporaryDirectory(prefix="trimq-bench-") as folder:
            run = Run(
                Path(folder),
                rounds=1 if words.smoke else words.rounds,
                seconds=1 if words.smoke else words.seconds,
                kinds=_kinds(part, words),
                smoke=words.smoke,
                real=words.real,
            )
            text = part.measure(run)
        note = ", a smoke run: its figures mean nothing" if words.smoke else ""
        print(f"\n{text}\n\n({name}: {time.monotonic() - began:.0f} s{note})\n", flush=True)
        if not words.smoke:
            report.write_section(name, part.title, text)


def _kinds(part: Part, words: argparse.Namespace) -> tuple[str, ...]:
    """The kinds of servers that a part compares."""
    if words.smoke:
        return (REAL, OURS) if words.real else part.smoke
    return KINDS[:2] if words.no_pure else KINDS


if __name__ == "__main__":
    main()

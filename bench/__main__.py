"""Benchmarks beside the real broker: ``python -m bench [PART ...]``.

Each part starts the real RocketMQ and TriMQ on empty stores, warms them, measures them in turn, prints its table and
writes its section of bench/RESULTS.md. What counts are the ratios: absolute figures depend on the machine. Nothing
else should run meanwhile.

With --against PATH two trees are measured in turn in the same run: this one, and another checkout of TriMQ whose
build/compiled was made there too. Ratios are this tree's figures over that tree's; only --keep writes them.

With --before two versions of the real broker are measured in turn, and this tree's compiled build beside them:
python -m bench --before ceiling
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import smoke
from bench.loads import loadgen
from bench.pages import docs, report
from bench.parts import (
    backlog,
    brokers,
    ceiling,
    clients5,
    copies,
    elastic,
    filters,
    flush,
    growth,
    grpc,
    many,
    memory,
    minutes,
    official,
    pending,
    pop_times,
    pops,
    replies,
    started,
    tail,
    timers,
    transactions,
    unacked,
)
from bench.run import Run
from bench.servers import trees
from bench.servers.subjects import COMPILED, OTHER, OURS, REAL, compiled_for_tests
from compat_tests.servers.jvm import prefer_short_lived
from compat_tests.servers.versions import REFERENCE, before


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the results; `smoke` are the kinds of servers in a smoke run.

    The real broker needs more than 20 s to start and stop: there it takes part where that happens once.
    """

    title: str
    measure: Callable[[Run], str]
    smoke: tuple[str, ...] = (OURS,)


PARTS = {
    "minutes": Part("The first minutes", minutes.measure),
    "started": Part("Just started: the first half minute", started.measure),
    "official": Part("The official benchmark programs", official.measure),
    "backlog": Part("The official Consumer on a backlog", backlog.measure),
    "ceiling": Part("The server's ceiling, by bench/loadgen", ceiling.measure),
    "growth": Part("What a message costs when there is more of everything", growth.measure),
    "memory": Part("Start-up, memory and idling", memory.measure),
    "flush": Part("SYNC_FLUSH", flush.measure, (REAL, OURS)),
    "tail": Part("The tail of sends, undisturbed and disturbed", tail.measure),
    "transactions": Part("Transactions", transactions.measure),
    "timers": Part("Timer messages", timers.measure),
    "pending": Part("A million timer messages that wait", pending.measure),
    "filters": Part("Pulls by SQL92", filters.measure),
    "replies": Part("Request-reply", replies.measure),
    "copies": Part("Masters and slaves", copies.measure),
    "brokers": Part("Several brokers on one host", brokers.measure),
    "elastic": Part("Elastic topics", elastic.measure),
    "pops": Part("POP", pops.measure),
    "pop_times": Part("POP: what waits, and what comes again", pop_times.measure),
    "clients5": Part("POP by official clients", clients5.measure),
    "grpc": Part("RocketMQ 5's clients through a proxy", grpc.measure),
    "many": Part("A hundred thousand of everything: the longest step", many.measure),
    "unacked": Part("A million popped messages that nobody acknowledges", unacked.measure),
}
# Where two versions of the real broker are compared in one run: --before.
VERSIONED: Final = ("official", "ceiling", "pops")
# What waits longest in a smoke run: for the first look at old files, for what official programs report.
LONG = (
    "tail",
    "timers",
    "clients5",
    "grpc",
    "elastic",
    "backlog",
    "flush",
    "growth",
    "official",
    "transactions",
)


def main() -> None:
    """Parse, run the parts, print their tables and keep them."""
    words = _arguments()
    # An ordinary exit, which stops the servers and removes their files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    names = words.parts or list(PARTS)
    if words.smoke:
        prefer_short_lived()
    if words.smoke and len(names) > 1:
        _smoke(names, words)
    else:
        for name in names:
            _run(name, words)


def _smoke(names: list[str], words: argparse.Namespace) -> None:
    """All of them, those that wait longest first."""
    # Otherwise two parts might make it at the same time.
    loadgen.program()
    own = [sys.executable, "-m", "bench", "--smoke", *(["--real"] if words.real else [])]
    own += [f"--rows={text}" for text in words.rows]
    own += [f"--against={words.against.other.parents[1]}"] if words.against else []
    names = sorted(names, key=lambda name: LONG.index(name) if name in LONG else len(LONG))
    if failed := smoke.run_all({name: [*own, name] for name in names}):
        sys.exit(f"failed: {', '.join(failed)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)} (all)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all servers (3)")
    parser.add_argument("--seconds", type=int, default=6, help="seconds a load (6)")
    parser.add_argument(
        "--rows",
        action="append",
        default=[],
        metavar="TEXT",
        help="only rows with this text in their names, keeps nothing; may be given several times",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="another checkout, compiled by 'make tree' there, beside this one",
    )
    parser.add_argument("--keep", action="store_true", help="write what --against found, too")
    parser.add_argument(
        "--before",
        action="store_true",
        help=f"the real broker of the version before, too, in a section of its own: {', '.join(VERSIONED)}",
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="one very short round, mostly of TriMQ, two parts beside each other; keeps nothing",
    )
    parser.add_argument("--no-pure", action="store_true", help="leave the plain Python build out")
    parser.add_argument(
        "--real",
        action="store_true",
        help="growth, a smoke run, and two trees: the real broker too",
    )
    words = parser.parse_args()
    unknown = set(words.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if words.before and (not words.parts or not {*words.parts} <= {*VERSIONED}):
        parser.error(f"--before wants names of parts, of these: {', '.join(VERSIONED)}")
    if words.before and before() is None:
        parser.error(f"{REFERENCE} is the oldest version that is known here")
    if words.keep and words.against is None:
        parser.error("--keep goes with --against: other runs are kept anyway")
    if not words.smoke and compiled_for_tests(COMPILED):
        parser.error("build/compiled was made for tests, without optimisation: run 'make tree'")
    try:
        words.against = None if words.against is None else trees.against(words.against)
    except trees.NotThere as missing:
        parser.error(str(missing))
    return words


def _run(name: str, words: argparse.Namespace) -> None:
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
            rows=tuple(words.rows),
            against=words.against,
        )
        text = part.measure(run)
    note = ", a smoke run: its figures mean nothing" if words.smoke else ""
    print(f"\n{text}\n\n({name}: {time.monotonic() - began:.0f} s{note})\n", flush=True)
    if not words.smoke and not words.rows:
        _keep(name, part, text, run, words)


def _keep(name: str, part: Part, text: str, run: Run, words: argparse.Namespace) -> None:
    """A whole part's section; of two trees beside that of the part, when it is wanted."""
    if words.before:
        title = f"{part.title}: RocketMQ {REFERENCE} and {before()}"
        report.write_section(f"{name}-before", title, text)
    elif run.against is None:
        report.write_section(name, part.title, text)
        docs.write(name, run.figures)
    elif words.keep:
        title = f"{part.title}: two trees"
        text = f"{run.against} Ratios by rounds are those of each round by itself.\n\n{text}"
        report.write_section(f"{name}-against", title, text, against=run.against)


def _kinds(part: Part, words: argparse.Namespace) -> tuple[str, ...]:
    """The kinds of servers that a part compares."""
    if words.smoke:
        kinds = (REAL, OURS) if words.real else part.smoke
        return (*kinds, OTHER) if words.against else kinds
    return trees.kinds(words.against is not None, words.real, not words.no_pure, words.before)


if __name__ == "__main__":
    main()

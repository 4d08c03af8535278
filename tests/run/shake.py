"""What `make shake` plays: all unit tests, several times in random order, with busy processes beside them.

``python -m tests.run.shake [--rounds 5] [--busy 4] [--seed N] [WORDS...]``. WORDS are pytest's, such as folders, and
take the place of the parts of the unit tests; options among them stand behind `--`. Each round has a seed,
which is printed: `--rounds 1 --seed N` plays it again. A test that fails here is to be mended, whatever it fails of:
nothing is played again.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.run import parts, plan, report
from tests.run.part import ROOT, Part

ROUNDS: Final = 5
BUSY: Final = 4
# It ends with whoever has started it, even if that is killed.
COMPUTES: Final = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass"
# Of pytest, beside failures: no test was there.
NONE: Final = 5


@contextmanager
def busy(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes that compute until the block ends."""
    found: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            found.append(subprocess.Popen([sys.executable, "-c", COMPUTES, str(os.getpid())]))
        yield found
    finally:
        for one in found:
            one.kill()
            one.wait()


def played(words: Sequence[str]) -> list[Part]:
    """The parts of the unit tests whose tools are here, or one of these words."""
    if words:
        return [Part("shaken", words)]
    group, left = plan.playable(parts.group("unit"))
    print(plan.text(left), flush=True)
    return list(group.parts)


def shaken(part: Part, seed: int, results: Path) -> report.Outcome:
    """A session in the order of this seed; what it prints is in a file of its own."""
    name = f"{part.name}-{seed}"
    words = ("-p", "no:randomly", "-p", "tests.run.shuffled", "--order", str(seed), *part.words)
    found: list[report.Outcome] = []
    parts.run(parts.Group([Part(name, words, part.folder)]), results, found)
    return found[0]


def lines_of(outcome: report.Outcome) -> list[str]:
    """The names of what failed; what else became of it, where no test failed."""
    failures = list(report.tests_of(outcome).failures)
    if failures or outcome.code in (0, NONE):
        return failures
    return [f"{outcome.name} ended with exit code {outcome.code}"]


def main(rounds: int, count: int, first: int, words: Sequence[str]) -> int:
    """1 if anything failed in any round."""
    results = parts.own_folder()
    failed: dict[str, list[int]] = {}
    chosen = played(words)
    with busy(count):
        for seed in range(first, first + rounds):
            for part in chosen:
                began = time.monotonic()
                lines = lines_of(shaken(part, seed, results))
                took = time.monotonic() - began
                print(f"seed {seed}: {part.name}, {took:.0f} s, {len(lines)} failed", flush=True)
                for line in lines:
                    failed.setdefault(line, []).append(seed)
    print(text(failed, rounds, first), f"\nall of it is in {results}", sep="\n", flush=True)
    return 1 if failed else 0


def text(failed: dict[str, list[int]], rounds: int, first: int) -> str:
    """By name, with the seeds of the rounds in which it failed."""
    lines = ["", f"{rounds} rounds, seeds from {first} on, failed: {len(failed)}"]
    for name, seeds in sorted(failed.items()):
        lines.append(f"    {name}: seeds {', '.join(map(str, seeds))}")
    return "\n".join(lines)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser("python -m tests.run.shake")
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--busy", type=int, default=BUSY)
    arguments.add_argument(
        "--seed", type=int, help="of the first round; the others have the next ones"
    )
    arguments.add_argument("words", nargs="*", metavar="WORD", help="folders, files, tests")
    asked = arguments.parse_args()
    os.chdir(ROOT)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, parts.interrupted)
    seed = random.randrange(1 << 16) if asked.seed is None else asked.seed
    try:
        sys.exit(main(asked.rounds, asked.busy, seed, asked.words))
    except KeyboardInterrupt:
        sys.exit(130)

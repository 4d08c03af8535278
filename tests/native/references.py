"""Whether native code gives back what it takes: calls repeated, and memory blocks counted before and after.

python -m tests.native.references
"""

import gc
import itertools
import random
import sys

from tests.native import fuzz

ROUNDS = 3000
# Caches are full after the first, from which nothing is reckoned.
TIMES = 6
# What the interpreter keeps for itself meanwhile.
NOISE = 50


def blocks_after(kind, seed: int) -> int:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        kind(chance)
    gc.collect()
    return sys.getallocatedblocks()


def grown(kind) -> int:
    """By how many blocks memory grows each time that the same inputs are played again.

    The least of several times: what is never given back is missing after each of them. msgspec
    keeps short strings, and empties that cache as the garbage collector passes, so that memory
    goes up and down by a hundred blocks from one time to the next.
    """
    levels = [blocks_after(kind, 1) for _ in range(TIMES)]
    return min(after - before for before, after in itertools.pairwise(levels[1:]))


def main() -> int:
    wrong = 0
    for kind in fuzz.KINDS:
        more = grown(kind)
        print(f"{kind.__name__}: {more} blocks more after {ROUNDS} calls", flush=True)
        wrong += more > NOISE
    return wrong


if __name__ == "__main__":
    sys.exit(main())

"""Whether native code gives back what it takes: calls repeated, and memory blocks counted before and after.

python -m tests.native.references
"""

import gc
import random
import sys

from tests.native import fuzz

ROUNDS = 3000
# What the interpreter keeps for itself meanwhile.
NOISE = 50


def blocks_after(kind, seed: int) -> int:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        kind(chance)
    gc.collect()
    return sys.getallocatedblocks()


def main() -> int:
    wrong = 0
    for kind in fuzz.KINDS:
        # The same inputs each time: caches are full after the first.
        blocks_after(kind, 1)
        before = blocks_after(kind, 1)
        grown = blocks_after(kind, 1) - before
        print(f"{kind.__name__}: {grown} blocks more after {ROUNDS} calls", flush=True)
        wrong += grown > NOISE
    return wrong


if __name__ == "__main__":
    sys.exit(main())

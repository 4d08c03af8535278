"""What `make soak`, `make soak-kills` and `make soak-spark` play, for hours: the tests that look further when told to.

To go on with the kills where they were stopped: make soak-kills KILL_SEEDS='7 8 9 10'
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from compat_tests.installs.plain_debian import SUITES

PYTEST: Final = (sys.executable, "-m", "pytest")
SERVING: Final = "tests/trimq/serving"
SEEDS: Final = os.environ.get("KILL_SEEDS", "1 2 3 4 5 6 7 8 9 10").split()

# A hundred kills with -9 for each seed and test.
KILLS: Final = [
    (
        *PYTEST,
        *(f"{SERVING}/test_kill_{what}.py" for what in ("pops", "proxy", "timers", "transactions")),
        *("--server-kills", "100", "--kill-seed", seed, "-rP"),
    )
    for seed in SEEDS
]
# A machine with Python, git and make alone: twelve minutes each.
PLAIN: Final = [word for suite in SUITES for word in ("--plain-debian", suite)]
LONG: Final = [
    (
        *PYTEST,
        "tests/store",
        "tests/broker/tables/test_power_loss.py",
        "tests/broker/elastic/test_machine.py",
        "tests/broker/transactions/test_state_machine.py",
        f"{SERVING}/test_kill_server.py",
        "tests/hostile",
        "tests/codec",
        "tests/remoting",
        "tests/history",
        "tests/trimq/replication",
        "tests/net",
        "tests/trimq/supervising/test_family_history.py",
        *("--soak", "-rP"),
    ),
    (sys.executable, "building/sanitized.py"),
    (*PYTEST, "compat_tests/scenarios/test_order.py", "--order-seconds", "900"),
    (*PYTEST, "compat_tests/filters", "--sql-questions", "20000"),
    (*PYTEST, "compat_tests/installs/test_plain_debian.py", *PLAIN, "-rP"),
]
SPARK: Final = [
    (*PYTEST, "compat_tests/spark/test_streams.py", "-k", "killed", "--kills", "40", "-rP"),
    (*PYTEST, "compat_tests/spark/test_kills.py", "-k", "killed", "--broker-kills", "50", "-rP"),
]
SOAKS: Final[dict[str, Sequence[Sequence[str]]]] = {
    "soak": [*KILLS, *LONG],
    "soak-kills": KILLS,
    "soak-spark": SPARK,
}


def main(name: str) -> int:
    """The exit code of the first that fails; none begins behind it."""
    for command in SOAKS[name]:
        print(f"begins: {' '.join(command[1:])}", flush=True)
        if code := subprocess.run(command, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

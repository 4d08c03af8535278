"""A Debian with python3, python3-venv, git and make, and nothing else that TriMQ could use: in a folder, by chroot.

    python -m compat_tests.installs.plain_debian [SUITE ...]

plays there what a newcomer types (newcomer.py), and prints a table of what it took. It takes root and debootstrap
(apt-get install debootstrap), twelve minutes for each suite, and 2 GB of disk meanwhile.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.servers import chroot
from compat_tests.servers.artifacts import ROOT

# Python 3.13 and 3.11.
SUITES: Final = ("trixie", "bookworm")
PACKAGES: Final = ("python3", "python3-venv", "git", "make", "ca-certificates")
NEWCOMER: Final = Path(__file__).with_name("newcomer.py")
# Of `make test`: the parts that are not played there, and how what is said of them begins.
LEFT_OUT: Final = {
    "smoke": "no JDK 17 here: apt-get install openjdk-17-jdk-headless",
    "compiled": "no C compiler here: apt-get install gcc python3-dev",
    "unit-spark": "no Spark here: ",
}
# What newcomer.py calls them, and what they are in a table.
STEPS: Final = {
    "ready": "clone to ready (`make serve`)",
    "message": "clone to the first message of our `mqadmin`",
    "test": "`make test`, whole",
    "install": "`pip install .` into a new environment",
}


@dataclass(frozen=True)
class Played:
    """What newcomer.py has found on a suite."""

    suite: str
    python: str
    seconds: dict[str, float]
    said: dict[str, str]


def why_not() -> str:
    """What stands in the way; empty: nothing."""
    return chroot.why_not("git")


def played(suite: str) -> Played:
    """All that a newcomer types, in a new Debian with a clone of what is committed here. RuntimeError if it fails.

    Standard error says how far it is.
    """
    with chroot.chroot(suite, PACKAGES) as debian:
        source = debian.root / "srv" / "trimq.git"
        subprocess.run(["git", "clone", "--quiet", "--bare", str(ROOT), str(source)], check=True)
        shutil.copy(NEWCOMER, debian.root / "srv")
        words = ("python3", f"/srv/{NEWCOMER.name}", "/srv/trimq.git", "/root")
        done = debian.run(*words, errors=None)
    if done.returncode:
        raise RuntimeError(f"a newcomer fails on {suite}: standard error says where")
    return Played(suite, **json.loads(done.stdout.splitlines()[-1]))


def table(found: Sequence[Played]) -> str:
    """A row for each step, a column for each suite, in seconds."""
    names = [f"{one.suite}, Python {one.python}" for one in found]
    rows = [[text, *(f"{one.seconds[step]:.0f}" for one in found)] for step, text in STEPS.items()]
    head = [["step", *names], ["---", *("---:" for _ in found)]]
    return "\n".join(f"| {' | '.join(row)} |" for row in (*head, *rows))


def main(suites: Sequence[str]) -> int:
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 1
    found = []
    for suite in suites:
        found.append(played(suite))
        print(found[-1].said["test"][-6000:], flush=True)
    print(table(found))
    return 0


if __name__ == "__main__":
    asked = argparse.ArgumentParser("python -m compat_tests.installs.plain_debian")
    asked.add_argument("suites", nargs="*", metavar="SUITE", help=" or ".join(SUITES))
    chosen = asked.parse_args().suites or SUITES
    if others := [suite for suite in chosen if suite not in SUITES]:
        asked.error(f"{others[0]} is none of {', '.join(SUITES)}")
    sys.exit(main(chosen))

"""Record which queue a real proxy chooses for a message group, into tests/vectors/consistent_hash.json.

    python -m compat_tests.golden.consistent_hash [--out tests/vectors/consistent_hash.json]

ConsistentHash.java asks the Guava that comes with the official proxy.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import Final

from compat_tests.servers import artifacts

HERE: Final = Path(__file__).parent
DEFAULT_OUT: Final = HERE.parents[1] / "tests" / "vectors" / "consistent_hash.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    out = parser.parse_args().out
    lib = artifacts.jars(artifacts.PROXY)
    done = subprocess.run(
        ["java", "-cp", artifacts.classpath(lib), HERE / "ConsistentHash.java"],
        capture_output=True,
        text=True,
        check=True,
    )
    out.write_text(done.stdout)
    print(f"{done.stdout.count('[[')} rows: {out}")


if __name__ == "__main__":
    main()

"""The tests of the Spark sources on every minor version of Spark that is supported.

``python -m compat_tests.spark.run_versions [VERSION ...]``; each version has a virtual environment in the
cache folder (about 1 GB), made once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from compat_tests.servers.artifacts import ROOT, cache_root, pins

VERSIONS: Final = ("4.0.5", "4.1.4", "4.2.1", "4.3.0")
LOCKS: Final = ("runtime.txt", "test.txt", "spark.txt")
TESTS: Final = Path(__file__).parent


def environment(version: str) -> Path:
    """The Python of an environment with that version."""
    folder = cache_root() / f"spark-{version}"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        wanted = []
        for lock in LOCKS:
            # Each Spark brings its own py4j.
            wanted += [pin for pin in pins(lock) if not pin.startswith(("pyspark=", "py4j="))]
        pip = [str(python), "-m", "pip", "install", "--quiet", *wanted, f"pyspark=={version}"]
        subprocess.run(pip, check=True)
        ready.touch()
    return python


def main() -> None:
    failed = []
    tests = sorted(str(path) for path in TESTS.glob("test_*.py"))
    for version in sys.argv[1:] or VERSIONS:
        print(f"# Spark {version}", flush=True)
        command = [str(environment(version)), "-m", "pytest", "-q", "-p", "no:randomly", *tests]
        plain = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
        done = subprocess.run(command, cwd=ROOT, env=plain, check=False)
        if done.returncode:
            failed.append(version)
    if failed:
        sys.exit(f"failed with Spark {', '.join(failed)}")


if __name__ == "__main__":
    main()

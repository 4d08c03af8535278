"""Builds our own C with the address and undefined-behaviour sanitizers, in a temporary copy, and tries it there.

Runs the tests that hold it against its twins, then a fuzz with so many mutated inputs, then a look for
references that are never given back (tests/native/). Exit code 0: nothing was found. Needs gcc on Linux.

    python building/sanitized.py [--inputs N]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = """
import sys
sys.path.insert(0, "building")
import compiling
from setuptools import setup
sys.argv = ["setup.py", "--quiet", "build_ext", "--inplace"]
setup(name="native", ext_modules=compiling.native(), packages=[], py_modules=[])
"""
SANITIZED = "-g -O1 -Werror -fno-omit-frame-pointer -fsanitize=address,undefined"
# Python gives back little at its end, and SIGBUS is ours.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_sigbus=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
# Each object has its own room, so that leaving it is seen; then nobody counts blocks.
OWN_ROOM = {"PYTHONMALLOC": "malloc"}
TESTS = [
    *("tests/codec/native", "tests/codec/frames", "tests/store/native"),
    "tests/spark/test_rows.py",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="mutated inputs of each kind")
    inputs = parser.parse_args().inputs
    if sys.platform != "linux" or shutil.which("gcc") is None:
        print("skipped: the sanitizers, they need gcc on Linux")
        return 0
    with tempfile.TemporaryDirectory(prefix="trimq-sanitized-") as folder:
        tree = Path(folder, "tree")
        left_out = shutil.ignore_patterns(".venv", ".git", "build", "data", "*.so", "__pycache__")
        shutil.copytree(ROOT, tree, symlinks=True, ignore=left_out)
        environment = os.environ | {"CFLAGS": SANITIZED, "LDFLAGS": "-fsanitize=address,undefined"}
        subprocess.run([sys.executable, "-c", BUILD], cwd=tree, env=environment, check=True)
        found = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        )
        environment = os.environ | OPTIONS | {"LD_PRELOAD": found.stdout.strip()}
        for words, more in (
            (["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], OWN_ROOM),
            (["-m", "tests.native.fuzz", str(inputs)], OWN_ROOM),
            (["-m", "tests.native.references"], {}),
        ):
            print("sanitized:", *words, flush=True)
            command = [sys.executable, *words]
            done = subprocess.run(command, cwd=tree, env=environment | more, check=False)
            if done.returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

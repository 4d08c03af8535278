"""The source archive and the wheel without compiled modules, of the commit that is checked out.

python -m releasing.plain sdist|wheel FOLDER
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from releasing.checks import ROOT

_SDIST: Final = (
    "import sys; sys.path.insert(0, 'building')\n"
    "from backend import build_sdist; build_sdist(sys.argv[1])"
)


def export(folder: Path) -> None:
    """The sources as they are committed; the links stay links."""
    done = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="tar")


def command(kind: str, out: Path) -> list[str]:
    if kind == "sdist":
        return [sys.executable, "-c", _SDIST, str(out)]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    return [*pip, "--no-deps", "--wheel-dir", str(out), "."]


def main(kind: str, out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trimq-release-") as folder:
        export(Path(folder))
        environment = {**os.environ, "TRIMQ_COMPILE": "0"}
        done = subprocess.run(
            command(kind, out.resolve()),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        sys.stderr.buffer.write(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))

"""The Go client's driver: built once from go/, kept in the cache under the hash of its sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.servers.artifacts import TESTS, cache_root
from compat_tests.servers.server import Tls

SOURCES: Final = TESTS / "scenarios" / "go"


def sources() -> list[Path]:
    """Of the driver, with the client's version."""
    return sorted([*SOURCES.glob("*.go"), SOURCES / "go.mod", SOURCES / "go.sum"])


def binary(files: Sequence[Path]) -> Path:
    """The driver built of these sources; go fetches the client named in go.mod when it has not got it yet."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    built = cache_root() / "compat-go" / digest / "driver"
    if not built.exists():
        go = shutil.which("go")
        if go is None:
            raise FileNotFoundError("go is needed for the Go client: apt-get install golang-go")
        built.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent) as partial:
            # They may come from several folders, and go builds one.
            package = Path(partial) / "package"
            package.mkdir()
            for file in files:
                shutil.copy(file, package)
            made = Path(partial) / "driver"
            command = [go, "build", "-buildvcs=false", "-o", str(made), "."]
            done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"go could not build the driver:\n{done.stderr[-4000:]}")
            made.replace(built)
    return built


@dataclass(frozen=True)
class GoDriver:
    """go/ against the Go client v2.1.2, which has no TLS."""

    parallel: int = 4
    plays_plain: bool = True
    name: str = "go-2.1.2"

    def sources(self) -> Sequence[Path]:
        return sources()

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        # The client takes the folder for broadcasting groups' offsets from a variable whose name
        # no shell could set.
        offsets = f"rocketmq.client.localOffsetStoreDir={folder / 'offsets'}"
        env = shutil.which("env") or os.path.join("/usr", "bin", "env")
        return [env, offsets, str(binary(self.sources())), "--parallel", str(self.parallel)]


GO: Final = GoDriver()

"""Jars of the real RocketMQ and of its Java clients, fetched once with plain ``mvn``.

They live outside the checkout, one folder per version, so that a second run finds them in no time:
``${TRIMQ_CACHE:-${XDG_CACHE_HOME:-~/.cache}}/trimq/<name>/lib``. A ``lib`` folder is renamed into place
when it is complete, so its existence is the mark of completeness.

``python -m compat_tests.servers.artifacts`` fetches everything and prints where it is, with ``--old`` the old
servers too, which are played with ``--live`` only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from compat_tests.servers import versions
from compat_tests.servers.kept import kept

TESTS: Final = Path(__file__).resolve().parents[1]
ROOT: Final = TESTS.parent
SERVER: Final = f"rocketmq-{versions.REFERENCE}"
CLIENT_5: Final = f"rocketmq-{versions.module_version('client')}"
CLIENT_4: Final = "rocketmq-client-4.9.8"
PROXY: Final = f"rocketmq-proxy-{versions.module_version('proxy')}"
# Servers, tools and clients of before. 4.9.7 is the last of 4.x whose servers are published: of 4.9.8 there is only the
# client. The brokers of the first two are silent on what they do not know, and all NameServers of 4.x.
OLD_VERSIONS: Final = ("4.2.0", "4.5.2", "4.9.7", "5.1.4")
# Played beside ours as those are: what TriMQ was or will be compared with.
OTHER_VERSIONS: Final = tuple(one for one in versions.VERSIONS if one != versions.REFERENCE)
# The client of RocketMQ 5, which needs the proxy.
CLIENT_GRPC: Final = "rocketmq-client-java-5.1.0"
NEEDED: Final = tuple(dict.fromkeys((SERVER, CLIENT_5, CLIENT_4, PROXY, CLIENT_GRPC)))
# Those whose projects for Maven are made by `versions.pom`: of which version, and with which modules.
_MADE: Final = {
    **{f"rocketmq-{one}": (one, versions.SERVER_MODULES) for one in versions.VERSIONS},
    **{f"rocketmq-proxy-{one}": (one, versions.PROXY_MODULES) for one in versions.VERSIONS},
}


def pins(lock: str) -> list[str]:
    """Requirements of a file in `requirements/`, without their hashes, which pip takes in a file only."""
    lines = (ROOT / "requirements" / lock).read_text().splitlines()
    return [line.removesuffix(" \\") for line in lines if line and line[0] not in "# "]


def cache_root() -> Path:
    """Where everything fetched or compiled is kept."""
    base = os.environ.get("TRIMQ_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "trimq"


def jars(name: str) -> Path:
    """The folder with every jar of ``name`` (SERVER, CLIENT_4, PROXY, ...), fetched if it is not there yet."""
    lib = cache_root() / name / "lib"
    if lib.is_dir() and not _is_as_listed(lib, name):
        # A module has appeared that was taken from the version before.
        lib.rename(Path(tempfile.mkdtemp(prefix="lib.old.", dir=lib.parent)) / "lib")
    return kept(lib, partial(_fetch_jars, name))


def _fetch_jars(name: str, lib: Path) -> None:
    _fetch(_pom(name, lib), lib)
    (lib / "pom.xml").unlink(missing_ok=True)


def _pom(name: str, folder: Path) -> Path:
    """What Maven is told to fetch."""
    if name not in _MADE:
        return TESTS / "scenarios" / "java" / f"pom-{name}.xml"
    file = folder / "pom.xml"
    file.write_text(versions.pom(name, *_MADE[name]))
    return file


def _is_as_listed(lib: Path, name: str) -> bool:
    """Whether its modules are of the versions that `versions` says."""
    if name not in _MADE:
        return True
    version, _ = _MADE[name]
    found = {
        module: {file.name for file in lib.glob(f"rocketmq-{module}-[0-9]*.jar")}
        for module in versions.MODULES
    }
    return all(
        names <= {f"rocketmq-{module}-{versions.module_version(module, version)}.jar"}
        for module, names in found.items()
    )


def _fetch(pom: Path, target: Path) -> None:
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={target}", "-DincludeScope=runtime"]
    if shutil.which("mvn") is None:
        raise FileNotFoundError("mvn is needed to fetch RocketMQ's jars: apt-get install maven")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"mvn could not fetch {pom.name}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )


def classpath(folder: Path) -> str:
    """What ``java -cp`` takes for every jar in ``folder``."""
    return f"{folder}/*"


def java_sources(client: str) -> list[Path]:
    """The scenario driver's sources for the client ``client``."""
    java = TESTS / "scenarios" / "java"
    shim = "rocketmq-5" if client in _MADE else client
    return sorted((java / "src").rglob("*.java")) + sorted((java / "shim" / shim).rglob("*.java"))


def java_driver(client: str) -> str:
    """The class path of the compiled scenario driver and of the client ``client``.

    Same sources for both client lines; what moved between them is in ``java/shim``. Classes are
    cached under the hash of the sources, so an edit compiles anew and nothing else does.
    """
    return _with_classes(client, java_sources(client), classpath(jars(client)))


def beside_driver(client: str, name: str, sources: Sequence[Path], *more: str) -> str:
    """The class path of the driver with more classes, which know the driver's and come before them.

    So do the jars of `more`.
    """
    # Anew when the driver's classes are others.
    names = f"{name}-{_digest(java_sources(client))}-{client}"
    path = ":".join([*(classpath(jars(one)) for one in more), java_driver(client)])
    return _with_classes(names, sources, path)


def program(name: str, lib: str, sources: Sequence[Path]) -> str:
    """The class path of a program of our own on these jars (SERVER or CLIENT_4)."""
    return _with_classes(name, sources, classpath(jars(lib)))


def _with_classes(name: str, sources: Sequence[Path], path: str) -> str:
    folder = cache_root() / "compat-classes" / f"{name}-{_digest(sources)}"
    classes = kept(folder, lambda made: compile_java(sources, path, made))
    return f"{classes}:{path}"


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def compile_java(sources: Iterable[Path], path: str, target: Path) -> None:
    """Their classes, into the folder `target`. RuntimeError with what javac says."""
    command = ["javac", "-nowarn", "-encoding", "UTF-8", "--release", "11", "-cp", path]
    command += ["-d", str(target), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"javac refused:\n{done.stderr[-6000:]}")


def main() -> int:
    """Without Maven or a JDK the parts of the tests that need them are left out, and say so."""
    try:
        _fetch_all()
    except FileNotFoundError as error:
        print(f"RocketMQ's jars are not here: {error}", file=sys.stderr)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def are_here() -> bool:
    """Whether all are that every run needs."""
    return all((cache_root() / name / "lib").is_dir() for name in NEEDED)


def _fetch_all() -> None:
    old = tuple(f"rocketmq-{version}" for version in (*OLD_VERSIONS, *OTHER_VERSIONS))
    for name in NEEDED + old if "--old" in sys.argv[1:] else NEEDED:
        print(jars(name))
    for name in (CLIENT_5, CLIENT_4):
        print(java_driver(name))


if __name__ == "__main__":
    sys.exit(main())

"""`make image`: TriMQ's image from nothing but Debian's packages and the wheels that `requirements` names.

    python building/image.py [--tag NAME] [--quick | --measure]

Needs a Docker engine that answers, and as root debootstrap for the Debian below it, which is made once. Without
debootstrap: `docker build -f deploy/Dockerfile -t trimq .`, which takes Debian from the registry.
`--quick`: compiled without optimisation, as tests have it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SUITE: Final = "trixie"
# Of that Debian.
PYTHON: Final = "3.13"
MIRROR: Final = "http://deb.debian.org/debian"
SOURCES: Final = (
    f"deb {MIRROR} {SUITE} main\n"
    f"deb {MIRROR} {SUITE}-updates main\n"
    f"deb {MIRROR}-security {SUITE}-security main\n"
)
BASE: Final = f"trimq-base:{SUITE}"
# For pip in the image. Nothing else lies there: all of it goes to the engine.
PACKAGES: Final = ROOT / "build" / "packages"
# Wheels for an older glibc run on a newer one.
_GLIBC: Final = ("2_28", "2_17", "2_12", "2_5", "2_34")
_USELESS: Final = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/man", "usr/share/info")


class CannotBuild(Exception):
    """The text says what is missing, or what went wrong."""


def run(*words: object, **environment: str) -> str:
    """Standard output; CannotBuild with what it wrote if it fails."""
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise CannotBuild(f"{words[0]} failed:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


def has_image(name: str) -> bool:
    done = subprocess.run(
        ["docker", "image", "inspect", name], capture_output=True, text=True, check=False
    )
    return done.returncode == 0


def make_base() -> None:
    """A minimal Debian, from Debian's own mirror."""
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        raise CannotBuild(
            "debootstrap is missing, or this is not root: apt-get install debootstrap; or without it:"
            " docker build -f deploy/Dockerfile -t trimq ."
        )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        run("debootstrap", "--variant=minbase", SUITE, root, MIRROR)
        (root / "etc/apt/sources.list").write_text(SOURCES)
        for useless in _USELESS:
            shutil.rmtree(root / useless, ignore_errors=True)
        packed = Path(folder) / "root.tar"
        run("tar", "-C", root, "-cf", packed, ".")
        run("docker", "import", packed, BASE)


def fetch_wheels(machine: str) -> None:
    """What is installed and what builds, for the Python of the image. The engine may have no way to the index."""
    PACKAGES.mkdir(parents=True, exist_ok=True)
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    platforms = [f"--platform=manylinux_{glibc}_{machine}" for glibc in _GLIBC]
    target = ("--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}")
    download = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", PACKAGES, *target)
    requirements = ROOT / "requirements"
    run(*download, *platforms, "--require-hashes", "-r", requirements / "runtime.txt")
    build = pyproject["build-system"]["requires"]
    run(*download, *platforms, "--no-deps", "-r", requirements / "build.txt", *build)


def build(tag: str, quick: bool) -> None:
    """The image; its layers are not kept but for the base."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    arguments = {
        "BASE": BASE,
        "PIP_NO_INDEX": "1",
        "MYPYC_OPT_LEVEL": "0" if quick else "3",
        "VERSION": version,
        "REVISION": _revision(),
    }
    words = [f"--build-arg={key}={value}" for key, value in arguments.items()]
    # Not BuildKit, which Debian's docker.io does not bring. Packages come over the host's network.
    run(
        *("docker", "build", "--quiet", "--network=host", "--force-rm", "--tag", tag),
        *(*words, "--file", ROOT / "deploy/Dockerfile", ROOT),
        DOCKER_BUILDKIT="0",
    )


def _revision() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def size(tag: str) -> tuple[int, int]:
    """Bytes on the disk, and as a registry sends them (gzip)."""
    plain = int(run("docker", "image", "inspect", "--format={{.Size}}", tag))
    packed = run("sh", "-c", f"docker save {tag} | gzip -6 | wc -c")
    return plain, int(packed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", default="trimq:latest")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", action="store_true", help="build nothing, say how large it is")
    options = parser.parse_args()
    try:
        if shutil.which("docker") is None:
            raise CannotBuild("no docker here: apt-get install docker.io")
        run("docker", "info")
        if not options.measure:
            if not has_image(BASE):
                make_base()
            fetch_wheels(os.uname().machine)
            build(options.tag, options.quick)
        plain, packed = size(options.tag)
    except CannotBuild as error:
        sys.exit(f"image: {error}")
    print(f"{options.tag}: {plain / 1e6:.0f} MB, {packed / 1e6:.1f} MB compressed")


if __name__ == "__main__":
    main()

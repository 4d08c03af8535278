"""`make image`: TriMQ's image from nothing but Debian's packages and the wheels that `requirements` names.

    python -m releasing.image [--machine NAME [--wheel FILE]] [--tag NAME] [--quick | --measure] [--out FOLDER]

Needs a Docker engine that answers, and as root debootstrap for the Debian below it, which is made once. Without
debootstrap: `docker build -f deploy/Dockerfile -t trimq .`, which takes Debian from the registry.

The programs of another processor are emulated, and compiling in this way takes long. So TriMQ is not compiled there
but installed from a wheel: the one given, or else one that `make wheels` builds for it.

`--quick`: compiled without optimisation, as tests have it. `--out`: the image as a file, too, for `docker load`.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from releasing import bases
from releasing.emulated import not_run
from releasing.engine import has_image, not_there, run
from releasing.targets import MACHINES, CannotBuild, Compiled

ROOT: Final = Path(__file__).resolve().parents[1]
# For pip in the image. Nothing else lies there: all of it goes to the engine.
PACKAGES: Final = ROOT / "build" / "packages"
# Wheels for an older glibc run on a newer one.
_GLIBC: Final = ("2_28", "2_17", "2_12", "2_5", "2_34")
# Where the Dockerfile has them.
_INSIDE: Final = "/src/build/packages"


def lacks(machine: str) -> str:
    """What this machine has not for an image of that processor, one sentence; empty: nothing."""
    if reason := not_there() or not_run(machine):
        return reason
    return "" if has_image(bases.base_name(machine)) else bases.cannot_make_base()


def file_name(version: str, machine: str) -> str:
    """Of the image as a file."""
    return f"trimq-{version}-image-{MACHINES[machine]}.tar.gz"


def default_tag(machine: str) -> str:
    return "trimq:latest" if machine == platform.machine() else f"trimq:{MACHINES[machine]}"


def wheel_of(machine: str) -> Compiled:
    """What is installed where nothing is compiled: for the Python of the image."""
    return Compiled(bases.PYTHON, machine)


def version() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def fetch_wheels(machine: str, *, is_compiled: bool) -> None:
    """What is installed and what builds, for the Python of the image. The engine may have no way to the index."""
    PACKAGES.mkdir(parents=True, exist_ok=True)
    for left in PACKAGES.glob("*.whl"):
        # Of another processor, or of TriMQ itself.
        if left.name.startswith("trimq-") or any(
            left.stem.endswith(other) for other in MACHINES if other != machine
        ):
            left.unlink()
    platforms = [f"--platform=manylinux_{glibc}_{machine}" for glibc in _GLIBC]
    target = ("--only-binary=:all:", "--implementation=cp", f"--python-version={bases.PYTHON}")
    download = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", PACKAGES, *target)
    requirements = ROOT / "requirements"
    locks = [word for name in ("runtime", "grpc") for word in ("-r", requirements / f"{name}.txt")]
    run(*download, *platforms, "--require-hashes", *locks)
    if is_compiled:
        return
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    build = pyproject["build-system"]["requires"]
    run(*download, *platforms, "--no-deps", "-r", requirements / "build.txt", *build)


def put_wheel(machine: str, given: Path | None, quick: bool) -> str:
    """The name of TriMQ's own wheel, which lies beside the others then. CannotBuild."""
    name = wheel_of(machine).wheel(version())
    if given is not None:
        if given.name != name:
            raise CannotBuild(f"{given.name} is not the wheel for that image: {name}")
        (PACKAGES / name).write_bytes(given.read_bytes())
        return name
    words = ("--out", PACKAGES, "--only", wheel_of(machine).name)
    # Without -O mypyc leaves assertions in, and these name files of this machine.
    level = {"MYPYC_OPT_LEVEL": "1"} if quick else {}
    run(sys.executable, "-m", "releasing.wheels", *words, PYTHONPATH=str(ROOT), **level)
    return name


def build(machine: str, tag: str, quick: bool, wheel: str = "") -> None:
    """The image; its layers are not kept but for the base. `wheel` is installed, or else the sources are compiled."""
    arguments = {
        "BASE": bases.base(machine),
        "PIP_NO_INDEX": "1",
        "MYPYC_OPT_LEVEL": "0" if quick else "3",
        "VERSION": version(),
        "REVISION": _revision(),
    }
    if machine != platform.machine():
        arguments["EMPTY"] = bases.empty(machine)
    if wheel:
        arguments |= {"TOOLS": "binutils", "TRIMQ": f"{_INSIDE}/{wheel}"}
    words = [f"--build-arg={key}={value}" for key, value in arguments.items()]
    # Not BuildKit, which Debian's docker.io does not bring; this builder takes the processor from the base. Packages
    # come over the host's network.
    run(
        *("docker", "build", "--quiet", "--network=host", "--force-rm", "--tag", tag),
        *(*words, "--file", ROOT / "deploy/Dockerfile", ROOT),
        DOCKER_BUILDKIT="0",
    )
    told = run("docker", "image", "inspect", "--format={{.Architecture}}", tag).strip()
    if told != MACHINES[machine]:
        raise CannotBuild(f"{tag} says that it is for {told}, not for {MACHINES[machine]}")


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


def save(tag: str, out: Path) -> None:
    """As a file for `docker load`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    run("sh", "-c", 'docker save "$0" | gzip -n -6 > "$1"', tag, out)


def make(options: argparse.Namespace) -> None:
    """What was asked for. CannotBuild."""
    machine = options.machine
    if reason := not_there() if options.measure else lacks(machine):
        raise CannotBuild(reason)
    if not options.measure:
        is_other = machine != platform.machine()
        fetch_wheels(machine, is_compiled=is_other)
        wheel = put_wheel(machine, options.wheel, options.quick) if is_other else ""
        build(machine, options.tag, options.quick, wheel)
    if options.out is not None:
        save(options.tag, options.out / file_name(version(), machine))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m releasing.image", description=__doc__)
    parser.add_argument("--machine", choices=[*MACHINES], default=os.uname().machine)
    parser.add_argument("--wheel", type=Path, help="of TriMQ, for a processor that is emulated")
    parser.add_argument("--tag", help="its name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", action="store_true", help="build nothing, say how large it is")
    parser.add_argument("--out", type=Path, help="where it is put as a file, too")
    options = parser.parse_args()
    options.tag = options.tag or default_tag(options.machine)
    try:
        make(options)
        plain, packed = size(options.tag)
    except CannotBuild as error:
        sys.exit(f"image: {error}")
    print(f"{options.tag}: {plain / 1e6:.0f} MB, {packed / 1e6:.1f} MB compressed")


if __name__ == "__main__":
    main()

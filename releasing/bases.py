"""What the image is built on: a minimal Debian, and an empty image. Each names its processor.

An engine takes what it imports for its own processor's. What it loads keeps the name, and so does what is built on it.
So both are archives as `docker save` writes them:

    manifest.json     which configuration, which layers, which name
    CONFIG.json       the processor, and the digests of the layers
    LAYER.tar         a file system
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from releasing.engine import has_image, run
from releasing.targets import MACHINES, CannotBuild

SUITE: Final = "trixie"
# Of that Debian.
PYTHON: Final = "3.13"
MIRROR: Final = "http://deb.debian.org/debian"
SOURCES: Final = (
    f"deb {MIRROR} {SUITE} main\n"
    f"deb {MIRROR} {SUITE}-updates main\n"
    f"deb {MIRROR}-security {SUITE}-security main\n"
)
_USELESS: Final = (
    "var/cache/apt/archives",
    "var/lib/apt/lists",
    "usr/share/man",
    "usr/share/info",
)


def base(machine: str) -> str:
    """The name of that processor's Debian, which is made if the engine has none. CannotBuild."""
    name = base_name(machine)
    if not has_image(name):
        _make_base(machine, name)
    return name


def base_name(machine: str) -> str:
    other = "" if machine == platform.machine() else f"-{MACHINES[machine]}"
    return f"trimq-base:{SUITE}{other}"


def empty(machine: str) -> str:
    """The name of an image with nothing in it but that processor's name. CannotBuild."""
    name = f"trimq-empty:{MACHINES[machine]}"
    if not has_image(name):
        with tempfile.TemporaryDirectory() as folder:
            layer = Path(folder) / "layer.tar"
            with tarfile.open(layer, "w"):
                pass
            _load(layer, machine, name)
    return name


def cannot_make_base() -> str:
    """What a base takes that is not here; empty: nothing."""
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        return (
            "debootstrap is missing, or this is not root: apt-get install debootstrap; or without it:"
            " docker build -f deploy/Dockerfile -t trimq ."
        )
    return ""


def _make_base(machine: str, name: str) -> None:
    """From Debian's own mirror."""
    if reason := cannot_make_base():
        raise CannotBuild(reason)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        run(
            *("debootstrap", "--variant=minbase", f"--arch={MACHINES[machine]}"),
            *(SUITE, root, MIRROR),
        )
        (root / "etc/apt/sources.list").write_text(SOURCES)
        for useless in _USELESS:
            shutil.rmtree(root / useless, ignore_errors=True)
        packed = Path(folder) / "root.tar"
        run("tar", "-C", root, "-cf", packed, ".")
        _load(packed, machine, name)


def _load(layer: Path, machine: str, name: str) -> None:
    archive = layer.with_name("image.tar")
    write_archive(archive, layer, machine, name)
    run("docker", "load", "--input", archive)


def write_archive(out: Path, layer: Path, machine: str, name: str) -> None:
    """An image of one layer, for `docker load`."""
    with layer.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    config = {
        "architecture": MACHINES[machine],
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    told = json.dumps(config).encode()
    config_name = f"{hashlib.sha256(told).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]
    with tarfile.open(out, "w") as archive:
        archive.add(layer, f"{digest}.tar")
        for member, text in ((config_name, told), ("manifest.json", json.dumps(manifest).encode())):
            entry = tarfile.TarInfo(member)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))

"""What an image is built on, and of what, without an engine."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import tarfile
from pathlib import Path

import pytest

from releasing import bases, image
from releasing.image import default_tag, file_name
from releasing.targets import MACHINES, CannotBuild

(OTHER, *_) = (name for name in MACHINES if name != platform.machine())


def test_an_archive_names_the_processor_and_its_layer(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    layer.write_bytes(b"a file system")
    bases.write_archive(tmp_path / "image.tar", layer, "aarch64", "trimq-base:trixie-arm64")
    with tarfile.open(tmp_path / "image.tar") as archive:
        found = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        texts = {name: file.read() for name, file in found.items() if file is not None}
    (told,) = json.loads(texts["manifest.json"])
    assert told["RepoTags"] == ["trimq-base:trixie-arm64"]
    assert [texts[name] for name in told["Layers"]] == [b"a file system"]
    config = texts[told["Config"]]
    assert told["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"
    read = json.loads(config)
    assert (read["os"], read["architecture"]) == ("linux", "arm64")
    assert read["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(b'a file system').hexdigest()}"]


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert [bases.base_name(name) for name in ("x86_64", "aarch64")] == [
        "trimq-base:trixie",
        "trimq-base:trixie-arm64",
    ]
    assert [default_tag(name) for name in ("x86_64", "aarch64")] == ["trimq:latest", "trimq:arm64"]
    assert file_name("0.2.0", "x86_64") == "trimq-0.2.0-image-amd64.tar.gz"


def test_what_is_lacking_is_said_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "not_there", lambda: "")
    monkeypatch.setattr(image, "not_run", lambda machine: f"nothing runs programs of {machine}")
    monkeypatch.setattr(image, "PACKAGES", tmp_path / "packages")
    options = argparse.Namespace(machine=OTHER, measure=False)
    with pytest.raises(CannotBuild, match=f"nothing runs programs of {OTHER}"):
        image.make(options)
    assert not (tmp_path / "packages").exists()
    monkeypatch.setattr(image, "not_there", lambda: "no docker here")
    assert image.lacks(platform.machine()) == "no docker here"


@pytest.mark.parametrize("root", [True, False])
def test_a_base_that_is_there_takes_nothing(root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "not_there", lambda: "")
    monkeypatch.setattr(bases, "cannot_make_base", lambda: "" if root else "debootstrap is missing")
    monkeypatch.setattr(image, "has_image", lambda name: False)
    assert image.lacks(platform.machine()) == ("" if root else "debootstrap is missing")
    monkeypatch.setattr(image, "has_image", lambda name: True)
    assert image.lacks(platform.machine()) == ""


def test_a_wheel_for_another_image_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "PACKAGES", tmp_path)
    (tmp_path / "given").mkdir()
    for machine, name in ((OTHER, platform.machine()), (OTHER, OTHER)):
        wheel = tmp_path / "given" / image.wheel_of(name).wheel(image.version())
        wheel.write_bytes(b"compiled")
        if name == machine:
            assert image.put_wheel(machine, wheel, quick=False) == wheel.name
            assert (tmp_path / wheel.name).read_bytes() == b"compiled"
        else:
            with pytest.raises(CannotBuild, match="is not the wheel for that image"):
                image.put_wheel(machine, wheel, quick=False)
            assert [*tmp_path.glob("*.whl")] == []


def test_wheels_of_another_processor_do_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that lies there goes to the engine."""
    monkeypatch.setattr(image, "PACKAGES", tmp_path)
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(image, "run", lambda *words: asked.append(words))
    for name in (
        "lz4-4-cp313-cp313-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "lz4-4-cp313-cp313-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
        "trio-0-py3-none-any.whl",
        "trimq-0-cp313-cp313-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
    ):
        (tmp_path / name).touch()
    image.fetch_wheels("aarch64", is_compiled=True)
    left = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert left == ["lz4", "trio"]
    assert (
        tmp_path / "lz4-4-cp313-cp313-manylinux2014_aarch64.manylinux_2_17_aarch64.whl"
    ).exists()
    (words,) = asked
    assert "--platform=manylinux_2_28_aarch64" in words
    asked.clear()
    image.fetch_wheels("x86_64", is_compiled=False)
    assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["trio"]
    assert len(asked) == 2

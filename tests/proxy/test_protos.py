"""The messages of the 5.x clients: the .proto files say what rocketmq-proto says, the modules what the files say."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from building import protos
from compat_tests.servers.artifacts import cache_root, pins
from tests.proxy.descriptors import lines, of_jar
from trimq.proxy.protos import definition_pb2, service_pb2

ROOT: Final = Path(__file__).resolve().parents[2]
JAR: Final = "rocketmq-proto-2.1.2.jar"
# Of the lines that the classes of that jar make.
OF_THE_JAR: Final = "aaacbfe639a0ec91c3cf72e55eb91227b4f19d28483c37a55c88cedba7e64a62"
COMMITTED: Final = [
    ROOT / "proxy" / "protos" / f"{name}_pb2{suffix}"
    for name in protos.NAMES
    for suffix in (".py", ".pyi")
]


def digest(files: list[FileDescriptorProto]) -> str:
    text = "\n".join(line for file in files for line in lines(file))
    return hashlib.sha256(text.encode()).hexdigest()


def ours() -> list[FileDescriptorProto]:
    found = []
    for module in (definition_pb2, service_pb2):
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        found.append(file)
    return found


def test_they_are_those_of_rocketmq() -> None:
    assert digest(ours()) == OF_THE_JAR


def test_the_recorded_digest_is_of_the_jar() -> None:
    jar = next(cache_root().glob(f"*/lib/{JAR}"), None)
    if jar is None:
        pytest.skip(f"{JAR} is not here: python -m compat_tests.servers.artifacts fetches it")
    theirs = of_jar(jar)
    assert [line for file in ours() for line in lines(file)] == [
        line for file in theirs for line in lines(file)
    ]
    assert digest(theirs) == OF_THE_JAR


@pytest.mark.parametrize(
    "change",
    [
        lambda file: setattr(file.message_type[0].field[0], "number", 77),
        lambda file: setattr(file.message_type[0].field[0], "name", "other"),
        lambda file: setattr(file.message_type[0].field[0], "label", 3),
        lambda file: setattr(file.enum_type[0].value[0], "number", 77),
        lambda file: file.message_type[0].field.pop(),
    ],
    ids=["number", "name", "label", "enum", "missing"],
)
def test_a_change_is_seen(change: object) -> None:
    files = ours()
    assert callable(change)
    change(files[0])
    assert digest(files) != OF_THE_JAR


def test_the_modules_are_generated_from_the_files(tmp_path: Path) -> None:
    locked = next(pin for pin in pins("test.txt") if pin.startswith("grpcio-tools=="))
    try:
        here = importlib.metadata.version("grpcio-tools")
    except importlib.metadata.PackageNotFoundError:
        here = "not"
    if locked != f"grpcio-tools=={here}":
        pytest.skip(f"grpcio-tools is {here} installed; requirements/test.txt locks {locked}")
    protos.generate(tmp_path)
    made = {path.name: path.read_text() for path in (tmp_path / protos.FOLDER).iterdir()}
    assert made == {path.name: path.read_text() for path in COMMITTED}, "python -m building.protos"


def test_any_protobuf_that_may_be_installed_reads_them() -> None:
    """Modules ask for a protobuf that is not older than they are, and at most one major version newer."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["grpc"]
    (wanted,) = (one for one in extra if one.startswith("protobuf"))
    found = re.fullmatch(r"protobuf>=(\d+\.\d+\.\d+),<(\d+)", wanted)
    assert found is not None
    for path in COMMITTED:
        if path.suffix == ".py":
            version = re.search(r"^# Protobuf Python Version: (.+)$", path.read_text(), re.M)
            assert version is not None
            assert version[1] == found[1]
            assert int(found[2]) == int(version[1].split(".")[0]) + 2

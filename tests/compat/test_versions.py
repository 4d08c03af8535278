"""Which RocketMQ is compared with, and of which version each of its modules is."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from compat_tests.servers import artifacts, versions
from compat_tests.servers.versions import MODULES, SERVER_MODULES, VERSIONS, module_version

OLD, NEW = VERSIONS[-2:]
SPACE = "{http://maven.apache.org/POM/4.0.0}"


def test_the_reference_is_the_usual_one_unless_another_is_told() -> None:
    assert versions.chosen("") == versions.USUAL in VERSIONS
    assert [versions.chosen(version) for version in VERSIONS] == [*VERSIONS]
    with pytest.raises(
        SystemExit, match=f"TRIMQ_REFERENCE=9.9 is not known here; known are {OLD}, {NEW}"
    ):
        versions.chosen("9.9")


def test_what_cannot_be_had_is_of_the_version_before() -> None:
    lacking = {NEW: ["tools"]}
    assert module_version("tools", NEW, lacking) == OLD
    assert module_version("broker", NEW, lacking) == NEW
    assert module_version("tools", OLD, lacking) == OLD
    assert module_version("tools", NEW, {}) == NEW


def test_the_list_names_modules_of_known_versions() -> None:
    for version, modules in versions.missing().items():
        assert version in VERSIONS[1:]
        assert set(modules) <= set(MODULES)


@pytest.mark.parametrize("version", VERSIONS)
def test_maven_is_told_the_version_of_every_module(version: str) -> None:
    tree = ElementTree.fromstring(versions.pom("a-name", version, SERVER_MODULES))
    told = {
        one.findtext(f"{SPACE}artifactId"): one.findtext(f"{SPACE}version")
        for one in tree.iterfind(f"{SPACE}dependencyManagement/*/{SPACE}dependency")
    }
    assert told == {f"rocketmq-{module}": module_version(module, version) for module in MODULES}
    wanted = tree.findall(f"{SPACE}dependencies/{SPACE}dependency/{SPACE}artifactId")
    assert [one.text for one in wanted] == [f"rocketmq-{module}" for module in SERVER_MODULES]


def test_the_list_shrinks_when_modules_appear(tmp_path: Path) -> None:
    file = tmp_path / "missing.json"
    file.write_text(json.dumps({NEW: ["proxy", "tools"]}))
    assert versions.look_again(lambda module, _: False, file) == []
    assert versions.missing(file) == {NEW: ["proxy", "tools"]}
    assert versions.look_again(lambda module, _: module == "tools", file) == [
        f"rocketmq-tools {NEW}"
    ]
    assert versions.missing(file) == {NEW: ["proxy"]}
    assert versions.look_again(lambda module, _: True, file) == [f"rocketmq-proxy {NEW}"]
    assert versions.missing(file) == {}


def test_jars_of_another_version_are_fetched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a module has appeared that was taken from the version before."""
    monkeypatch.setattr(artifacts, "cache_root", lambda: tmp_path)
    name, fetched = f"rocketmq-{NEW}", []

    def fetch(pom: Path, target: Path) -> None:
        fetched.append(pom.read_text())
        for module in SERVER_MODULES:
            (target / f"rocketmq-{module}-{module_version(module, NEW)}.jar").touch()

    monkeypatch.setattr(artifacts, "_fetch", fetch)
    lib = artifacts.jars(name)
    assert artifacts.jars(name) == lib
    assert len(fetched) == 1
    (lib / f"rocketmq-broker-{NEW}.jar").rename(lib / f"rocketmq-broker-{OLD}.jar")
    assert artifacts.jars(name) == lib
    assert fetched == [versions.pom(name, NEW, SERVER_MODULES)] * 2
    assert sorted(file.name for file in lib.iterdir()) == sorted(
        f"rocketmq-{module}-{module_version(module, NEW)}.jar" for module in SERVER_MODULES
    )

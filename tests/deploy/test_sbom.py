"""The list of what an image is made of."""

from __future__ import annotations

import runpy
from importlib import metadata
from pathlib import Path

SBOM = runpy.run_path(str(Path(__file__).resolve().parents[2] / "deploy/building/sbom.py"))
LISTING = (
    "libc6\t2.41-12\tamd64\tinstalled\n"
    "apt\t3.0.3\tamd64\tnot-installed\n"
    "adduser\t1:3.152\tall\tinstalled\n"
)


def test_debian_packages_that_are_installed() -> None:
    found = list(SBOM["debian"](LISTING))
    assert [one["purl"] for one in found] == [
        "pkg:deb/debian/adduser@1%3A3.152?arch=all",
        "pkg:deb/debian/libc6@2.41-12?arch=amd64",
    ]
    assert found[1] == {
        "type": "library",
        "name": "libc6",
        "version": "2.41-12",
        "purl": "pkg:deb/debian/libc6@2.41-12?arch=amd64",
    }


def test_python_distributions_and_their_licences() -> None:
    found = {one["name"]: one for one in SBOM["python"](metadata.distributions())}
    assert found["trimq"]["type"] == "application"
    assert found["trimq"]["licenses"] == [{"expression": "Apache-2.0"}]
    assert found["trio"]["purl"] == f"pkg:pypi/trio@{metadata.version('trio')}"


def test_the_document() -> None:
    found = SBOM["document"](SBOM["debian"](LISTING))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert len(found["components"]) == 2

"""What an image is made of, as CycloneDX (1.6, JSON): its Python distributions and its Debian packages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any, Final

_FORMAT: Final = "${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n"


def debian(listing: str) -> Iterator[dict[str, Any]]:
    """Components of what `dpkg-query -W` has listed in `_FORMAT`."""
    for line in sorted(listing.splitlines()):
        name, version, architecture, status = line.split("\t")
        if status == "installed":
            yield {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:deb/debian/{name}@{version.replace(':', '%3A')}?arch={architecture}",
            }


def python(distributions: Iterable[metadata.Distribution]) -> Iterator[dict[str, Any]]:
    """Components of installed distributions, with the licences that they state."""
    for one in sorted(distributions, key=lambda one: one.name.lower()):
        component: dict[str, Any] = {
            "type": "application" if one.name == "trimq" else "library",
            "name": one.name,
            "version": one.version,
            "purl": f"pkg:pypi/{one.name.lower().replace('_', '-')}@{one.version}",
        }
        licence = one.metadata.get("License-Expression")
        if licence:
            component["licenses"] = [{"expression": licence}]
        yield component


def document(components: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Of all of them; without a date, so that the same image has the same one."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": list(components),
    }


def main() -> None:
    """Print that of the system that this runs on."""
    listing = subprocess.run(
        ["dpkg-query", "-W", "-f", _FORMAT], check=True, capture_output=True, text=True
    ).stdout
    found = document([*python(metadata.distributions()), *debian(listing)])
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
